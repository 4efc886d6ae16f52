// What all pages share: find an element by its id, make one with its settings and children, read an invite, hear a form, send JSON.
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

// Hears a form that the page was sent with. Its button waits for this: a press before it would be lost.
export function heard(form, listener) {
  form.addEventListener("submit", (event) => { event.preventDefault(); return listener(event); });
  form.querySelector("[type=submit]").disabled = false;
}

// Sends a body as JSON; csrf is the session's token, which all requests but those that begin a session need.
export function post(path, body, csrf) {
  const headers = { "content-type": "application/json", ...(csrf ? { "x-csrf-token": csrf } : {}) };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin" });
}
