// What every page of tasks does: tasks come in advance, answers go to the outbox and from there to the server, the last can be undone.
import { post } from "./elements.js";
import { loadMedia } from "./media.js";
import { Outbox } from "./outbox.js";

const RETRY = 2000, UNDO = 10000, FEW = 2, LATER = 1500;
const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

export class Work {
  // view: clear(), show(task, media), say(text), count(answered, reply), enable(canAnswer, canUndo), final(task), done (a sentence).
  constructor(view) {
    this.view = view;
    this.csrf = null;
    this.tasks = [];
    this.shown = this.last = this.asking = this.reply = null;
    this.votes = 0;
    this.turn = 0;
    this.busy = false;
    this.answeredHere = new Set();
    this.loaded = new Map();
    this.outbox = new Outbox((body) => this.send(body), (news) => this.heard(news));
  }

  async start() {
    this.count();
    // Answers of an earlier visit first: what they answer must not be shown again.
    for (const waiting of await this.outbox.waiting().catch(() => [])) {
      if (waiting.choice === "undo") this.answeredHere.delete(waiting.assignment); else this.answeredHere.add(waiting.assignment);
      this.votes += waiting.choice === "undo" ? -1 : 1;
      this.outbox.counted.add(waiting.answer_id);
    }
    await this.refill();
    this.outbox.flush();
    await this.next();
  }

  async join() {
    const first = this.csrf === null, reply = await post("/session", {}, this.csrf);
    if (reply.status === 401 || reply.status === 403) {
      location.reload();  // to the page on which one joins or signs in
      throw new Error("the session has ended");
    }
    if (!reply.ok) throw new Error(`session ${reply.status}`);
    const { csrf, answered } = await reply.json();
    this.csrf = csrf;
    if (first) { this.votes += answered; this.count(); }  // from then on the page counts for itself
  }

  async send(body) {
    if (!this.csrf) await this.join();
    const reply = await post("/answers", body, this.csrf);
    if (reply.status === 401 || reply.status === 403) this.csrf = "";
    return reply.status;
  }

  heard({ offline, status, body, another }) {
    if (offline) {
      this.view.say("No connection. Your answers are kept here and sent later.");
    } else if (status >= 400) {
      if (another) this.view.say("An answer of another person waits here until they sign in again.");
      else this.view.say(body.choice === "undo" ? "Too late to undo: the answer is final." : "This task was answered elsewhere or was closed.");
      if (body.choice === "undo") this.drop(body.assignment); else this.votes -= 1;
      this.count();
    } else {
      if (this.shown) this.view.say("");
      if (!body || body.choice === "undo") return;
      if (this.before && this.before !== body.assignment) this.view.final(this.before);
      this.before = body.assignment;
      setTimeout(() => this.final(body), UNDO);
    }
  }

  // An answer can no longer be undone.
  final({ answer_id: answer, assignment }) {
    if (this.last?.answer !== answer) return;
    this.last = null;
    this.enable();
    setTimeout(() => this.view.final(assignment), LATER);
  }

  // A task that was shown again although its answer is final.
  drop(assignment) {
    this.answeredHere.add(assignment);
    this.tasks = this.tasks.filter((task) => task.assignment !== assignment);
    this.votes += 1;
    if (this.shown?.assignment === assignment) this.next();
  }

  count() { this.view.count(this.votes, this.reply); }
  enable() { this.view.enable(!this.busy && Boolean(this.shown), !this.busy && Boolean(this.last)); }

  load(task) {
    if (!this.loaded.has(task.assignment)) {
      const ready = loadMedia(task);
      ready.catch(() => this.loaded.delete(task.assignment));
      this.loaded.set(task.assignment, ready);
    }
    return this.loaded.get(task.assignment);
  }

  // Asks for tasks: keeps the order, leaves out what was answered here and may not have reached the server.
  refill() {
    this.asking ??= this.fill().catch(() => false).finally(() => { this.asking = null; });
    return this.asking;
  }

