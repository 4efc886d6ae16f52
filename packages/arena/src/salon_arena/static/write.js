// The page on which a contributor writes a prompt, or an inspector accepts, refines or rejects it.
import { find, make } from "./elements.js";
import { Work } from "./work.js";

const form = find("form");
let task = null;

const chosen = () => [...find("labels").querySelectorAll(":checked")].map((input) => input.value);

// The lines "test point: what must be met"; null where one is neither.
function points() {
  const lines = find("points").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const found = lines.map((line) => ({ name: line.split(":")[0].trim(), demand: line.slice(line.indexOf(":") + 1).trim() }));
  const known = (each, at) => task.points.includes(each.name) && lines[at].includes(":") && each.demand;
  const twice = new Set(found.map((each) => each.name)).size < found.length;
  return found.every(known) && !twice ? found : null;
}

function submit() {
  const prompt = find("text").value.trim();
  if (task.written) return work.answer({ accept: true, prompt: prompt === task.written.prompt ? null : prompt });
  const labels = chosen(), found = points();
  if (!labels.length || labels.length > task.most) return work.view.say(`Choose 1 to ${task.most} capabilities.`);
  if (!found) return work.view.say("Write each check as “test point: what must be met”, each test point once.");
  return work.answer({ prompt, language: find("language").value, labels, scenario: find("scenario").value, test_points: found });
}

const work = new Work({
  done: "There is nothing for you to do at the moment. Thank you.",
  say(text) { find("message").textContent = text; },
  count(votes) { find("progress").textContent = `${votes} done`; },
  enable(canAnswer, canUndo) {
    find("done").disabled = find("reject").disabled = !canAnswer;
    find("undo").disabled = !canUndo;
  },
  clear() { form.reset(); },
  show(shown) {
    task = shown;
    const named = (list, id) => list.find((each) => each.id === id)?.name ?? id;
    const inspecting = Boolean(task.written);
    find("heading").textContent = inspecting ? "Inspect a prompt" : "Write a prompt";
    find("wanted").textContent = `Wanted: ${named(task.scenarios, task.wanted.scenario)}, testing ${named(task.labels, task.wanted.label)}.`;
    find("rules").replaceChildren(...task.rules.map((rule) => make("li", { textContent: rule })));
    find("scenario").replaceChildren(...task.scenarios.map((each) => make("option", { value: each.id, textContent: each.name, title: each.definition, selected: each.id === task.wanted.scenario })));
    find("labels").querySelector(".options").replaceChildren(...task.labels.map((each) => make("label", { title: each.definition },
      make("input", { type: "checkbox", value: each.id, checked: each.id === task.wanted.label }), make("span", { textContent: each.name }))));
    find("points-known").textContent = `Test points: ${task.points.join(", ")}.`;
    find("contributor").hidden = inspecting;
    for (const id of ["facts", "why", "reject"]) find(id).hidden = !inspecting;
    find("done").textContent = inspecting ? "Accept" : "Done";
    if (inspecting) {
      const { prompt, language, labels, scenario, test_points: checks } = task.written;
      find("text").value = prompt;
      const facts = [["Language", language], ["Scenario", named(task.scenarios, scenario)], ["Capabilities", labels.map((id) => named(task.labels, id)).join(", ")],
        ["Checks", checks.map((each) => `${each.name}: ${each.demand}`).join("; ") || "none"]];
      find("facts").replaceChildren(...facts.flatMap(([name, text]) => [make("dt", { textContent: name }), make("dd", { textContent: text, dir: "auto" })]));
    }
    find("text").focus({ preventScroll: true });
    scrollTo(0, 0);
  },
  final() {},
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
find("reject").addEventListener("click", () => {
  const reason = find("reason").value.trim();
  if (!reason) return work.view.say("Say why it is rejected.");
  return work.answer({ accept: false, reason });
});
find("undo").addEventListener("click", () => work.undo());
work.start();
