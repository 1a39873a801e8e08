// The frame of the page: its name, its views, and the switches of language and appearance.
import { button, element, shape } from "./dom.js";
import { currentTheme } from "./colour.js";
import { remember } from "./store.js";

/** The name of the Chinese language, drawn: it must be found by readers whose other fonts are missing, too. */
function chineseName() {
  const middle = "M2 5.5H12V11.5H2ZM7 2V16";
  const writing = "M22 2V5M16.5 5.5H27.5M25.5 5.5C24.5 10.5 21.5 14 17 16M18.5 5.5C19.5 10.5 22.5 14 27 16";
  return shape("svg", { class: "strokes", viewBox: "0 0 29 18", width: 29, height: 18, "aria-hidden": "true" },
    shape("path", { d: middle + writing }));
}

/** The switches: the other language in its own name, and light or dark. */
function switches(store, say) {
  const [language, shown, name, tag] = say.language === "en"
    ? ["zh", chineseName(), "中文", "zh-CN"] : ["en", "English", "English", "en"];
  const theme = currentTheme() === "dark" ? "light" : "dark";
  const choose = (choice) => () => {
    Object.entries(choice).forEach(([key, value]) => remember(key, value));
    store.set(choice);
  };
  const moon = element("span", { class: "moon", "aria-hidden": "true" });
  const title = say(`theme.${theme}`);
  return element("div", { class: "switches" },
    button(shown, choose({ language }), { id: "language-switch", class: "quiet", lang: tag, "aria-label": name }),
    button(moon, choose({ theme }), { id: "theme-switch", class: "quiet round", "aria-label": title, title }));
}

/** Fill the page's header; `views` are the names of the views, none for a page that has only one. */
export function fillHeader(node, { store, say, views }) {
  const { view } = store.get();
  const link = (name) => element("a", { id: `view-${name}`, href: `#view=${name}`,
    "aria-current": name === view ? "page" : null }, say(`view.${name}`));
  const mark = element("span", { class: "mark", "aria-hidden": "true" });
  const links = views.length ? [element("nav", { "aria-label": say("views") }, views.map(link))] : [];
  const brand = element("div", { class: "brand" }, mark, element("span", {}, "regard"));
  node.replaceChildren(brand, ...links, switches(store, say));
}

/** Set what the whole document says of itself: language, appearance, title, the text of the skip link. */
export function dressDocument({ language, theme }, say, title) {
  const root = document.documentElement;
  root.lang = language === "zh" ? "zh-CN" : "en";
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  document.title = title;
  document.getElementById("skip").textContent = say("skip");
}

/** Call `redraw` when the system turns from light to dark or back, unless the user chose. */
export function followSystem(store, redraw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!store.get().theme) redraw();
  });
}