  async fill() {
    if (!this.csrf) await this.join();
    const reply = await post("/tasks", {}, this.csrf);
    if (reply.status === 401 || reply.status === 403) this.csrf = "";
    if (!reply.ok) return false;
    const found = this.reply = await reply.json();
    const open = found.tasks.filter((task) => !this.answeredHere.has(task.assignment));
    const known = new Set(open.map((task) => task.assignment));
    const kept = this.tasks.filter((task) => known.has(task.assignment) || task.undone);
    this.tasks = [...kept, ...open.filter((task) => !kept.some((each) => each.assignment === task.assignment))];
    if (!this.last && found.last) this.last = { task: found.last.task, answer: found.last.answer_id };
    this.count();
    this.tasks.forEach((task) => this.load(task).catch(() => {}));
    return true;
  }

  // Shows the first task as soon as all its files are there. A later call, such as after an undo, takes over from an earlier one.
  async next() {
    const mine = ++this.turn;
    this.shown = null;
    this.view.clear();
    this.enable();
    let waited = mine === 1;  // the page begins with “Loading…”
    while (mine === this.turn) {
      if (!this.tasks.length) {
        const reached = await this.refill();
        if (mine !== this.turn) return;
        if (!this.tasks.length) {
          const waiting = await this.outbox.own();
          if (mine !== this.turn) return;
          if (reached && !this.reply.tasks.length && !waiting.length) {
            document.getElementById("prompt")?.replaceChildren();
            return this.view.say(this.ended());
          }
          this.view.say(reached ? "Loading…" : "No connection. Waiting…");
          waited = true;
          await pause(RETRY);
          continue;
        }
      }
      const task = this.tasks[0];
      let media = null;
      try { media = await this.load(task); } catch { media = null; }
      if (mine !== this.turn) return;
      if (this.tasks[0] !== task) continue;
      if (!media) {
        this.tasks = this.tasks.filter((each) => each !== task);
        if (!(await this.refill())) this.tasks.unshift(task);
        await pause(RETRY / 4);
        continue;
      }
      this.view.show(task, media);
      if (waited) this.view.say("");  // what the server said of an answer stays
      this.shown = task;
      this.shownAt = performance.now();
      return this.enable();
    }
  }

  ended() {
    const { state, until } = this.reply;
    if (state === "ended") return "This study has ended. Thank you.";
    if (state !== "suspended") return this.view.done;
    const day = new Date(until / 1000).toLocaleDateString(undefined, { dateStyle: "long" });
    return `Your answers differed too often from those of the panel. You can go on after ${day}, with a new test.`;
  }

  body(task, choice, supersedes) {
    const elapsed = choice === "undo" ? 0 : Math.round(performance.now() - this.shownAt);
    return { answer_id: crypto.randomUUID(), assignment: task.assignment, choice, elapsed_ms: elapsed, supersedes: supersedes ?? null };
  }

  // Whether the answer is on this machine's disk; until then nothing else can be answered.
  async keep(answer) {
    this.busy = true;
    this.enable();
    try {
      await this.outbox.add(answer);
      return true;
    } catch {
      this.view.say("This browser cannot keep your answer. Allow it to store data for this page.");
      return false;
    } finally {
      this.busy = false;
      this.enable();
    }
  }

  async answer(choice) {
    if (this.busy || !this.shown) return;
    const task = this.shown, sent = this.body(task, choice, task.supersedes);
    if (!(await this.keep(sent))) return;
    this.answeredHere.add(task.assignment);
    this.tasks = this.tasks.filter((each) => each.assignment !== task.assignment);
    if (this.last) this.loaded.delete(this.last.task.assignment);
    this.last = { task, answer: sent.answer_id };
    this.votes += 1;
    this.count();
    this.outbox.flush().then(() => { if (this.tasks.length <= FEW) this.refill(); });
    await this.next();
  }

  async undo() {
    if (this.busy || !this.last) return;
    const { task, answer: before } = this.last, sent = this.body(task, "undo", before);
    if (!(await this.keep(sent))) return;
    this.answeredHere.delete(task.assignment);
    this.last = null;
    this.votes = Math.max(0, this.votes - 1);
    this.count();
    this.tasks = [{ ...task, supersedes: sent.answer_id, undone: true }, ...this.tasks];
    await this.next();
  }
}
