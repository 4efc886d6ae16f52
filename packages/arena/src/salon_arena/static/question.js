// The page on which one question of Artifact-Bench is answered, or an agreed answer is verified.
import { find, make } from "./elements.js";
import { Player } from "./player.js";
import { Work } from "./work.js";

const form = find("form"), stage = find("stage"), figures = [...stage.querySelectorAll("figure")];
const LEVELS = { L1: "easy", L2: "medium", L3: "hard" };
const player = new Player();
let task = null, can = false;

const inputs = (name) => [...form.querySelectorAll(`[name=${name}]`)];
const picked = (name) => inputs(name).filter((input) => input.checked).map((input) => input.value);
const verifying = () => task?.proposed != null;

function options(id, name, type, entries) {
  find(id).querySelector(".options").replaceChildren(...entries.map(([value, words]) =>
    make("label", {}, make("input", { type, name, value }), make("span", { textContent: words, dir: "auto" }))));
}

function draw() {
  const whole = task && picked("answer").length > 0 && (!task.levels.length || picked("level").length > 0);
  find("done").disabled = !can || !whole;
  for (const id of ["accept", "reject"]) find(id).disabled = !can;
}

function saying({ answer, level }) {
  const words = Object.fromEntries(task.choices);
  return `${answer.map((value) => words[value]).join("; ")}${level ? ` · ${level}` : ""}`;
}

const work = new Work({
  done: "There is nothing for you to answer at the moment. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes) { find("progress").textContent = `${votes} done`; },
  enable(canAnswer, canUndo) {
    can = canAnswer;
    find("undo").disabled = !canUndo;
    draw();
  },
  clear() {
    stage.classList.remove("shown");
    player.show([], []);
    for (const id of ["choices", "levels"]) find(id).querySelector(".options").replaceChildren();
  },
  show(shown, { elements, frames }) {
    task = shown;
    find("prompt").textContent = task.prompt;
    find("prompt").lang = task.language;
    find("prompt-part").hidden = !task.prompt;
    stage.classList.toggle("one", elements.length === 1);
    figures.forEach((figure, place) => {
      const element = elements[place], name = elements.length === 1 ? "" : ` ${"AB"[place]}`;
      figure.hidden = !element;
      figure.querySelector("figcaption").hidden = !name;
      if (!element) return figure.querySelector(".frame").replaceChildren();
      if (frames.length) element.setAttribute("aria-label", `Video${name}`); else element.alt = `Picture${name}`;
      figure.querySelector(".frame").replaceChildren(element);
    });
    find("video-tools").hidden = !frames.length;
    stage.classList.add("shown");
    if (frames.length) player.show(elements, frames);
    find("asked").textContent = verifying() ? "Agreed" : task.asked;
    if (verifying()) {
      find("choices").querySelector(".options").replaceChildren(make("ul", {}, ...task.proposed.map((words) => make("li", {}, make("bdi", { textContent: words })))));
    } else {
      options("choices", "answer", task.several ? "checkbox" : "radio", task.choices);
      find("choices").querySelector(".options").classList.toggle("rows", task.several);
    }
    const levels = verifying() ? [] : task.levels;
    options("levels", "level", "radio", levels.map((name) => [name, `${name} ${LEVELS[name]}`]));
    find("levels").hidden = !levels.length;
    find("done").hidden = verifying();
    for (const id of ["accept", "reject"]) find(id).hidden = !verifying();
    find("said").hidden = !task.said;
    find("said").querySelector("ol").replaceChildren(...(task.said ?? []).map((answer) => make("li", {}, make("bdi", { textContent: saying(answer) }))));
    draw();
    scrollTo(0, 0);
  },
  final() {},
});

form.addEventListener("change", draw);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!find("done").disabled) work.answer({ answer: picked("answer"), level: picked("level")[0] ?? null });
});
find("accept").addEventListener("click", () => work.answer({ accept: true }));
find("reject").addEventListener("click", () => work.answer({ accept: false }));
find("undo").addEventListener("click", () => work.undo());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toLowerCase(), filmed = !find("video-tools").hidden;
  const answer = inputs("answer").find((input) => input.value.toLowerCase() === key || (key === input.value[0] && input.value.length > 1));
  const level = inputs("level")[Number(key) - 1];
  if (key === "u") work.undo();
  else if (verifying() && can && (key === "y" || key === "n")) work.answer({ accept: key === "y" });
  else if (answer) answer.click();
  else if (level) level.click();
  else if (filmed && key === ",") player.step(-1);
  else if (filmed && key === ".") player.step(1);
  else if (filmed && key === " " && !event.target.matches("button, input")) player.toggle();
  else if (key === "enter" && !event.target.matches("button")) form.requestSubmit(find("done"));
  else return;
  event.preventDefault();
});
work.start();
