// The files of a task, ready to be shown: pictures decoded, videos whole in memory, so that every frame can be reached.
async function picture(address) {
  const image = new Image();
  image.src = address;
  image.draggable = false;
  await image.decode();
  return image;
}

async function video(address) {
  const reply = await fetch(address);
  if (!reply.ok) throw new Error(`${address} ${reply.status}`);
  const made = document.createElement("video");
  made.muted = made.playsInline = true;
  made.preload = "auto";
  made.src = URL.createObjectURL(await reply.blob());
  await new Promise((resolve, reject) => {
    made.onloadeddata = resolve;
    made.onerror = () => reject(new Error("video"));
  });
  return made;
}

async function frames(task) {
  const reply = await fetch(`/media/${task.assignment}/frames`);
  if (!reply.ok) throw new Error(`frames ${reply.status}`);
  return (await reply.json()).frames;
}

// Resolves to { elements, frames }; rejects when a file cannot be had.
export async function loadMedia(task) {
  const isVideo = task.media_kind === "video";
  const times = isVideo ? await frames(task) : [];
  const elements = await Promise.all(task.media.map(isVideo ? video : picture));
  for (const one of isVideo ? elements : []) {  // whoever is heard silences the others
    one.addEventListener("volumechange", () => one.muted || elements.forEach((other) => { if (other !== one) other.muted = true; }));
  }
  return { elements, frames: times };
}
