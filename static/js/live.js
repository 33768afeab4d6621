// The event stream of a page, and the indicator that says how live it is. A broken stream is announced and heals itself.

import { clock } from "./format.js";
import { t } from "./messages.js";
import { setNow } from "./times.js";

const SILENCE = 40; // seconds without a word: the server speaks every 15
const RETRY = [1, 2, 4, 8, 15]; // seconds before the next attempt

export class Live {
  // `url` may have a query; `since`: the sequence number of what the page shows. handlers: {change(data), reload()}.
  constructor(url, since, handlers) {
    this.url = url;
    this.since = since;
    this.handlers = handlers;
    this.failures = 0;
    this.heardAt = Date.now();
    this.#open();
    setInterval(() => this.#watch(), 5000);
    addEventListener("pagehide", () => this.source?.close());
    addEventListener("pageshow", (event) => event.persisted && this.#open());
  }

  #open() {
    this.source?.close();
    const address = new URL(this.url, location.href);
    address.searchParams.set("since", String(this.since));
    const source = new EventSource(address);
    this.source = source;
    this.heardAt = Date.now();
    source.addEventListener("change", (event) => this.#heard(event, () => this.handlers.change(JSON.parse(event.data))));
    source.addEventListener("reload", (event) => this.#heard(event, () => this.handlers.reload()));
    source.addEventListener("status", (event) => this.#heard(event, () => this.#status(JSON.parse(event.data))));
    source.onerror = () => this.#failed(source);
  }

  #heard(event, act) {
    this.heardAt = Date.now();
    this.failures = 0;
    if (event.lastEventId) this.since = Math.max(this.since, Number(event.lastEventId));
    act();
  }

  #status(status) {
    setNow(status.now);
    if (status.stale_since) show("stale", t("stale since {time}", { time: clock(status.stale_since) }), t("no watcher reports"));
    else if (!status.push) show("slow", t("delayed"), t("the message broker does not answer; looking every second"));
    else show("live", t("live"));
  }

  #failed(source) {
    if (source !== this.source) return;
    source.close();
    show("reconnecting", t("reconnecting"));
    const wait = RETRY[Math.min(this.failures, RETRY.length - 1)];
    this.failures += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#open(), wait * 1000 * (0.8 + 0.4 * Math.random()));
  }

  #watch() {
    if (document.hidden || this.source.readyState === EventSource.CLOSED) return;
    if (Date.now() - this.heardAt > SILENCE * 1000) this.#failed(this.source);
  }
}

export function show(state, words, why = "") {
  const element = document.getElementById("live");
  if (!element || (element.dataset.state === state && element.lastElementChild.textContent === words)) return;
  element.dataset.state = state;
  element.hidden = false;
  element.title = why;
  element.lastElementChild.textContent = words;
}
