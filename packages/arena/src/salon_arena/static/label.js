// The page on which one picture or video is labelled, or agreed labels are verified.
import { find, make } from "./elements.js";
import { Player } from "./player.js";
import { Work } from "./work.js";

const LOOK = 3000;
const player = new Player();
let task = null, chosen = [], drawing = null, can = false, timer = 0, level = null;

function full() { return task.most !== null && chosen.length >= task.most; }

function toggle(id) {
  const at = chosen.findIndex((mark) => mark.label === id);
  if (at >= 0) chosen.splice(at, 1); else if (!full()) chosen.push({ label: id, where: "", boxes: [], frames: null });
  draw();
}

// The tree: labels under their groups; the search leaves those that hold all its words.
function tree() {
  const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (label) => words.every((word) => `${label.path.join(" ")} ${label.name} ${label.definition}`.toLowerCase().includes(word));
  const groups = new Map();
  for (const label of task.labels.filter(fits)) {
    const group = label.path.slice(1).join(" › ") || label.path.join(" › ") || "Labels";
    groups.set(group, [...(groups.get(group) ?? []), label]);
  }
  find("tree").replaceChildren(...[...groups].map(([group, labels]) => make("div", { role: "group", ariaLabel: group },
    make("h3", { textContent: group }),
    ...labels.map((label) => {
      const on = chosen.some((mark) => mark.label === label.id);
      return make("button", { type: "button", textContent: label.name, title: label.definition, ariaPressed: String(on), disabled: !can || (!on && full()), onclick: () => toggle(label.id) });
    }))));
}

// How hard the faults are to see: asked for where the task has levels.
function drawLevels() {
  const words = { L1: "easy", L2: "medium", L3: "hard" };
  find("levels").hidden = !task.levels.length;
  find("levels").querySelector(".options").replaceChildren(...task.levels.map((name) => make("label", {},
    make("input", { type: "radio", name: "level", value: name, checked: level === name, onchange: () => { level = name; find("done").disabled = !can; } }),
    make("span", { textContent: `${name} ${words[name] ?? ""}` }))));
}

// For an adjudicator: what each rater said, in the order of their answers.
function drawSaid(names) {
  find("said").hidden = !task.said;
  find("said").querySelector("ol").replaceChildren(...(task.said ?? []).map((answer) => {
    const labels = answer.marks.map((mark) => `${names[mark.label] ?? mark.label}${mark.where ? ` (${mark.where})` : ""}`);
    return make("li", {}, make("bdi", { textContent: `${labels.join("; ") || "Normal"}${answer.level ? ` · ${answer.level}` : ""}` }));
  }));
}

function draw() {
  tree();
  const names = Object.fromEntries(task.labels.map((label) => [label.id, label.name]));
  find("chosen").replaceChildren(...chosen.map((mark) => {
    const where = make("input", { value: mark.where, maxLength: 500, placeholder: "where and what", ariaLabel: `${names[mark.label]}: where and what`, oninput: () => { mark.where = where.value; } });
    const box = make("button", { type: "button", textContent: drawing === mark ? "Drag on the picture" : `Box (${mark.boxes.length})`, ariaPressed: String(drawing === mark), onclick: () => { drawing = drawing === mark ? null : mark; draw(); } });
    const clear = make("button", { type: "button", textContent: "No boxes", disabled: !mark.boxes.length, onclick: () => { mark.boxes = []; draw(); } });
    const now = () => (player.videos.length ? player.frame(0) : 0);
    const from = make("button", { type: "button", textContent: `From frame ${mark.frames?.[0] ?? "…"}`, onclick: () => { mark.frames = [now(), Math.max(now(), mark.frames?.[1] ?? now())]; draw(); } });
    const to = make("button", { type: "button", textContent: `to ${mark.frames?.[1] ?? "…"}`, onclick: () => { mark.frames = [Math.min(now(), mark.frames?.[0] ?? now()), now()]; draw(); } });
    const off = make("button", { type: "button", textContent: "×", ariaLabel: `Remove ${names[mark.label]}`, onclick: () => toggle(mark.label) });
    return make("li", {}, make("b", { textContent: names[mark.label] }), off, where, box, clear, ...(task.media_kind === "video" ? [from, to] : []));
  }));
  find("picture").querySelectorAll(".box").forEach((each) => each.remove());
  for (const mark of chosen) {
    for (const [left, top, right, bottom] of mark.boxes) {
      const box = make("div", { className: "box", title: names[mark.label] });
      Object.assign(box.style, { left: `${left * 100}%`, top: `${top * 100}%`, width: `${(right - left) * 100}%`, height: `${(bottom - top) * 100}%` });
      find("picture").append(box);
    }
  }
  drawLevels();
  find("done").textContent = chosen.length ? "Done" : "Normal";
  find("done").disabled = !can || (task.levels.length > 0 && !level);
  drawSaid(names);
}

