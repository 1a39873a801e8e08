// The other translations that the search found, each with its score.
import { button, element, paragraph } from "./dom.js";
import { decimal } from "./numbers.js";

/**
 * The list, or null where the search found no other. `onTake(translation)` hears which one to look into: null is the
 * model's own, which stands first where the target was given; without it there is nothing to press.
 */
export function othersCard({ explanation: { alternatives, model, target }, say, onTake }) {
  if (!alternatives.length) return null;
  const row = ({ text, score }, index) => {
    const parts = [element("span", { lang: model.target_language }, text),
      element("span", { class: "score" }, decimal(score))];
    const take = () => onTake(target.forced && index === 0 ? null : text);
    return element("li", {}, onTake ? button(parts, take, { id: `other-${index}`, class: "other" })
      : element("div", { class: "other" }, parts));
  };
  return element("div", { class: "card", id: "others" },
    element("h3", {}, say(target.forced ? "others.title.forced" : "others.title")),
    paragraph("small", say(onTake ? "others.text.take" : "others.text")),
    element("ol", {}, alternatives.map(row)));
}
