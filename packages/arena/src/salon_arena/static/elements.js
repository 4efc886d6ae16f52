// What every page of tasks does with elements: find one by its id, and make one with its settings and children.
export const find = (id) => document.getElementById(id);

export function make(name, settings, ...children) {
  const made = Object.assign(document.createElement(name), settings);
  made.append(...children);
  return made;
}
