// Labels of pictures: how wide a text is, about, and how it is cut where there is no room.

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/;

/** The width of a text in pixels at a font size of 13, about; Chinese characters are twice as wide. */
export function labelWidth(text) {
  return [...text].reduce((sum, character) => sum + (WIDE.test(character) ? 13.2 : 7.1), 0);
}

/** The text, or its beginning and an ellipsis where it is wider than `most` pixels. */
export function shortened(text, most) {
  if (labelWidth(text) <= most) return text;
  let [kept, width] = ["", labelWidth("…")];
  for (const character of text) {
    width += labelWidth(character);
    if (width > most) break;
    kept += character;
  }
  return `${kept}…`;
}

/** The widest of some texts, but no wider than `most`. */
export function widest(texts, most) {
  return Math.min(most, Math.max(0, ...texts.map(labelWidth)));
}

/** The strongest of a list of weights: [[index, weight], ...], at most `count`, none under `least`. */
export function strongest(weights, count, least) {
  return weights.map((weight, index) => [index, weight]).filter(([, weight]) => weight >= least)
    .sort((a, b) => b[1] - a[1]).slice(0, count);
}
