// The places of a ranking: pictures are dragged into them by mouse, pen or finger. Two in one place, or one on another, are a tie.
import { make } from "./elements.js";

const FAR = 6;  // pixels that make a press a drag

export class Places {
  // put(file, place) is called with the picture's number and the place it was dropped on.
  constructor(stage, strip, put) {
    this.stage = stage;
    this.strip = strip;
    this.put = put;
    this.drag = null;
    for (const area of [stage, strip]) area.addEventListener("pointerdown", (event) => this.press(event));
    addEventListener("pointermove", (event) => this.move(event));
    addEventListener("pointerup", (event) => this.drop(event));
    addEventListener("pointercancel", () => this.end());
    addEventListener("keydown", (event) => { if (event.key === "Escape") this.end(); });
    stage.addEventListener("click", (event) => {
      if (!this.dragged) return;
      this.dragged = false;  // what ends a drag is no click
      event.preventDefault();
      event.stopPropagation();
    }, true);
  }

  // Draws the places with the pictures in them.
  draw(options, chosen, pictures) {
    this.chosen = chosen;
    this.pictures = pictures;
    this.strip.replaceChildren(...options.map(([value, words]) => {
      const here = chosen.flatMap((place, file) => (place === value ? [this.chip(file)] : []));
      const place = make("li", { title: words }, make("b", { textContent: `${value}` }), ...here);
      place.dataset.place = value;
      return place;
    }));
  }

  chip(file) {
    const picture = this.pictures[file];
    const chip = make("span", { className: "chip", textContent: String.fromCharCode(65 + file) });
    if (picture.tagName === "IMG") {
      const small = picture.cloneNode();
      small.alt = "";
      chip.append(small);
    }
    chip.dataset.file = file;
    return chip;
  }

  press(event) {
    this.dragged = false;
    if (!event.isPrimary || event.button !== 0 || !this.pictures) return;
    const grip = event.target.closest(event.pointerType === "touch" ? "figcaption, .chip" : "figcaption, .view, .chip");
    if (!grip) return;
    const figure = grip.closest("figure");
    const file = figure ? [...this.stage.querySelectorAll("figure")].indexOf(figure) : Number(grip.dataset.file);
    this.drag = { file, x: event.clientX, y: event.clientY, pointer: event.pointerId, ghost: null };
  }

  move(event) {
    const drag = this.drag;
    if (!drag || event.pointerId !== drag.pointer) return;
    if (!drag.ghost && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < FAR) return;
    if (!drag.ghost) {
      drag.ghost = this.chip(drag.file);
      drag.ghost.classList.add("ghost");
      document.body.append(drag.ghost);
      this.dragged = true;
    }
    drag.ghost.style.transform = `translate(${event.clientX}px, ${event.clientY}px)`;
    this.mark(this.target(event, drag.file));
  }

  drop(event) {
    const drag = this.drag;
    if (!drag || event.pointerId !== drag.pointer) return;
    const target = drag.ghost && this.target(event, drag.file);
    this.end();
    if (target) this.put(drag.file, target.place);
  }

  end() {
    this.drag?.ghost?.remove();
    this.drag = null;
    this.mark(null);
  }

  // The place under the pointer: one of the strip, or that of another picture.
  target(event, file) {
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const box = under?.closest("[data-place]");
    if (box) return { element: box, place: Number(box.dataset.place) };
    const figure = under?.closest("figure");
    const other = figure ? [...this.stage.querySelectorAll("figure")].indexOf(figure) : -1;
    return other >= 0 && other !== file && this.chosen[other] ? { element: figure, place: this.chosen[other] } : null;
  }

  mark(target) {
    for (const old of document.querySelectorAll(".over")) old.classList.remove("over");
    target?.element.classList.add("over");
  }
}
