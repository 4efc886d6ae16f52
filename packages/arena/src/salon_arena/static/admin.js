// The admin's page: every action is confirmed where it cannot be taken back, sent as JSON, and the page loaded again.
import { find, heard, post } from "./elements.js";
const say = (text) => { find("message").textContent = text; };
const WORDS = { 401: "Join again: the session has ended.", 403: "Only admins may do this.", 404: "There is no such rater." };

async function act(action) {
  try {
    const session = await post("/session", {});
    const { csrf } = await session.json();
    const reply = await post("/admin/actions", action, csrf);
    if (!reply.ok) return say(WORDS[reply.status] ?? "This did not work. Try again.");
    const { invite } = await reply.json();
    if (invite) find("link").textContent = `${location.origin}/#${invite}`; else location.reload();
  } catch {
    say("No connection. Try again.");
  }
}

function sure(words) {
  find("sure-words").textContent = words;
  find("sure").returnValue = "";
  find("sure").showModal();
  return new Promise((resolve) => { find("sure").addEventListener("close", () => resolve(find("sure").returnValue === "yes"), { once: true }); });
}
find("yes").addEventListener("click", () => find("sure").close("yes"));
find("no").addEventListener("click", () => find("sure").close("no"));

document.querySelector(".people").addEventListener("click", async ({ target }) => {
  const { action, rater, days } = target.dataset;
  if (!action) return;
  if (action === "forget" && !(await sure(`Erase what is kept of ${rater}? Their answers stay, under a number that leads to no person.`))) return;
  act({ action, rater, ...(days ? { days: Number(days) } : {}) });
});
heard(find("invite"), () => act({ action: "invite", role: find("role").value }));
