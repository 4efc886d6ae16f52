// Answers wait here, in IndexedDB, until the server has acknowledged them. They survive a reload, a crash and hours offline.
const FIRST_WAIT = 500, LONGEST_WAIT = 15000;
const LATER = [0, 401, 403, 429];  // no reply, the session has ended, too many at once: the answer is kept and sent again

function request(asked) {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

async function open() {
  const asked = indexedDB.open("salon-arena", 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore("answers", { autoIncrement: true });
  return request(asked);
}

async function store(database, mode, work) {
  const transaction = (await database).transaction("answers", mode, { durability: "strict" });
  const result = await work(transaction.objectStore("answers"));
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
  return result;
}

// All answers that wait in this browser, oldest first. Those with "other" were refused as another person's, who may come back.
export function waiting(database = open()) {
  return store(database, "readonly", (answers) => request(answers.getAll()));
}

// The answers that this session can send.
export async function own(database = open()) { return (await waiting(database)).filter(({ other }) => !other); }

export class Outbox {
  // send(body) resolves to the status of the reply, and rejects when there was none. changed(news) hears of the connection, and
  // what became of the answers that this page counts, whichever tab sent them.
  constructor(send, changed) {
    this.send = send;
    this.changed = changed;
    this.database = open();
    this.sending = null;
    this.asked = false;
    this.after = null;  // the key of the last answer of another person
    this.counted = new Set();
    this.tabs = new BroadcastChannel("salon-arena-outbox");
    this.tabs.onmessage = ({ data }) => this.hear(data);
    addEventListener("online", () => this.flush());
  }

  store(mode, work) { return store(this.database, mode, work); }

  // Resolves when the answer is on this machine's disk.
  async add(body) {
    this.counted.add(body.answer_id);
    await this.store("readwrite", (answers) => request(answers.add(body)));
    this.flush();
  }

  waiting() { return waiting(this.database); }
  own() { return own(this.database); }

  // Sends what waits, oldest first, until nothing is left. One tab at a time sends. An answer that is added after the last look
  // at what waits, while that sending is still ending, is sent by another.
  flush() {
    this.asked = true;
    this.sending ??= this.run().finally(() => {
      this.sending = null;
      return this.asked ? this.flush() : undefined;
    });
    return this.sending;
  }

  async run() {
    this.asked = false;
    const work = () => this.sendAll();
    await (navigator.locks ? navigator.locks.request("salon-arena-outbox", work) : work());
  }

  async sendAll() {
    let wait = FIRST_WAIT;
    for (;;) {
      this.asked = false;
      const [key, { other, ...body }] = await this.store("readonly", async (answers) => {
        const found = await request(answers.openCursor(this.after === null ? null : IDBKeyRange.lowerBound(this.after, true)));
        return found ? [found.key, found.value] : [null, {}];
      });
      if (key === null) return;
      let status = 0;
      try { status = await this.send(body); } catch { status = 0; }
      if (LATER.includes(status) || status >= 500) {
        this.changed({ offline: true });
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, wait);
          addEventListener("online", () => { clearTimeout(timer); resolve(); }, { once: true });
        });
        wait = Math.min(wait * 2, LONGEST_WAIT);
        continue;
      }
      const another = status === 404 && "accounts" in document.body.dataset;  // the task of another person, who can come back
      if (another) this.after = key;
      await this.store("readwrite", (answers) => request(another ? answers.put({ ...body, other: true }, key) : answers.delete(key)));
      if (wait > FIRST_WAIT) this.changed({ offline: false });
      wait = FIRST_WAIT;
      const news = { status, body, another };
      this.hear(news);
      this.tabs.postMessage(news);
    }
  }

  hear(news) { if (this.counted.has(news.body.answer_id)) this.changed(news); }
}