const work = new Work({
  done: "There is nothing for you to label at the moment. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes) { find("progress").textContent = `${votes} done`; },
  enable(canAnswer, canUndo) {
    can = canAnswer;
    find("undo").disabled = !canUndo;
    for (const id of ["accept", "reject"]) find(id).disabled = !canAnswer;
    if (task) draw();
  },
  clear() {
    clearTimeout(timer);
    find("picture").replaceChildren();
    player.show([], []);
    chosen = [];
    drawing = level = null;
  },
  show(shown, { elements: [element], frames }) {
    task = shown;
    find("prompt").textContent = task.prompt;
    find("prompt").lang = task.language;
    if (frames.length) element.setAttribute("aria-label", "Video"); else element.alt = "Picture";
    find("picture").replaceChildren(element);
    find("video-tools").hidden = !frames.length;
    if (frames.length) player.show([element], frames);
    const verifying = task.proposed !== null;
    find("choose").hidden = verifying;
    find("verify").hidden = !verifying;
    find("proposed").replaceChildren(...(verifying && !task.proposed.length ? ["Normal"] : task.proposed ?? []).map((name) => make("li", { textContent: name })));
    find("rule").textContent = task.most === null ? "" : `At most ${task.most}: the most obvious ones.`;
    find("search").value = "";
    timer = setTimeout(() => { if (!chosen.length) find("rule").textContent = "Nothing found by now? Then it is normal."; }, LOOK);
  },
  final() {},
});

function submit() {
  if (find("done").disabled) return;
  work.answer(task.levels.length ? { marks: chosen, level } : { marks: chosen });
}

find("search").addEventListener("input", tree);
find("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  find("tree").querySelector("button:enabled")?.click();
  find("search").value = "";
  draw();
});
find("done").addEventListener("click", submit);
find("undo").addEventListener("click", () => work.undo());
find("accept").addEventListener("click", () => work.answer({ accept: true }));
find("reject").addEventListener("click", () => work.answer({ accept: false }));

let start = null;
const place = (event) => {
  const box = find("picture").getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((part) => Math.min(1, Math.max(0, part)));
};
find("picture").addEventListener("pointerdown", (event) => {
  if (!drawing) return;
  event.preventDefault();
  find("picture").setPointerCapture(event.pointerId);
  start = place(event);
});
find("picture").addEventListener("pointerup", (event) => {
  if (!start || !drawing) return;
  const end = place(event), round = (number) => Math.round(number * 1e4) / 1e4;
  const box = [Math.min(start[0], end[0]), Math.min(start[1], end[1]), Math.max(start[0], end[0]), Math.max(start[1], end[1])].map(round);
  start = null;
  if (box[2] - box[0] > 0.005 && box[3] - box[1] > 0.005) drawing.boxes.push(box);
  drawing = null;
  draw();
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches("input")) return;
  const key = event.key.toLowerCase(), verifying = task?.proposed != null;
  if (key === "/" && !verifying) find("search").focus();
  else if (verifying && can && (key === "y" || key === "n")) work.answer({ accept: key === "y" });
  else if (!verifying && can && key === "n" && !chosen.length) submit();
  else if (key === "u") work.undo();
  else return;
  event.preventDefault();
});
work.start();
