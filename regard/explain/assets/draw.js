// Drawing attention: lines between words, heat maps, thumbnails and tables. Every text is set as text, never as HTML.
"use strict";

const Draw = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** An HTML element with attributes and children; a string child becomes text. */
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  /** An SVG element; `text`, if given, becomes its text. */
  function shape(tag, attributes = {}, text = null) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== null) node.textContent = text;
    return node;
  }

  function percent(weight) {
    return weight > 0 && weight < 0.005 ? "<1\u00a0%" : `${Math.round(100 * weight)}\u00a0%`;
  }

  /** The mean of equally shaped matrices. */
  function mean(matrices) {
    return matrices[0].map((row, r) => row.map((_, c) => matrices.reduce((sum, m) => sum + m[r][c], 0) / matrices.length));
  }

  /** Weights [Q][K] of a head; `head` null: the mean of its layer; `layer` null: the mean of all. */
  function weightsOf(layers, choice) {
    if (choice.layer === null) return mean(layers.flat());
    return choice.head === null ? mean(layers[choice.layer]) : layers[choice.layer][choice.head];
  }

  function nameOf(choice) {
    if (choice.layer === null) return "all layers, mean of all heads";
    return `layer ${choice.layer + 1}, ${choice.head === null ? "mean of its heads" : `head ${choice.head + 1}`}`;
  }

  /** Arrow keys move the focus inside a group of buttons, of which Tab reaches one. `across`: buttons in a line. */
  function roving(buttons, across, onMove = () => {}) {
    const focusable = (chosen) => buttons.forEach((button, index) => { button.tabIndex = index === chosen ? 0 : -1; });
    const steps = { ArrowDown: across, ArrowUp: -across, ArrowRight: 1, ArrowLeft: -1 };
    buttons.forEach((button, index) => button.addEventListener("keydown", (event) => {
      let next = event.key in steps ? index + steps[event.key] : null;
      if (event.key === "Home") next = 0;
      if (event.key === "End") next = buttons.length - 1;
      if (next === null || next < 0 || next >= buttons.length) return;
      event.preventDefault();
      focusable(next);
      buttons[next].focus();
      onMove(next);
    }));
    focusable(0);
    return focusable;
  }

  /** Two columns of words with a line from each word that looks to each word that is seen; opacity is weight. */
  function lines({ rows, columns, tones = {}, language = "", onPick = () => {} }) {
    const height = Math.max(rows.length, columns.length);
    const wires = shape("svg", { class: "wires", viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const paths = rows.map((_, r) => columns.map((_, c) => wires.appendChild(shape("path", {
      d: `M0 ${r + 0.5}C45 ${r + 0.5} 55 ${c + 0.5} 100 ${c + 0.5}`,
      class: `wire ${tones[c] || ""}`,
    }))));
    const left = rows.map((word) => element("button", { type: "button", class: "word", lang: language }, word));
    const shares = columns.map(() => element("span", { class: "share", "aria-hidden": "true" }));
    const right = columns.map((word, c) => element("button", { type: "button", class: `word ${tones[c] || ""}` },
      element("span", { lang: language }, word), shares[c]));
    const readout = element("p", { class: "readout", "aria-live": "polite" });
    const column = (side, label, buttons) => element("div", { class: `words ${side}`, role: "group", "aria-label": label }, ...buttons);
    const node = element("div", { class: "lines" },
      element("div", { class: "ends" }, element("span", {}, "this word …"), element("span", {}, "… looks at")),
      element("div", { class: "strands" }, column("asks", "Words that look", left), wires, column("seen", "Words that are seen", right)),
      readout);
    node.style.setProperty("--rows", height);

    let weights = [];
    let pinned = null;
    let passing = null;

    function paint() {
      const shown = passing || pinned;
      paths.forEach((list, r) => list.forEach((path, c) => {
        const active = !shown || (shown.side === "row" ? r === shown.index : c === shown.index);
        const weight = weights[r][c];
        path.style.opacity = weight < 0.02 ? 0 : active ? Math.min(1, 0.08 + weight) : 0.1 * weight;
        path.style.strokeWidth = `${active ? 1 + 7 * weight : 1}px`;
      }));
      const row = shown && shown.side === "row" ? shown.index : null;
      const col = shown && shown.side === "column" ? shown.index : null;
      left.forEach((button, r) => tint(button, col === null ? 0 : weights[r][col], r === row, pinned && pinned.side === "row" && pinned.index === r));
      right.forEach((button, c) => {
        tint(button, row === null ? 0 : weights[row][c], c === col, pinned && pinned.side === "column" && pinned.index === c);
        shares[c].textContent = row !== null && weights[row][c] >= 0.03 ? percent(weights[row][c]) : "";
      });
      readout.textContent = shown ? sentence(shown) : "Every word at once. Point at a word to single it out.";
    }

    function sentence(shown) {
      const byRow = shown.side === "row";
      const others = byRow ? columns : rows;
      const found = others.map((word, i) => [word, byRow ? weights[shown.index][i] : weights[i][shown.index]])
        .filter(([, weight]) => weight >= 0.03).sort((a, b) => b[1] - a[1]).slice(0, 4);
      const list = found.map(([word, weight]) => `“${word}” ${percent(weight)}`).join(", ");
      return byRow ? `“${rows[shown.index]}” looks at ${list}.` : `“${columns[shown.index]}” is seen by ${list || "no word much"}.`;
    }

    function attach(buttons, side) {
      buttons.forEach((button, index) => {
        const mode = { side, index };
        button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") { passing = mode; paint(); } });
        button.addEventListener("pointerleave", () => { passing = null; paint(); });
        button.addEventListener("click", () => {
          const again = pinned && pinned.side === side && pinned.index === index;
          passing = null;
          pick(again ? null : mode);
          onPick(again ? null : mode);
        });
      });
      return roving(buttons, 1, (index) => { passing = null; pick({ side, index }); onPick({ side, index }); });
    }

    const focusable = { row: attach(left, "row"), column: attach(right, "column") };
    function pick(mode) {
      pinned = mode;
      if (mode) focusable[mode.side](mode.index);
      if (weights.length) paint();
    }
    return { node, pick, update(next) { weights = next; paint(); } };
  }

  /** The strength of a word's background, and whether it is the word that looks. */
  function tint(button, weight, chosen, pressed) {
    button.style.setProperty("--weight", weight.toFixed(3));
    button.classList.toggle("chosen", chosen);
    button.setAttribute("aria-pressed", pressed ? "true" : "false");
  }

  /** A heat map: rows look, columns are seen. The pointer or the arrow keys read out a cell. */
  function heatMap({ rows, columns, tones = {}, rowTones = {}, label, seen = "looks at" }) {
    const cell = 30;
    const longest = (words) => Math.max(...words.map((word) => [...word].reduce((sum, c) => sum + (c > "\u2e80" ? 2 : 1), 0)));
    const side = Math.min(150, 14 + 7.6 * longest(rows));
    const top = Math.min(110, 16 + 6.2 * longest(columns));
    const width = side + cell * columns.length + 26;
    const height = top + cell * rows.length + 4;
    const picture = shape("svg", { class: "heat", viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "application",
      "aria-roledescription": "heat map", "aria-label": `${label}. Arrow keys move from cell to cell.` });
    picture.style.maxWidth = `${width}px`;
    const x = (c) => side + c * cell;
    const y = (r) => top + r * cell;
    const heads = columns.map((word, c) => picture.appendChild(shape("text", {
      class: `head ${tones[c] || ""}`, transform: `translate(${x(c) + cell / 2 + 4} ${top - 8}) rotate(-48)` }, word)));
    const names = rows.map((word, r) => picture.appendChild(shape("text", {
      class: `name ${rowTones[r] || ""}`, x: side - 8, y: y(r) + cell / 2 + 4, "text-anchor": "end" }, word)));
    const cells = rows.map((_, r) => columns.map((_, c) => {
      const group = picture.appendChild(shape("g", { class: "cell" }));
      const box = { x: x(c) + 1, y: y(r) + 1, width: cell - 2, height: cell - 2, rx: 4 };
      group.append(shape("rect", { class: "ground", ...box }), shape("rect", { class: `ink ${tones[c] || ""}`, ...box }),
        shape("text", { class: "figure", x: x(c) + cell / 2, y: y(r) + cell / 2 + 4, "text-anchor": "middle" }));
      group.addEventListener("pointerenter", () => show(r, c));
      return group;
    }));
    const readout = element("p", { class: "readout", "aria-live": "polite" });
    const hint = "Point at a cell, or use the arrow keys, to read it.";
    readout.textContent = hint;
    let weights = [];
    let at = null;

    function show(r, c) {
      at = [r, c];
      cells.forEach((list, i) => list.forEach((group, j) => group.classList.toggle("aside", i !== r && j !== c)));
      names.forEach((text, i) => text.classList.toggle("here", i === r));
      heads.forEach((text, j) => text.classList.toggle("here", j === c));
      readout.textContent = `“${rows[r]}” ${seen} “${columns[c]}”: ${percent(weights[r][c])}.`;
    }
    function clear() {
      at = null;
      cells.flat().forEach((group) => group.classList.remove("aside"));
      [...names, ...heads].forEach((text) => text.classList.remove("here"));
      readout.textContent = hint;
    }
    picture.addEventListener("pointerleave", clear);
    picture.addEventListener("blur", clear);
    picture.addEventListener("keydown", (event) => {
      const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const clamp = (value, size) => Math.max(0, Math.min(size - 1, value));
      show(...(at ? [clamp(at[0] + move[0], rows.length), clamp(at[1] + move[1], columns.length)] : [0, 0]));
    });
    return {
      node: element("div", { class: "map" }, picture, readout),
      update(next) {
        weights = next;
        cells.forEach((list, r) => list.forEach((group, c) => {
          const [, ink, figure] = group.children;
          ink.style.opacity = weights[r][c];
          figure.textContent = weights[r][c] >= 0.095 ? Math.round(100 * weights[r][c]) : "";
          figure.classList.toggle("bright", weights[r][c] > 0.5);
        }));
        if (at) show(...at);
      },
    };
  }

  /** A matrix on a small canvas, one pixel a weight. */
  function thumbnail(canvas, matrix) {
    [canvas.height, canvas.width] = [matrix.length, matrix[0].length];
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(canvas).color;
    matrix.forEach((row, r) => row.forEach((weight, c) => {
      context.globalAlpha = Math.min(1, weight);
      context.fillRect(c, r, 1, 1);
    }));
  }

  /** The same weights as a table, for those who cannot see the picture. */
  function table({ rows, columns, caption, weights, language = ["", ""] }) {
    const head = element("tr", {}, element("td"), ...columns.map((word) => element("th", { scope: "col", lang: language[1] }, word)));
    const body = rows.map((word, r) => element("tr", {}, element("th", { scope: "row", lang: language[0] }, word),
      ...weights[r].map((weight) => element("td", {}, percent(weight)))));
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body)));
  }

  return { element, shape, percent, weightsOf, nameOf, roving, lines, heatMap, thumbnail, table };
})();
