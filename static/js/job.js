// The job page, live: one stream feeds the header's numbers, the timeline and, at leisure, the tables below.

import { number } from "./format.js";
import { Live } from "./live.js";
import { t } from "./messages.js";
import { now, setNow } from "./times.js";
import { Timeline } from "./timeline/timeline.js";

const TABLES = 1500; // milliseconds: header text and tables are fetched anew at most this often
const SHARE = 8; // … and they may take no more than such a part of the time: those of a large job cost the server a second

const page = document.getElementById("job");
const root = document.getElementById("timeline");
let stale = null;

const timeline = new Timeline(root, { now, onSelect: lightRow, onHover: lightRow, onOpen: openPod, fetchRows, fetchSpans });

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
  const text = { true: `${job.at_least ? "≥ " : ""}${number(job.true)}`, kubectl: number(job.kubectl), hidden: number(job.hidden) };
  for (const [name, value] of Object.entries(text)) {
    const element = page.querySelector(`[data-number=${name}]`);
    if (element && element.textContent !== value) element.textContent = value;
  }
  if (words) page.querySelector("[data-story]").textContent = words;
  document.title = document.title.replace(/^.*?(?= · )/, text.true);
}

// What somebody is reading with the keyboard, or has scrolled aside, is left as it is until the next change.
function refreshPart(part) {
  const held = document.activeElement?.closest(".sideways, details");
  const aside = [...part.querySelectorAll(".sideways")].some((region) => region.scrollLeft > 0);
  if (!aside && !(held && part.contains(held))) window.htmx?.trigger(part, "refresh");
}

let pause = TABLES;
let asked = 0;
document.body.addEventListener("htmx:beforeRequest", () => (asked = performance.now()));
document.body.addEventListener("htmx:afterRequest", () => (pause = Math.max(TABLES, SHARE * (performance.now() - asked))));

function refreshTables() {
  stale ??= setTimeout(() => {
    stale = null;
    if (!document.hidden) for (const id of ["job-header", "tabs"]) refreshPart(document.getElementById(id));
    else document.addEventListener("visibilitychange", refreshTables, { once: true });
  }, pause);
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
  for (const name of ["object", "at", "before", "until"]) address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
});

// On a phone the links of the tabs are scrolled sideways: the open one is to be seen.
function showOpenTab() {
  const open = document.querySelector("#tabs .tab-links [aria-current]");
  const links = open?.parentElement;
  if (links) links.scrollLeft = open.offsetLeft - links.offsetLeft - (links.clientWidth - open.offsetWidth) / 2;
}
showOpenTab();
document.body.addEventListener("htmx:afterSettle", showOpenTab);

// So it does the moment up to which the kubectl tables are shown.
document.body.addEventListener("htmx:afterSettle", () => {
  const slider = document.getElementById("until");
  if (!slider) return;
  const address = new URL(location.href);
  if (slider.dataset.chosen) address.searchParams.set("until", slider.dataset.chosen);
  else address.searchParams.delete("until");
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

function question(parameters) {
  const address = new URL(root.dataset.url, location.href);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, String(value));
  return address;
}

async function ask(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

// Rows of a large job. A range and a width tell the server what would be narrower than a pixel.
function fetchRows(keys, { start, end, width }) {
  return ask(question({ rows: keys.join(","), from: start, to: end, width: Math.max(width, 50) }));
}

function fetchSpans({ start, end, width }) {
  return ask(question({ lanes: 1, from: start, to: end, width: Math.max(width, 50) }));
}

async function load() {
  const { range, order: first } = timeline;
  const zoomed = () => question({ order: first, from: range.start, to: range.end, width: Math.max(50, root.clientWidth - 150) });
  // The page has begun to fetch this answer before the scripts were here.
  const payload = await ask(range ? zoomed() : root.dataset.first).catch(() => null);
  root.querySelector("[data-problem]").textContent = payload
    ? ""
    : t("The timeline could not be loaded. The tables below hold the same.");
  if (!payload) return;
  setNow(payload.now);
  numbers(payload.job, payload.story?.[document.documentElement.lang]);
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

const order = root.querySelector("[data-order]");
const finder = root.querySelector("[data-find]");
order.value = timeline.order;
finder.value = timeline.query;
order.addEventListener("change", () => timeline.setOrder(order.value));
finder.addEventListener("input", () => {
  const found = timeline.find(finder.value);
  root.querySelector("[data-none]").hidden = found;
});
finder.addEventListener("keydown", (event) => {
  if (event.key === "Escape") finder.value = "";
  if (event.key === "Escape") timeline.find("");
  if (event.key === "Enter") root.querySelector("[data-scroll] canvas").focus();
});
document.addEventListener("mouseover", rowHover);
document.addEventListener("mouseout", rowHover);

globalThis.restartscope = { timeline }; // for the browser's console, and the bench

await load();
// The parts of a large job that need all its pods: after the first picture, so that they do not hold it up.
requestAnimationFrame(() => {
  for (const part of document.querySelectorAll("[data-later]")) window.htmx?.trigger(part, "refresh");
});
new Live(page.dataset.events, timeline.model.seq, { change: apply, reload });
