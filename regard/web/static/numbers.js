// Numbers as people read them.

/** A share as a percentage: 0.876 is "88 %". */
export function percent(share) {
  if (share > 0 && share < 0.005) return "<1\u00a0%";
  if (share < 1 && share > 0.995) return ">99\u00a0%";
  return `${Math.round(100 * share)}\u00a0%`;
}

/** A number with so many decimals and a real minus sign. */
export function decimal(value, decimals = 2) {
  return value.toFixed(decimals).replace("-", "\u2212");
}

/** A whole number with the separators of the language. */
export function whole(value, language) {
  return new Intl.NumberFormat(language).format(value);
}

/** `value`, or the nearest bound. */
export function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}
