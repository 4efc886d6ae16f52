// Sign-in with a password, or the way back from a provider. The code of an invite is kept in this tab until then.
import { find, heard, invited, post } from "./elements.js";
const main = document.querySelector("main"), message = find("message");
const WORDS = {
  wrong: "Name or password is wrong.", too_many: "Too many attempts. Try again later.", state: "This sign-in was not begun here. Try again.",
  invite: "A first sign-in needs the link of an invite that was not used.", provider: "The provider's answer does not hold. Try again.",
  denied: "Your organisation did not sign you in. Try again.",
};
if (invited()) sessionStorage.setItem("invite", invited());
history.replaceState(null, "", location.pathname + location.search);

const say = (error) => { message.textContent = WORDS[error] ?? "This did not work. Try again."; };

async function signIn(path, body) {
  try {
    const reply = await post(path, body);
    if (reply.ok) return location.replace("/");
    say((await reply.json()).error);
  } catch {
    message.textContent = "No connection. Try again.";
  }
}

if (find("login")) heard(find("login"), () => signIn("/login", { name: find("name").value, password: find("password").value }));
const { code, state, error } = main.dataset;
if (error) say(error);
if (code && state) {
  history.replaceState(null, "", "/login");
  signIn("/oidc/finish", { code, state, invite: sessionStorage.getItem("invite") });
}
