// A second picture over those that are compared, as far as a slider says: the source of an edit over A and B, else B over A.
import { find } from "./elements.js";

export class Overlay {
  constructor() {
    this.copies = [];
    this.part = find("part");
    this.held = false;
    this.part.addEventListener("input", () => this.draw());
    const hold = find("hold");
    hold.addEventListener("pointerdown", () => this.hold(true));
    for (const name of ["pointerup", "pointercancel", "pointerleave", "blur"]) hold.addEventListener(name, () => this.hold(false));
    hold.addEventListener("keydown", (event) => { if (event.key === " " || event.key === "Enter") this.hold(true); });
    addEventListener("keyup", () => this.hold(false));
    addEventListener("blur", () => this.hold(false));
  }

  // elements: A, B and, where there is one, the source; frames: those of A and B. Videos are not laid over each other.
  lay([a, b, source], frames) {
    const under = source ? frames : frames.slice(0, 1), over = source ?? b;
    const pictures = over.tagName === "IMG";
    find("overlay").hidden = !pictures;
    this.copies = pictures ? under.map(() => over.cloneNode()) : [];
    this.copies.forEach((copy, place) => {
      copy.alt = "";
      copy.className = "laid";
      copy.draggable = false;
      under[place].append(copy);
    });
    const name = source ? "the source" : "B", below = source ? "A and B" : "A";
    find("hold").firstChild.textContent = `Hold: ${name} over ${below} `;
    this.part.setAttribute("aria-label", `How much of ${name} is laid over ${below}`);
    this.part.value = "0";
    this.hold(false);
  }

  hold(held) {
    this.held = held;
    this.draw();
  }

  draw() {
    const part = this.held ? 100 : Number(this.part.value);
    for (const copy of this.copies) copy.style.clipPath = `inset(0 ${100 - part}% 0 0)`;
  }
}
