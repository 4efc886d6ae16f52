// Several videos in step: played together, and stepped frame by frame through the time stamps of all of them.
import { find, make } from "./elements.js";

const APART = 0.15, HARDEST = 0.1;

function seeked(video, time) {
  return new Promise((resolve) => {
    video.addEventListener("seeked", resolve, { once: true });
    video.currentTime = time;
  });
}

export class Player {
  // The controls are those of video_tools.html.jinja; `hear` is there where raters hear the videos.
  constructor() {
    const controls = Object.fromEntries(["play", "back", "on", "slider", "time", "speed", "hear"].map((id) => [id, find(id)]));
    this.controls = controls;
    this.videos = [];
    this.playing = false;
    controls.play.addEventListener("click", () => this.toggle());
    controls.back.addEventListener("click", () => this.step(-1));
    controls.on.addEventListener("click", () => this.step(1));
    controls.slider.addEventListener("input", () => this.jump(Number(controls.slider.value)));
  }

  // frames: per video, when each frame is shown, in seconds from the first; names: of the buttons by which each is heard.
  show(videos, frames, names = ["Sound"]) {
    this.pause();
    this.controls.hear?.replaceChildren(...videos.map((video, number) =>
      make("button", { type: "button", textContent: names[number], ariaPressed: "false", onclick: () => this.hear(number) })));
    this.videos = videos;
    this.frames = frames;
    this.times = [...new Set(frames.flat())].sort((one, other) => one - other);
    this.place = 0;
    this.controls.slider.max = String(this.times.length - 1);
    this.label();
    if (videos.length && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  // Lets one video be heard, or none when that one was.
  hear(number) {
    const loud = this.videos[number]?.muted === false ? null : number;
    this.videos.forEach((video, place) => { video.muted = place !== loud; });
    [...(this.controls.hear?.children ?? [])].forEach((button, place) => { button.ariaPressed = String(place === loud); });
  }

  get speed() { return Number(this.controls.speed.value); }

  label() {
    this.controls.slider.value = String(this.place);
    this.controls.time.textContent = `${this.times[this.place]?.toFixed(3) ?? "0.000"} s`;
    this.controls.play.textContent = this.playing ? "Pause" : "Play";
  }

  toggle() { return this.playing ? this.pause() : this.play(); }

  pause() {
    this.playing = false;
    this.videos.forEach((video) => { video.pause(); });
    if (this.videos.length) {
      this.place = this.placeAt(this.videos[0].currentTime);
      this.label();
      this.settle();
    }
  }

  async play() {
    if (this.place >= this.times.length - 1) this.place = 0;
    this.playing = true;
    const mine = this.videos, start = this.times[this.place];
    this.label();
    await Promise.all(mine.map((video) => seeked(video, Math.min(start, video.duration))));
    if (!this.playing || mine !== this.videos) return;
    mine.forEach((video) => { video.playbackRate = this.speed; });
    await Promise.all(mine.map((video) => video.play().catch(() => {})));
    const watch = () => {
      if (!this.playing || mine !== this.videos) return;
      this.follow();
      requestAnimationFrame(watch);
    };
    watch();
  }

  // Keeps the others with the longest video; at its end all begin again.
  follow() {
    const leader = this.videos.reduce((one, other) => (other.duration > one.duration ? other : one));
    if (leader.ended) {
      this.place = 0;
      this.play();
      return;
    }
    leader.playbackRate = this.speed;
    for (const video of this.videos) {
      if (video === leader || video.ended) continue;
      const late = leader.currentTime - video.currentTime;
      if (Math.abs(late) > APART) video.currentTime = leader.currentTime;
      video.playbackRate = this.speed * (1 + Math.max(-HARDEST, Math.min(HARDEST, late * 4)));
    }
    this.place = this.placeAt(leader.currentTime);
    this.label();
  }

  placeAt(time) {
    let place = 0;
    while (place + 1 < this.times.length && this.times[place + 1] <= time + 1e-4) place += 1;
    return place;
  }

  step(by) { return this.jump(this.place + by); }

  jump(place) {
    this.playing = false;
    this.videos.forEach((video) => { video.pause(); });
    this.place = Math.max(0, Math.min(this.times.length - 1, place));
    this.label();
    return this.settle();
  }

  // Which frame of a video is shown at the present time.
  frame(number) {
    const times = this.frames[number];
    let at = 0;
    while (at + 1 < times.length && times[at + 1] <= this.times[this.place] + 1e-6) at += 1;
    return at;
  }

  // Seeks every video to the middle of its frame, where no rounding of the player can show another one.
  settle() {
    this.settled = Promise.all(this.videos.map((video, number) => {
      const times = this.frames[number], at = this.frame(number);
      const next = times[at + 1] ?? times[at] + (times.length > 1 ? times[at] - times[at - 1] : 0.04);
      return seeked(video, Math.min((times[at] + next) / 2, video.duration));
    }));
    return this.settled;
  }
}
