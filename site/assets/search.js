/* The theme asks for the search index when a page opens. Here it waits until somebody is about to search. */
{
  const { open, send } = XMLHttpRequest.prototype;
  const index = new WeakSet();
  const wanted = new Promise((resolve) => {
    addEventListener("focusin", (event) => event.target.matches(".md-search__input") && resolve());
  });
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    if (String(url).endsWith("search/search_index.json")) index.add(this);
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (index.has(this)) wanted.then(() => send.apply(this, body));
    else send.apply(this, body);
  };
}

/* The theme's search is a worker, which a page opened as a file cannot start. This runs it in a hidden frame instead.
   It does nothing over http. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inner = (this.inner = frame.contentWindow);
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = () => {};
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.inner.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
