// Signing out: nothing may wait to be sent; then the session ends, and the page to join or sign in on is shown.
import { find, invited, post } from "./elements.js";
import { own } from "./outbox.js";
const dialog = find("leaving"), say = (text) => { find("leave-message").textContent = text; };

async function change(path, csrf) {
  const reply = await post(path, {}, csrf);
  if (!reply.ok && reply.status !== 401) throw new Error(`${path} ${reply.status}`);
  return reply.json();
}

find("leave").addEventListener("click", () => { say(""); dialog.showModal(); });
find("stay").addEventListener("click", () => dialog.close());
find("go").addEventListener("click", async () => {
  try {
    const { length } = await own().catch(() => []);
    if (length) return say(`Wait a moment: ${length} ${length === 1 ? "answer" : "answers"} must be sent first.`);
    const { csrf } = await change("/session");
    await change("/session/end", csrf);
    if (location.pathname === "/") location.reload(); else location.replace("/");  // an invite behind the # stays
  } catch {
    say("No connection. Try again.");
  }
});
// Keys that answer a task do nothing while the question is open.
addEventListener("keydown", (event) => { if (dialog.open) event.stopImmediatePropagation(); }, { capture: true });
if (invited()) find("invited").hidden = false;
