// The page on which questions about one or several files are answered: opinion scores of a panel, places, or yes/no checks.
import { find, make } from "./elements.js";
import { Places } from "./places.js";
import { Work } from "./work.js";

const stage = find("stage"), large = find("large"), strip = find("places");
let task = null, pictures = [];
const places = strip && new Places(stage, strip, (file, place) => {
  [...stage.elements[`q-${file}-0`]].find((each) => Number(each.value) === place).checked = true;
  left();
});

// One question: a group of radio buttons with the words of each value.
function question([name, text], file, number, letter) {
  const key = `q-${file}-${number}`;
  const options = task.options.map(([value, words]) => {
    const input = make("input", { type: "radio", name: key, value: String(value), required: true });
    return make("label", { title: words }, input, make("span", {}, task.options.length > 2 ? `${value}` : words),
      ...(task.options.length > 2 ? [make("span", { className: "hidden", textContent: ` ${words}` })] : []));
  });
  const legend = make("legend", {}, make("span", { className: "hidden", textContent: `${letter}: ` }), make("bdi", { textContent: name }));
  const hint = name === text ? [] : [make("p", { className: "how", id: `${key}-hint`, textContent: text, dir: "auto" })];
  const set = make("fieldset", {}, legend, ...(file === 0 || task.options.length === 2 ? hint : []), make("div", { className: "options" }, ...options));
  if (hint.length) set.title = text;
  return set;
}

function choice() {
  const files = task.media.length - task.rated_from;
  const data = new FormData(stage);
  return Array.from({ length: files }, (_, file) => task.questions.map((_, number) => Number(data.get(`q-${file}-${number}`))));
}

function left() {
  const open = [...stage.querySelectorAll("fieldset")].filter((set) => !set.querySelector(":checked"));
  find("left").textContent = open.length ? `${open.length} to answer` : "";
  places?.draw(task.options, choice().map(([place]) => place), pictures);
  return open;
}

const work = new Work({
  done: "There is nothing for you to rate at the moment. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes) { find("progress").textContent = `${votes} done`; },
  enable(canAnswer, canUndo) {
    find("done").disabled = !canAnswer;
    find("undo").disabled = !canUndo;
  },
  clear() { stage.replaceChildren(); strip?.replaceChildren(); places?.end(); find("left").textContent = ""; },
  show(shown, { elements }) {
    task = shown;
    pictures = elements;
    find("prompt").textContent = task.prompt;
    find("prompt").lang = task.language;
    const figures = elements.map((element, place) => {
      const file = place - task.rated_from, letter = file < 0 ? "Reference" : String.fromCharCode(65 + file);
      if (element.tagName === "VIDEO") { element.controls = true; element.setAttribute("aria-label", letter); } else { element.alt = letter; }
      const view = element.tagName === "VIDEO" ? element
        : make("button", { type: "button", className: "view", title: "See it large", onclick: () => enlarge(element) }, element);
      const sets = file < 0 ? [] : task.questions.map((each, number) => question(each, file, number, letter));
      return make("figure", {}, make("figcaption", { textContent: letter }), view, ...sets);
    });
    const legend = task.options.length > 2 ? [make("p", { className: "how levels", textContent: task.options.map(([value, words]) => `${value} ${words}`).join(" · ") })] : [];
    stage.replaceChildren(...legend, ...figures);
    stage.classList.toggle("one", elements.length === 1);
    left();
    stage.querySelector("input")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  },
  final() {},
});

function enlarge(element) {
  find("inside").replaceChildren(element.cloneNode());
  large.showModal();
}
find("close").addEventListener("click", () => large.close());
large.addEventListener("close", () => find("inside").replaceChildren());
stage.addEventListener("change", left);
stage.addEventListener("submit", (event) => {
  event.preventDefault();
  const [open] = left();
  if (open) open.querySelector("input").focus(); else work.answer(choice());
});
find("undo").addEventListener("click", () => work.undo());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || large.open) return;
  const set = event.target.closest?.("fieldset") ?? event.target.closest?.("figure")?.querySelector("fieldset:only-of-type");
  const value = { y: "1", n: "0" }[event.key.toLowerCase()] ?? event.key;
  const input = set && [...set.querySelectorAll("input")].find((each) => each.value === value);
  if (input) {
    input.checked = true;
    left();
    const sets = [...stage.querySelectorAll("fieldset")], next = sets[sets.indexOf(set) + 1];
    (next?.querySelector(":checked") ?? next?.querySelector("input") ?? find("done")).focus();
  } else if (event.key === "u" || event.key === "U") {
    work.undo();
  } else {
    return;
  }
  event.preventDefault();
});
work.start();
