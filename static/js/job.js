// The job page, live: one stream feeds the header's numbers, the timeline and, at leisure, the tables below.

import { Live } from "./live.js";
import { t } from "./messages.js";
import { now, setNow } from "./times.js";
import { Timeline } from "./timeline/timeline.js";

const TABLES = 1500; // milliseconds: header text and tables are fetched anew at most this often

const page = document.getElementById("job");
const root = document.getElementById("timeline");
let stale = null;

const timeline = new Timeline(root, { now, onSelect: lightRow, onHover: lightRow, onOpen: openPod });

function lightRow(pod) {
  const uid = typeof pod === "string" || pod === null ? pod : pod.uid;
  for (const row of document.querySelectorAll("[data-pod]")) row.classList.toggle("lit", row.dataset.pod === uid);
}

function openPod(pod) {
  const address = new URL(location.href);
  address.searchParams.set("tab", "facts");
  address.searchParams.set("object", pod.uid);
  address.hash = "tabs";
  location.assign(address);
}

function rowHover(event) {
  const row = event.target.closest?.("[data-pod]");
  timeline.light(event.type === "mouseover" && row ? row.dataset.pod : null);
}

// The numbers and the sentence that explains them change together.
function numbers(job, words) {
  const text = { true: `${job.at_least ? "≥ " : ""}${job.true}`, kubectl: job.kubectl, hidden: job.hidden };
  for (const [name, value] of Object.entries(text)) {
    const element = page.querySelector(`[data-number=${name}]`);
    if (element && value !== undefined && element.textContent !== String(value)) element.textContent = value;
  }
  if (words) page.querySelector("[data-story]").textContent = words;
  document.title = document.title.replace(/^(≥ )?\d+/, text.true);
}

// What somebody is reading with the keyboard, or has scrolled aside, is left as it is until the next change.
function refreshPart(part) {
  const held = document.activeElement?.closest(".sideways, details");
  const aside = [...part.querySelectorAll(".sideways")].some((region) => region.scrollLeft > 0);
  if (!aside && !(held && part.contains(held))) window.htmx?.trigger(part, "refresh");
}

function refreshTables() {
  stale ??= setTimeout(() => {
    stale = null;
    if (!document.hidden) for (const id of ["job-header", "tabs"]) refreshPart(document.getElementById(id));
    else document.addEventListener("visibilitychange", refreshTables, { once: true });
  }, TABLES);
}

function apply(delta) {
  if (delta.job) numbers(delta.job, delta.story?.[document.documentElement.lang]);
  timeline.update(delta);
  buttons();
  refreshTables();
}

// The address remembers the open tab, next to the range.
document.body.addEventListener("click", (event) => {
  const tab = event.target.closest?.("[data-tab]")?.dataset.tab;
  if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const address = new URL(location.href);
  address.searchParams.set("tab", tab);
  address.searchParams.delete("object");
  history.replaceState(history.state, "", address);
});

let reloading = null;
function reload() {
  reloading ??= setTimeout(() => {
    reloading = null;
    load();
    refreshTables();
  }, 1000);
}

async function load() {
  const answer = await fetch(root.dataset.url, { headers: { accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) {
    root.querySelector("[data-problem]").textContent = t("The timeline could not be loaded. The tables below hold the same.");
    return;
  }
  const payload = await answer.json();
  setNow(payload.now);
  timeline.update(payload);
  root.dataset.ready = "yes";
  buttons();
}

function buttons() {
  const follow = root.querySelector("[data-act=follow]");
  follow.disabled = !timeline.live;
  follow.setAttribute("aria-pressed", String(timeline.following || (timeline.range === null && timeline.live)));
}

const acts = { in: () => timeline.zoom(1.5), out: () => timeline.zoom(1 / 1.5), fit: () => timeline.fit(), follow: () => timeline.toggleFollow() };
for (const button of root.querySelectorAll("[data-act]")) button.addEventListener("click", acts[button.dataset.act]);
root.addEventListener("rangechange", buttons);
document.addEventListener("mouseover", rowHover);
document.addEventListener("mouseout", rowHover);

await load();
new Live(page.dataset.events, timeline.model.seq, { change: apply, reload });
