// What every page of tasks does with elements: find one by its id, and make one with its settings and children.
export const find = (id) => document.getElementById(id);

// The code of an invite behind the # of the address, which browsers do not send; empty without one, or with one that was cut.
export function invited() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

export function make(name, settings, ...children) {
  const made = Object.assign(document.createElement(name), settings);
  made.append(...children);
  return made;
}
