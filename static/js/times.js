// Server-rendered times, told in the reader's zone: <time data-form="clock|ago|age" datetime="… UTC">. UTC stays in the title.

import { clock, duration, utc } from "./format.js";
import { t } from "./messages.js";

const EVERY = 1000; // milliseconds between updates of relative times

let skew = 0; // seconds to add to this machine's clock to get the server's

export const now = () => Date.now() / 1000 + skew;

// The server's clock is the one that counts: what it says now, in epoch seconds.
export function setNow(epoch) {
  skew = epoch - Date.now() / 1000;
}

export function localise(root = document) {
  for (const element of root.querySelectorAll("time[data-form]")) tell(element);
}

function tell(element) {
  const epoch = Date.parse(element.dateTime) / 1000;
  if (Number.isNaN(epoch)) return;
  const form = element.dataset.form;
  if (!element.title) element.title = form === "clock" ? utc(epoch) : `${clock(epoch)} · ${utc(epoch)}`;
  const text = words(form, epoch, element);
  if (element.textContent !== text) element.textContent = text;
}

function words(form, epoch, element) {
  if (form === "ago") return t("{duration} ago", { duration: coarse(now() - epoch) });
  if (form === "age") return duration(Math.max(0, now() - epoch));
  return clock(epoch, { digits: form === "exact" ? 3 : 0 });
}

const coarse = (seconds) => duration(Math.max(1, Math.round(seconds)));

export function keepCurrent() {
  localise();
  setInterval(() => {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("time[data-form=ago], time[data-form=age]")) tell(element);
  }, EVERY);
  document.addEventListener("visibilitychange", () => localise());
  document.body.addEventListener("htmx:load", (event) => localise(event.detail.elt));
}
