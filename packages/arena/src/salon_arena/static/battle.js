// The page on which two pictures or videos are compared.
import { find } from "./elements.js";
import { Overlay } from "./overlay.js";
import { Player } from "./player.js";
import { Viewer } from "./viewer.js";
import { Work } from "./work.js";

const stage = find("stage"), source = find("source");
const [sourceFrame, ...pair] = stage.querySelectorAll(".frame"), frames = [...pair, sourceFrame];  // in the order of a task's files
const buttons = [...document.querySelectorAll("[data-choice]")];
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "both_good", ArrowDown: "both_bad", 1: "left", 2: "right", 3: "both_good", 4: "both_bad" };
const SHIFTS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const NAMES = ["A", "B"], HEARD = { a: 0, b: 1, s: 2 };

const viewer = new Viewer(stage, pair), overlay = new Overlay();
const player = new Player();

const work = new Work({
  done: "You have seen every pair. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes, reply) {
    find("progress").textContent = `${votes} ${votes === 1 ? "vote" : "votes"}`;
    find("test").textContent = reply?.state === "qualifying" ? `Test: ${reply.left} to go` : "";
  },
  enable(canAnswer, canUndo) {
    buttons.forEach((button) => { button.disabled = !canAnswer; });
    find("undo").disabled = !canUndo;
  },
  clear() {
    stage.classList.remove("shown");
    player.show([], []);
  },
  show(task, { elements, frames: times }) {
    const prompt = find("prompt");
    prompt.textContent = task.prompt;
    prompt.lang = task.language;
    elements.forEach((element, place) => {
      const name = place < NAMES.length ? `${times.length ? "Video" : "Picture"} ${NAMES[place]}` : "Source";
      if (times.length) element.setAttribute("aria-label", name); else element.alt = name;
      frames[place].replaceChildren(element);
    });
    overlay.lay(elements, pair);
    const hasSource = elements.length > pair.length;
    source.hidden = !hasSource;
    stage.classList.toggle("three", hasSource);
    viewer.frames = hasSource ? [sourceFrame, ...pair] : pair;  // as they stand on the page
    viewer.pictures = [...elements, ...overlay.copies];
    viewer.reset();
    find("video-tools").hidden = !times.length;
    stage.classList.add("shown");
    if (times.length) player.show(elements, times, [...NAMES, "Source"].map((name) => `Hear ${name}`));
  },
  async final(assignment) {
    const { models } = await (await fetch(`/models/${assignment}`)).json();
    if (!models) return;
    const line = models.flatMap((model, place) => {
      const name = document.createElement("bdi");
      name.textContent = model;
      return [place ? `; ${NAMES[place]} was ` : `The pair before: ${NAMES[place]} was `, name];
    });
    find("revealed").replaceChildren(...line, ".");
  },
});

buttons.forEach((button) => button.addEventListener("click", () => work.answer(button.dataset.choice)));
find("undo").addEventListener("click", () => work.undo());
find("zoom-in").addEventListener("click", () => viewer.in());
find("zoom-out").addEventListener("click", () => viewer.out());
find("zoom-reset").addEventListener("click", () => viewer.reset());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const filmed = !find("video-tools").hidden;
  if (filmed && event.key === ",") {
    player.step(-1);
  } else if (filmed && event.key === ".") {
    player.step(1);
  } else if (event.key === "h" || event.key === "H") {
    overlay.hold(true);
  } else if (event.repeat || event.target.matches("input, select, summary")) {
    return;
  } else if (event.shiftKey && SHIFTS[event.key]) {
    viewer.shift(...SHIFTS[event.key]);
  } else if (!event.shiftKey && KEYS[event.key]) {
    work.answer(KEYS[event.key]);
  } else if (event.key === "u" || event.key === "U") {
    work.undo();
  } else if (filmed && event.key === " " && !event.target.matches("button, a")) {
    player.toggle();
  } else if (filmed && HEARD[event.key.toLowerCase()] !== undefined) {
    player.hear(HEARD[event.key.toLowerCase()]);
  } else if (event.key === "+" || event.key === "=") {
    viewer.in();
  } else if (event.key === "-") {
    viewer.out();
  } else if (event.key === "0") {
    viewer.reset();
  } else {
    return;
  }
  event.preventDefault();
});
window.player = player;  // for a look from the console, and for tests
work.start();
