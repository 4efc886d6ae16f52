// The page on which an expert verifies one row of R³-Bench, or an adjudicator decides about it.
import { find, make } from "./elements.js";
import { Work } from "./work.js";

const form = find("form");
let task = null;

// One question: whether it is kept, and its answer.
function question(text, answer, number) {
  const name = `question-${number}`;
  const option = (value, words) => make("label", {},
    make("input", { type: "radio", name, value, checked: (value === "yes") === answer }), make("span", { textContent: words }));
  const keep = make("input", { type: "checkbox", name: `keep-${number}`, checked: true });
  const answers = make("div", { className: "options", role: "group", ariaLabel: `Answer to: ${text}` }, option("yes", "yes"), option("no", "no"));
  return make("li", {}, make("label", { className: "line" }, keep, make("bdi", { textContent: text })), answers);
}

function choice() {
  const data = new FormData(form), discard = find("discard").checked;
  const questions = task.row.questions.map((_, number) => ({ relevant: data.has(`keep-${number}`), answer: data.get(`question-${number}`) === "yes" }));
  return { aligned: data.get("aligned") === "yes", explanation: find("explanation").value, questions, discard };
}

// What the answer still lacks; empty when it is whole.
function lacking() {
  const { aligned, explanation, questions, discard } = choice();
  if (discard) return "";
  if (!new FormData(form).has("aligned")) return "Say whether the picture shows what the prompt asks for.";
  if (!aligned && !explanation.trim()) return "Say what is wrong.";
  if (!aligned && questions.length && !questions.some((each) => each.relevant)) return "Keep a question, or discard the row.";
  return "";
}

const said = (answer) => (answer.discard ? "Discard" : `${answer.aligned ? "Yes" : "No"}${answer.explanation ? `: ${answer.explanation}` : ""}`);

const work = new Work({
  done: "There is nothing for you to verify at the moment. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes) { find("progress").textContent = `${votes} done`; },
  enable(canAnswer, canUndo) {
    find("done").disabled = !canAnswer;
    find("undo").disabled = !canUndo;
  },
  clear() { find("picture").replaceChildren(); form.reset(); find("questions").querySelector("ol").replaceChildren(); },
  show(shown, { elements }) {
    task = shown;
    find("prompt").textContent = task.prompt;
    find("prompt").lang = task.language;
    elements[0].alt = "The picture to verify";
    find("picture").replaceChildren(elements[0]);
    for (const input of form.elements.aligned) input.checked = (input.value === "yes") === task.row.aligned;
    find("explanation").value = task.row.explanation;
    find("questions").hidden = !task.row.questions.length;
    find("questions").querySelector("ol").replaceChildren(...task.row.questions.map((text, number) => question(text, task.row.answers[number], number)));
    find("said").hidden = !task.said;
    find("said").querySelector("ol").replaceChildren(...(task.said ?? []).map((answer) => make("li", {}, make("bdi", { textContent: said(answer) }))));
    scrollTo(0, 0);
  },
  final() {},
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const open = lacking();
  find("message").textContent = open;
  if (!open) work.answer(choice());
});
find("undo").addEventListener("click", () => work.undo());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches("textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "y" || key === "n") form.querySelector(`[name=aligned][value=${key === "y" ? "yes" : "no"}]`).checked = true;
  else if (key === "d") find("discard").checked = !find("discard").checked;
  else if (key === "u") work.undo();
  else return;
  event.preventDefault();
});
work.start();
