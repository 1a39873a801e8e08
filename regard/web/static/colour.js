// Colours of the pictures. Lightness goes one way, so that grey print and colour-blind eyes see what others see.
import { clamp } from "./numbers.js";

const SHARES = {
  light: ["#f4f1eb", "#d8d0e8", "#a596cf", "#6454a6", "#2b1d66"],
  dark: ["#24222d", "#41386b", "#7062b8", "#ab9bf2", "#f1ecff"],
};
const SIGNED = {
  light: ["#0f4c97", "#5c97d8", "#f4f1eb", "#e58a4a", "#a33b02"],
  dark: ["#8cc4ff", "#3c6ea8", "#24222d", "#a8602f", "#ffb27f"],
};
const LEVELS = 64;

/** The theme in use: "light" or "dark". */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function channels(hex) {
  return [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
}

/** The colour at `place` (0 to 1) of a list of stops, as [red, green, blue]. */
export function between(stops, place) {
  const scaled = clamp(place, 0, 1) * (stops.length - 1);
  const first = Math.min(stops.length - 2, Math.floor(scaled));
  const [from, to] = [channels(stops[first]), channels(stops[first + 1])];
  return from.map((value, index) => Math.round(value + (to[index] - value) * (scaled - first)));
}

function levels(stops) {
  return Array.from({ length: LEVELS }, (_, level) => between(stops, level / (LEVELS - 1)));
}

/** A scale for shares from 0 to 1: the root opens up small ones, since few heads put all their weight in one place. */
export function shareScale(theme) {
  const level = (share) => Math.round(Math.sqrt(clamp(share, 0, 1)) * (LEVELS - 1));
  return { colours: levels(SHARES[theme]), level };
}

/** A scale for values from -limit to limit; 0 is the colour of the ground. */
export function signedScale(theme, limit) {
  const level = (value) => Math.round(((clamp(value / limit, -1, 1) + 1) / 2) * (LEVELS - 1));
  return { colours: levels(SIGNED[theme]), level };
}

/** A colour as text. */
export function cssColour([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/** Relative luminance of a colour, as in the accessibility guidelines. */
export function luminance(colour) {
  const linear = colour.map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** Black or white, whichever is read better on a colour. */
export function inkOn(colour) {
  return luminance(colour) > 0.19 ? "#15131c" : "#ffffff";
}
