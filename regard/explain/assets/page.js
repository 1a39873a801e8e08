// The page: what was found, then each kind of attention with a picker of layers and heads.
"use strict";

(() => {
  const { element, percent, weightsOf, nameOf } = Draw;
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const axes = { encoder: ["source", "source"], decoder: ["target", "target_input"], cross: ["target", "source"] };

  /** Text in parts, each with a tone: the colour of what it speaks of. */
  function toned(parts) {
    return parts.map((part) => (part.tone ? element("strong", { class: part.tone }, part.text) : part.text));
  }

  /** A sentence as running text, in which some words carry a tone. */
  function sentence(text, words, tones, attributes) {
    const node = element("p", attributes);
    let done = 0;
    words.forEach((word, index) => {
      const start = tones[index] ? text.indexOf(word, done) : -1;
      const found = text.indexOf(word, done);
      if (start >= 0) node.append(text.slice(done, start), element("span", { class: `tone ${tones[index]}` }, word));
      if (start >= 0) done = start + word.length;
      else if (found >= 0 && !tones[index]) { node.append(text.slice(done, found + word.length)); done = found + word.length; }
    });
    node.append(text.slice(done));
    return node;
  }

  function shareBar(share) {
    const fill = element("span", { class: `fill ${share.tone}` });
    fill.style.width = `${100 * share.weight}%`;
    const tick = element("span", { class: "tick", title: `mean of all: ${percent(share.mean)}` });
    tick.style.left = `${100 * share.mean}%`;
    return element("div", { class: "bar" },
      element("span", { class: `of ${share.tone}` }, share.word),
      element("span", { class: "track", "aria-hidden": "true" }, fill, tick),
      element("span", { class: "value" }, percent(share.weight),
        element("span", { class: "unseen" }, `; mean of all ${percent(share.mean)}`)));
  }

  /** Words that look at one another, from left to right: the thicker the arrow, the more. */
  function chain(links) {
    const node = element("p", { class: "chain" });
    links.forEach((link) => {
      node.append(element("span", { class: `chip ${link.tone}` }, link.word));
      if (link.weight === null) return;
      const line = element("span", { class: `shaft ${link.tone}`, "aria-hidden": "true" });
      line.style.setProperty("--weight", link.weight);
      node.append(element("span", { class: "arrow" }, element("span", { class: "unseen" }, " looks at "), percent(link.weight), line));
    });
    return node;
  }

  function card(view) {
    const children = [
      sentence(view.source_text, view.maps.source, view.source_tones, { class: "said", lang: page.languages.source }),
      sentence(view.target_text, view.maps.target, view.target_tones, { class: "heard", lang: page.languages.target }),
    ];
    if (view.chain.length) children.push(chain(view.chain));
    if (view.shares.length) children.push(element("div", { class: "bars" }, ...view.shares.map(shareBar)));
    return element("article", { class: "card", "aria-label": view.label }, ...children);
  }

  function top() {
    document.getElementById("top").append(
      element("p", { class: "brand" }, "regard"),
      element("h1", {}, page.title),
      element("p", { class: "lead" }, page.lead),
      element("dl", { class: "facts" }, ...page.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))));
  }

  function finding() {
    const [first, ...more] = page.finding.map((parts) => toned(parts));
    return element("section", { class: "finding", "aria-label": "What was found" },
      element("p", { class: "found" }, ...(first || [])),
      element("div", { class: "cards" }, ...page.views.map(card)),
      page.shares_note ? element("p", { class: "small" }, page.shares_note) : "",
      ...more.map((parts) => element("p", { class: "more" }, ...parts)));
  }

  /** One head in small: the map of each sentence and, under it, the bar of the cell that matters. */
  function thumb(section, choice, painters) {
    const button = element("button", { type: "button", role: "radio", class: "thumb" });
    const told = [nameOf(choice)];
    page.views.forEach((view, index) => {
      const matrix = weightsOf(view.maps[section.part], choice);
      const canvas = element("canvas", { "aria-hidden": "true" });
      painters.push(() => Draw.thumbnail(canvas, matrix));
      button.append(canvas);
      const bar = section.bars[index];
      if (!bar) return;
      const fill = element("span", { class: `fill ${bar.tone}` });
      fill.style.width = `${100 * matrix[bar.row][bar.column]}%`;
      button.append(element("span", { class: "mini", "aria-hidden": "true" }, fill));
      told.push(`${bar.label}: ${percent(matrix[bar.row][bar.column])}`);
    });
    button.setAttribute("aria-label", told.join("; "));
    button.title = told.join("\n");
    return button;
  }

  /** A grid of thumbnails, a row for each layer: every head, then their mean; the mean of all comes last. */
  function picker(section, onChoose) {
    const layers = page.views[0].maps[section.part];
    const columns = layers[0].length + 1;
    const choices = layers.flatMap((heads, layer) => [...heads.map((_, head) => ({ layer, head })), { layer, head: null }]);
    choices.push({ layer: null, head: null });
    const painters = [];
    const buttons = choices.map((choice) => thumb(section, choice, painters));
    const axis = (text, kind = "") => element("span", { class: `axis ${kind}`, "aria-hidden": "true" }, text);
    const grid = element("div", { class: "grid", role: "radiogroup", "aria-label": "Layer and head" });
    grid.style.setProperty("--columns", columns);
    grid.append(axis(""), ...layers[0].map((_, head) => axis(`head ${head + 1}`)), axis("mean"));
    buttons.forEach((button, index) => {
      const last = index === buttons.length - 1;
      if (index % columns === 0) grid.append(axis(last ? "all" : `layer ${index / columns + 1}`, "layer"));
      if (last) button.classList.add("overall");
      grid.append(button);
    });
    const choose = (index) => {
      buttons.forEach((button, i) => button.setAttribute("aria-checked", i === index ? "true" : "false"));
      focusable(index);
      onChoose(choices[index]);
    };
    const focusable = Draw.roving(buttons, columns, choose);
    buttons.forEach((button, index) => button.addEventListener("click", () => choose(index)));
    const paint = () => painters.forEach((draw) => draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    const first = choices.findIndex((choice) => choice.layer === section.choice.layer && choice.head === section.choice.head);
    return { node: grid, start() { paint(); choose(Math.max(0, first)); } };
  }

  function figure(section, view, onPick) {
    const [rows, columns] = axes[section.part].map((side) => view.maps[side]);
    const tonesOf = { source: view.source_tones, target: view.target_tones, target_input: {} };
    const [rowTones, tones] = axes[section.part].map((side) => tonesOf[side]);
    if (section.style === "lines") return Draw.lines({ rows, columns, tones: view.line_tones, language: page.languages.source, onPick });
    return Draw.heatMap({ rows, columns, tones, rowTones, label: `${section.title}: ${view.label}`, seen: section.verb });
  }

  function tables(section, choice) {
    return page.views.map((view) => Draw.table({
      rows: view.maps[axes[section.part][0]], columns: view.maps[axes[section.part][1]],
      caption: `${view.label}: ${nameOf(choice)}`, weights: weightsOf(view.maps[section.part], choice),
    }));
  }

  function attention(section) {
    const figures = [];
    page.views.forEach((view) => figures.push(figure(section, view, (mode) => figures.forEach((other) => {
      // The sentences differ in few words, so the same place is singled out in all of them.
      if (other.pick) other.pick(mode);
    }))));
    const chosen = element("p", { class: "chosen-head", "aria-live": "polite" });
    const details = element("details", {}, element("summary", {}, "The same as tables"));
    const holder = element("div");
    details.append(holder);
    let current = section.choice;
    const fill = () => holder.replaceChildren(...(details.open ? tables(section, current) : []));
    details.addEventListener("toggle", fill);
    const grid = picker(section, (choice) => {
      current = choice;
      chosen.textContent = `Shown: ${nameOf(choice)}`;
      figures.forEach((one, index) => one.update(weightsOf(page.views[index].maps[section.part], choice)));
      fill();
    });
    const panels = page.views.map((view, index) => element("figure", { class: `panel ${section.style}-panel` },
      element("figcaption", {}, view.label), figures[index].node));
    const node = element("section", { class: "attention" },
      element("h2", {}, section.title), element("p", { class: "tell" }, section.text),
      element("div", { class: "stage" },
        element("div", { class: "panels" }, ...panels),
        element("aside", { class: "picker" }, element("h3", {}, "Every layer and head"), chosen, grid.node, element("p", { class: "small" }, section.picker_note))),
      details);
    return { node, start() {
      page.views.forEach((view, index) => { if (figures[index].pick) figures[index].pick(view.focus === null ? null : { side: "row", index: view.focus }); });
      grid.start();
    } };
  }

  function notes() {
    return element("section", { class: "notes" }, element("h2", {}, "What this does and does not show"),
      element("div", { class: "columns" }, ...page.notes.map((note) => element("div", {}, element("h3", {}, note.title), element("p", {}, note.text)))));
  }

  top();
  const main = document.getElementById("main");
  const parts = page.sections.map(attention);
  main.append(finding(), ...parts.map((part) => part.node), notes());
  parts.forEach((part) => part.start());
  document.getElementById("foot").append(element("p", {}, page.foot));
})();
