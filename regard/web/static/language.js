// The languages of the page, and the names of the languages it translates.
import { CHINESE } from "./messages_zh.js";
import { ENGLISH } from "./messages_en.js";

const MESSAGES = { en: ENGLISH, zh: CHINESE };

/** The language of the page for a browser that prefers `preferred` (tags, best first): Chinese or English. */
export function pageLanguage(preferred) {
  const known = preferred.map((tag) => String(tag).slice(0, 2).toLowerCase()).find((tag) => tag in MESSAGES);
  return known ?? "en";
}

/** A function that says a message: `say("counter", {used: 3})` fills in `{used}`. Its `language` is the page's. */
export function speaker(language) {
  const messages = MESSAGES[language];
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  say.language = language;
  return say;
}

/** The name of a language that is translated: the service's own in English, the browser's in Chinese. */
export function languageName(code, served, say) {
  if (say.language === "en") return served || code;
  try {
    const name = new Intl.DisplayNames([say.language], { type: "language", fallback: "none" }).of(code);
    return name || served || code;
  } catch {
    return served || code;
  }
}
