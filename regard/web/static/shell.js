// The frame of the page: its name, its views, and the switches of language and appearance.
import { button, element } from "./dom.js";
import { currentTheme } from "./colour.js";
import { remember } from "./store.js";

/** The switches: the other language in its own name, and light or dark. */
function switches(store, say) {
  const [language, name, tag] = say.language === "en" ? ["zh", "中文", "zh-CN"] : ["en", "English", "en"];
  const theme = currentTheme() === "dark" ? "light" : "dark";
  const choose = (choice) => () => {
    Object.entries(choice).forEach(([key, value]) => remember(key, value));
    store.set(choice);
  };
  const moon = element("span", { class: "moon", "aria-hidden": "true" });
  const title = say(`theme.${theme}`);
  return element("div", { class: "switches" },
    button(name, choose({ language }), { id: "language-switch", class: "quiet", lang: tag }),
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
