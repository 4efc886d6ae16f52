// The page on which a person agrees and joins. An invite may come behind the # of the address, which browsers do not send.
import { find, heard, invited, post } from "./elements.js";
const form = find("join"), message = find("message");
const WORDS = {
  invite: "This invite is not valid, or was used already.",
  too_many: "Too many people joined from your network. Try again in an hour.",
  consent: "The text has changed. Load the page again.",
};
const invite = find("invite");
const code = invited() || null;
if (code && invite) invite.value = code;
history.replaceState(null, "", location.pathname);

heard(form, async () => {
  const body = { consent: form.dataset.version, occupation: form.elements.occupation.value || null, invite: invite ? invite.value.trim() : code };
  message.textContent = "";
  try {
    const reply = await post("/session", body);
    if (reply.ok) return location.replace("/");
    const { error } = await reply.json();
    message.textContent = WORDS[error] ?? "This did not work. Try again.";
  } catch {
    message.textContent = "No connection. Try again.";
  }
});
