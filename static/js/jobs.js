// The job list, live: values change where they stand; what would move rows is announced, not done.

import { completed } from "./complete.js";
import { number } from "./format.js";
import { Live } from "./live.js";
import { t } from "./messages.js";

const TOTALS = 4000; // milliseconds between two askings for the totals: they sum over all that is filtered
const FACETS = 10000; // milliseconds between two askings for the facets
const REFRESH = 1000; // milliseconds: chips and strips of changed rows are fetched at most this often

const list = document.getElementById("jobs");
const notice = document.getElementById("news");
const changed = new Set(); // ids of rows to fetch
const news = new Set(); // UIDs of jobs that are not where they belong
let timer = null;
let totalsAt = 0;
let facetsTimer = null;

const rowOf = (id) => document.getElementById(`job-${id}`);

function change(job) {
  facetsTimer ??= setTimeout(refreshFacets, FACETS);
  const row = rowOf(job.id);
  if (!row) {
    announce(job);
    return;
  }
  if (Number(row.dataset.seq) >= job.seq) return;
  row.dataset.seq = String(job.seq);
  const moved = (job.last_restart ?? 0) > Number(row.dataset.last) + 1e-5;
  if (moved && row.previousElementSibling && list.dataset.sort === "recent") announce(job);
  put(row, "true", `${job.at_least ? "≥ " : ""}${number(job.true)}`);
  put(row, "kubectl", number(job.kubectl));
  put(row, "hidden", number(job.hidden));
  put(row, "podgroup", job.podgroup);
  changed.add(job.id);
  timer ??= setTimeout(refresh, REFRESH);
}

function put(row, name, value) {
  const cell = row.querySelector(`[data-value=${name}]`);
  if (!cell || cell.textContent === String(value)) return;
  cell.textContent = value;
  cell.classList.remove("changed");
  void cell.offsetWidth; // starts the animation anew
  cell.classList.add("changed");
}

function announce(job) {
  news.add(job.uid);
  const text = news.size === 1 ? t("1 job changed, show") : t("{n} jobs changed, show", { n: number(news.size) });
  notice.textContent = text;
  notice.hidden = false;
}

function rowsAddress(ids, totals) {
  const address = new URL(list.dataset.events, location.href); // the same filter
  address.pathname = list.dataset.rows;
  address.searchParams.set("ids", ids.join(","));
  address.searchParams.set("clusters", list.dataset.several);
  if (totals) address.searchParams.set("totals", "1");
  return address;
}

// Counts of the facets, but not while somebody points at them or walks through them.
function refreshFacets() {
  facetsTimer = null;
  const facets = document.getElementById("facets");
  if (!facets || document.hidden || facets.matches(":hover, :focus-within")) return;
  window.htmx?.trigger(facets, "refresh");
}

// What the reader opened or closed stays so.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target?.id !== "facets") return;
  const open = new Map([...document.querySelectorAll("[data-facet]")].map((facet) => [facet.dataset.facet, facet.open]));
  document.body.addEventListener(
    "htmx:afterSwap",
    () => {
      for (const facet of document.querySelectorAll("[data-facet]")) {
        if (open.has(facet.dataset.facet)) facet.open = open.get(facet.dataset.facet);
      }
    },
    { once: true },
  );
});

async function refresh() {
  const ids = [...changed].slice(0, 50);
  changed.clear();
  const totals = Date.now() - totalsAt >= TOTALS;
  if (totals) totalsAt = Date.now();
  const answer = await fetch(rowsAddress(ids, totals)).catch(() => null);
  // What was left out now is fetched later, also when nothing changes any more.
  timer = null;
  if (changed.size || !totals) timer = setTimeout(refresh, changed.size ? REFRESH : TOTALS);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const sums = page.getElementById("sums");
  if (sums) document.getElementById("sums").replaceWith(document.adoptNode(sums));
  for (const fresh of page.querySelectorAll("tr[data-seq]")) {
    const row = document.getElementById(fresh.id);
    if (!row || row.contains(document.activeElement)) continue;
    row.replaceWith(document.adoptNode(fresh));
    window.htmx?.process(fresh);
    fresh.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true, detail: { elt: fresh } }));
  }
}

notice.addEventListener("click", () => location.assign(notice.dataset.href));
function many() {
  notice.textContent = t("Many jobs changed, show");
  notice.hidden = false;
}

completed(document.getElementById("q"));
const address = new URL(list.dataset.events, location.href);
address.searchParams.set("ids", list.dataset.ids);
new Live(address, Number(list.dataset.seq), { change: (data) => data.jobs.forEach(change), reload: many });
