"use strict";
// Filters of the boards, and the numbers of one or two models. Every text goes in as text, never as HTML.
for (const box of document.querySelectorAll(".ledger")) {
  const data = JSON.parse(box.querySelector(".content").textContent);
  const boards = box.querySelector(".filters"), pair = box.querySelector(".models");
  const element = (name, text, type) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (type) made.className = type;
    return made;
  };
  const labelled = (row, labels) => { // on a narrow screen every cell is a line with its column's name
    [...row.cells].forEach((cell, place) => { cell.dataset.label = labels[place]; });
    return row;
  };
  const BOARD = ["rank", "model", "rating", "95% CI", "maker", "released", "weights", "billions"];
  const count = (number) => number.toLocaleString("en");
  const known = new Map(data.models.map((model, place) => [model[0].toLowerCase(), place]));

  const showBoard = () => {
    const { task, capability, weights, size, since, until, known: interval, words } = boards.elements;
    const board = data.boards.find((one) => one.task === task.value && one.capability === capability.value);
    const text = words.value.trim().toLowerCase();
    const [least, most] = size.value.split(" ").map(Number);
    const matching = (board ? board.rows : []).map((row, place) => [place + 1, ...row]).filter(([, place]) => {
      const [name, maker, released, own, billions] = data.models[place];
      return (!size.value || (billions > least && billions <= most)) && (!weights.value || own === weights.value) && (!since.value || (released && released >= since.value))
        && (!until.value || (released && released <= until.value))
        && (!text || `${name} ${maker}`.toLowerCase().includes(text));
    });
    const rows = matching.filter(([, , , low]) => !interval.checked || low !== null);
    const hidden = matching.filter(([, , , low]) => interval.checked && low === null);
    const above = hidden.filter(([rank]) => !rows.length || rank < rows[0][0]).length;
    const unshown = hidden.length ? ` Hidden without an interval: ${hidden.length}, of which ${above} stand above all that are shown.` : "";
    const body = element("tbody");
    for (const [rank, place, rating, low, high] of rows) {
      const [name, maker, released, own, billions] = data.models[place];
      const line = element("tr", undefined, low === null ? "alone" : "");
      const cell = element("td"), button = element("button", name);
      button.type = "button";
      button.addEventListener("click", () => { pair.elements.one.value = name; showModels(); pair.scrollIntoView(); });
      cell.append(button);
      line.append(element("td", rank, "number"), cell, element("td", count(rating), "number"),
        element("td", low === null ? "–" : `${count(low)} – ${count(high)}`, "number"), element("td", maker), element("td", released), element("td", own),
        element("td", billions || "", "number"));
      body.append(labelled(line, BOARD));
    }
    box.querySelector(".board tbody").replaceWith(body);
    boards.querySelector("output").textContent = board
      ? `${rows.length} of ${board.rows.length} generators; a rank counts all of them.${unshown} ${board.header}`
      : "No board: too few models have numbers of this kind.";
  };

  const showModels = () => {
    const chosen = ["one", "other"].map((name) => known.get(pair.elements[name].value.trim().toLowerCase()));
    const wanted = chosen.filter((place) => place !== undefined);
    const lines = new Map();
    for (const [model, table, benchmark, track, printed, reported, judge] of data.cells) {
      const side = wanted.indexOf(model);
      if (side < 0) continue;
      const [source, task, own] = data.tables[table];
      const key = wanted.length > 1 ? `${task}|${benchmark}|${track}|${judge}` : `${task}|${benchmark}|${track}|${judge}|${table}`;
      if (!lines.has(key)) lines.set(key, { task, benchmark, track, judge, sides: wanted.map(() => []) });
      lines.get(key).sides[side].push({ printed, reported, source, own });
    }
    const shown = [...lines.values()].filter((line) => line.sides.every((numbers) => numbers.length));
    const head = element("tr");
    const columns = ["task", "benchmark", "track", "judge", ...wanted.map((place) => data.models[place][0])];
    for (const name of columns) {
      const cell = element("th", name);
      cell.scope = "col";
      head.append(cell);
    }
    const body = element("tbody");
    for (const line of shown) {
      const row = element("tr");
      row.append(element("td", line.task), element("td", line.benchmark), element("td", line.track), element("td", line.judge));
      for (const numbers of line.sides) {
        const cell = element("td");
        numbers.forEach(({ printed, reported, source, own }, place) => {
          const [title, link, date] = data.sources[source];
          const anchor = element("a", title);
          anchor.href = own || link;
          anchor.rel = "noreferrer";
          cell.append(place ? "; " : "", `${printed} (${reported}, `, anchor, ` ${date.slice(0, 7)})`);
        });
        row.append(cell);
      }
      body.append(labelled(row, columns));
    }
    const header = element("thead");
    if (wanted.length) header.append(head);
    box.querySelector(".numbers thead").replaceWith(header);
    box.querySelector(".numbers tbody").replaceWith(body);
    pair.querySelector("output").textContent = !wanted.length
      ? "Choose a model: every number that a source prints of it."
      : wanted.length > 1 ? `${count(shown.length)} numbers that both have.` : `${count(shown.length)} numbers.`;
  };

  for (const form of [boards, pair]) form.addEventListener("submit", (event) => event.preventDefault());
  boards.addEventListener("input", showBoard);
  pair.addEventListener("input", showModels);
  showBoard();
  showModels();
}
