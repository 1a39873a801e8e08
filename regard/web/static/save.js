// Pictures and data as files: SVG as it is drawn, PNG painted from it, JSON.
import { element, shape } from "./dom.js";

const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "visibility"];
const DROPPED = ["class", "tabindex", "role", "aria-label", "aria-hidden", "aria-pressed", "style"];
const PIXELS_A_UNIT = 2;
const MARGIN = 16;

/** Hand a file to the browser's downloads. */
export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save a value as JSON. */
export function saveJson(name, value) {
  download(`${name}.json`, new Blob([JSON.stringify(value)], { type: "application/json" }));
}

/** A copy of a drawn SVG that needs no style sheet: what the page's styles say is written into it. */
export function standAlone(svg) {
  const copy = svg.cloneNode(true);
  const [originals, copies] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of COPIED) {
      copies[index].setAttribute(name, style.getPropertyValue(name));
    }
    DROPPED.forEach((name) => copies[index].removeAttribute(name));
  });
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const box = { x: -MARGIN, y: -MARGIN, width: width + 2 * MARGIN, height: height + 2 * MARGIN };
  copy.setAttribute("viewBox", Object.values(box).join(" "));
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.prepend(shape("rect", { ...box, fill: getComputedStyle(document.documentElement).backgroundColor }));
  return copy;
}

/** The text of a drawn SVG as a file of its own. */
export function svgText(svg) {
  return new XMLSerializer().serializeToString(standAlone(svg));
}

/** Save a drawn SVG. */
export function saveSvg(name, svg) {
  download(`${name}.svg`, new Blob([svgText(svg)], { type: "image/svg+xml" }));
}

/** Save a drawn SVG as a PNG, two pixels a unit. */
export async function savePng(name, svg) {
  const copy = standAlone(svg);
  const [width, height] = ["width", "height"].map((side) => Number(copy.getAttribute(side)));
  const text = new XMLSerializer().serializeToString(copy);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const [across, down] = [width, height].map((side) => Math.ceil(PIXELS_A_UNIT * side));
    const canvas = element("canvas", { width: across, height: down });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
    download(`${name}.png`, blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}
