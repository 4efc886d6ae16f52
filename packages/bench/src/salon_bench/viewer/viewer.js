// Keys, and pages of runs that go on: they ask for themselves again. Nothing here reads what strangers wrote but as text.
const cards = () => [...document.querySelectorAll(".card .open, tbody a")];
const typing = () => /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
const across = (links) => {
  const top = links[0].getBoundingClientRect().top;
  const below = links.findIndex((link) => Math.abs(link.getBoundingClientRect().top - top) > 5);
  return below > 0 ? below : links.length;
};
const turn = (relation) => document.querySelector(`a[rel=${relation}]`)?.click();
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (typing()) document.activeElement.blur();
    else document.querySelector("header nav li:last-child a")?.click();
    return;
  }
  if (typing()) return;
  const search = document.getElementById("search");
  if (event.key === "/" && search) { event.preventDefault(); search.focus(); return; }
  if (event.key === "[") return turn("prev");
  if (event.key === "]") return turn("next");
  const links = cards();
  if (/^[1-9]$/.test(event.key)) { links[event.key - 1]?.click(); return; }
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? (links.length ? { ArrowDown: across(links), ArrowUp: -across(links) }[event.key] : undefined);
  if (step === undefined) return;
  if (!links.length) { if (event.key === "ArrowRight") turn("next"); if (event.key === "ArrowLeft") turn("prev"); return; }
  event.preventDefault();
  const now = links.indexOf(document.activeElement);
  links[now < 0 ? 0 : Math.max(0, Math.min(links.length - 1, now + step))].focus();
});
const fresh = async () => {
  if (!document.documentElement.hasAttribute("data-live")) return;
  const chosen = [...document.querySelectorAll("input[type=checkbox]")].some((box) => box.checked !== box.defaultChecked);
  if (!typing() && !chosen) {
    try {
      const reply = await fetch(location.href);
      if (!reply.ok) throw new Error(`${reply.status}`);
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const at = cards().indexOf(document.activeElement);
      document.getElementById("content").replaceWith(document.adoptNode(page.getElementById("content")));
      if (at >= 0) cards()[at]?.focus();
      if (!page.documentElement.hasAttribute("data-live")) document.documentElement.removeAttribute("data-live");
    } catch { /* the page stays as it is, and asks again */ }
  }
  setTimeout(fresh, 2000);
};
setTimeout(fresh, 2000);
