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

// All answers that wait in this browser, oldest first.
export function waiting(database = open()) {
  return store(database, "readonly", (answers) => request(answers.getAll()));
}

export class Outbox {
  // send(body) resolves to the status of the reply, and rejects when there was none.
  constructor(send, changed) {
    this.send = send;
    this.changed = changed;
    this.database = open();
    this.sending = null;
    addEventListener("online", () => this.flush());
  }

  store(mode, work) { return store(this.database, mode, work); }

  // Resolves when the answer is on this machine's disk.
  async add(body) {
    await this.store("readwrite", (answers) => request(answers.add(body)));
    this.flush();
  }

  waiting() { return waiting(this.database); }

  // Sends what waits, oldest first, until nothing is left. One tab at a time sends.
  flush() {
    this.sending ??= this.run().finally(() => { this.sending = null; });
    return this.sending;
  }

  async run() {
    const work = () => this.sendAll();
    await (navigator.locks ? navigator.locks.request("salon-arena-outbox", work) : work());
  }

  async sendAll() {
    let wait = FIRST_WAIT;
    for (;;) {
      const [key, body] = await this.store("readonly", async (answers) => {
        const found = await request(answers.openCursor());
        return found ? [found.key, found.value] : [null, null];
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
      wait = FIRST_WAIT;
      await this.store("readwrite", (answers) => request(answers.delete(key)));
      this.changed({ offline: false, status, body });
    }
  }
}
