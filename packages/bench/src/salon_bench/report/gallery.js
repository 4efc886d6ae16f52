"use strict";
// Filters of the galleries. Nothing is written as HTML: cards are shown, hidden and put in order as they are.
for (const gallery of document.querySelectorAll(".gallery")) {
  const form = gallery.querySelector(".filters");
  const box = gallery.querySelector(".prompts");
  const shown = form.querySelector("output");
  const fields = form.elements;
  const value = (name) => (fields[name] ? fields[name].value : "");
  const prompts = [...box.querySelectorAll(":scope > article")].map((element, place) => ({
    element,
    place,
    words: element.querySelector("header").textContent.toLowerCase(),
    cells: [...element.querySelectorAll(".cell")].map((cell) => ({
      element: cell,
      column: cell.dataset.column,
      cards: [...cell.querySelectorAll(".card")].map((card) => ({
        element: card,
        labels: JSON.parse(card.dataset.labels),
        reasons: JSON.parse(card.dataset.reasons),
        scores: JSON.parse(card.dataset.scores), // pairs of dimension and value; several tasks may share a dimension
      })),
    })),
  }));

  const of = (card, dimension) => card.scores.filter((pair) => pair[0] === dimension).map((pair) => pair[1]);
  const wordsOf = (card) => (card.words ??= card.element.textContent.toLowerCase());
  const fits = (prompt, card, wanted) => {
    if (wanted.label && !card.labels.includes(wanted.label)) return false;
    if (wanted.reason === "*" ? !card.reasons.length : wanted.reason && !card.reasons.includes(wanted.reason)) return false;
    if (wanted.dimension && (wanted.low !== null || wanted.high !== null)) {
      const low = wanted.low ?? -Infinity, high = wanted.high ?? Infinity;
      if (!of(card, wanted.dimension).some((score) => low <= score && score <= high)) return false;
    }
    return !wanted.words || prompt.words.includes(wanted.words) || wordsOf(card).includes(wanted.words);
  };
  const said = (cell) => JSON.stringify(cell.cards.map((card) => [card.labels, card.scores, card.reasons]));
  const number = (name) => {
    const text = value(name);
    return text === "" || !Number.isFinite(Number(text)) ? null : Number(text);
  };

  const show = () => {
    const wanted = {
      label: value("label"), reason: value("reason"), dimension: value("dimension"),
      low: number("low"), high: number("high"), words: value("words").trim().toLowerCase(),
    };
    const [left, right] = [value("left"), value("right")];
    const columns = left === "" && right === "" ? null : [left, right].filter((each) => each !== "");
    gallery.dataset.columns = columns ? new Set(columns).size : gallery.dataset.all;
    let pictures = 0, all = 0, whole = 0;
    for (const prompt of prompts) {
      let matches = 0;
      const seen = [];
      for (const cell of prompt.cells) {
        cell.element.hidden = columns !== null && !columns.includes(cell.column);
        cell.element.style.order = columns && cell.column === left ? -1 : 0;
        if (cell.element.hidden) continue;
        seen.push(said(cell));
        for (const card of cell.cards) {
          const match = fits(prompt, card, wanted);
          card.element.classList.toggle("faint", !match);
          matches += match;
          all += 1;
        }
      }
      if (fields.differ?.checked && new Set(seen).size < 2) matches = 0;
      prompt.element.hidden = matches === 0;
      pictures += matches;
      whole += matches > 0;
    }
    shown.textContent = `${pictures} of ${all} pictures, ${whole} of ${prompts.length} prompts`;
  };

  const best = (prompt, dimension, sign) => {
    const seen = prompt.cells.filter((cell) => !cell.element.hidden).flatMap((cell) => cell.cards);
    return Math.min(...seen.flatMap((card) => of(card, dimension)).map((score) => sign * score)); // none: Infinity, so last
  };
  const arrange = () => {
    const order = value("order");
    const dimension = value("dimension") || (fields.dimension.options[1]?.value ?? "");
    const sign = order === "down" ? -1 : 1;
    const keys = new Map(prompts.map((prompt) => [prompt, order ? best(prompt, dimension, sign) : prompt.place]));
    const sorted = [...prompts].sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      return a === b ? one.place - other.place : a < b ? -1 : 1;
    });
    box.append(...sorted.map((prompt) => prompt.element));
  };

  gallery.dataset.all = gallery.dataset.columns;
  let waiting = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (event.target.name === "order" && value("order") && !value("dimension") && fields.dimension.options.length > 1) {
        fields.dimension.selectedIndex = 1;
      }
      if (event.target.name === "dimension") {
        const chosen = fields.dimension.selectedOptions[0];
        for (const name of ["low", "high"]) { fields[name].value = ""; fields[name].placeholder = chosen.dataset[name] ?? ""; }
      }
      show();
      if (["order", "dimension", "left", "right"].includes(event.target.name)) arrange();
    }, event.target.name === "words" ? 150 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { show(); arrange(); }));
  form.reset();
  form.hidden = false;
  show();
}
