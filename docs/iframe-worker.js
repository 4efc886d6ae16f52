"use strict";
// The search runs in a worker, and a browser starts none for pages that were opened from a folder: there its script runs
// in a hidden frame of the page. The site has no other script of its own.
if (location.protocol === "file:") {
  const sent = (target, data) => {
    const message = new MessageEvent("message", { data: structuredClone(data) }); // copied, as a worker's messages are
    setTimeout(() => target.dispatchEvent(message));
  };
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => sent(this, data);
      this.addEventListener("message", (message) => this.onmessage?.(message));
      this.loaded = new Promise((resolve) => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        frame.contentDocument.documentElement.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => sent(this.inner, data));
    }

    terminate() {}
  };
}
