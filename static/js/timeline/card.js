// The hover card: what is under the pointer, in words. Built of text nodes only; nothing of the cluster becomes markup.

import { clock, exitText, number, utc } from "../format.js";
import { t } from "../messages.js";
import { lasted, lastedNote, measured, spanLength } from "./lengths.js";

const EDGE = 8;
// Why a recreation is no restart (jobs/words.py says it in the table).
const EXCLUDED = {
  suspended: "the job was suspended",
  scaled: "the job was scaled",
  unwatched: "its spec was changed while nobody watched",
};

export class Card {
  constructor(element) {
    this.element = element;
    this.shown = null;
  }

  hide() {
    this.element.hidden = true;
    this.shown = null;
  }

  // `found` from hit.js; x and y in pixels of the timeline.
  show(found, horizon, x, y) {
    const key = found.pod ?? found.heap ?? found.span ?? `${found.cell.row}/${found.cell.start}`;
    if (this.shown !== key) {
      this.element.replaceChildren(...content(found, horizon));
      this.shown = key;
    }
    this.element.hidden = false;
    this.#place(x, y);
  }

  #place(x, y) {
    const room = this.element.parentElement.getBoundingClientRect();
    const own = this.element.getBoundingClientRect();
    const left = x + 14 + own.width > room.width ? x - own.width - 14 : x + 14;
    this.element.style.left = `${Math.max(EDGE, Math.min(left, room.width - own.width - EDGE))}px`;
    this.element.style.top = `${y + 16}px`;
  }
}

function content({ pod, heap, span, cell, row }, horizon) {
  if (pod) return podCard(pod, horizon);
  if (heap) return heapCard(heap);
  return span ? spanCard(span, horizon) : cellCard(cell, row);
}

export function heapCard(heap) {
  const codes = Object.entries(heap.codes).map(([code, times]) => `${code} ×${number(times)}`);
  const rows = [
    [t("from"), when(heap.start)],
    [t("to"), when(heap.end)],
    [t("pods"), heap.pods ? number(heap.pods) : ""],
    [t("exit codes"), codes.join(", ")],
    ["", t("a press zooms in")],
  ];
  return [title(t("{n} restarts", { n: number(heap.restarts) })), list(rows)];
}

export function cellCard(cell, row) {
  const rows = [
    [t("from"), when(cell.start)],
    [t("to"), when(cell.end)],
    [t("replicas"), cell.last > cell.first ? `${row.type} ${cell.first} – ${cell.last}` : `${row.type} ${cell.first}`],
  ];
  return [title(t("{n} restarts", { n: number(cell.count) })), list(rows)];
}

export function podCard(pod, horizon) {
  const rows = [
    [t("created"), when(pod.created)],
    [t("running"), when(pod.running)],
    [t("start took"), pod.running && pod.created ? measured(pod.running - pod.created) : ""],
    [t("ended"), when(pod.ended)],
    [t("ran for"), pod.running ? measured((pod.ended ?? horizon) - pod.running) : ""],
    [t("exit code"), pod.ended && pod.code !== null && pod.code !== undefined ? exitText(pod.code, pod.reason) : ""],
    [t("cause"), pod.cause],
    [t("not counted"), pod.excluded ? t(EXCLUDED[pod.excluded] ?? pod.excluded) : ""],
    [t("restarts in place"), pod.restarts ? number(pod.restarts) : ""],
    [t("deleted"), when(pod.deleted)],
    [t("node"), pod.node],
    [t("pod UID"), pod.uid],
  ];
  return [title(pod.name), list(rows)];
}

export function spanCard(span, horizon) {
  const rows = [
    [t("from"), when(span.start)],
    [t("times"), span.times ? number(span.times) : ""],
    [t("to"), span.end === null ? t("still open") : when(span.end)],
    [t("lasted"), lengthWords(spanLength(span, horizon))],
    [t("reason"), span.reason],
    [t("running"), span.min_member ? t("{n} of {m}", { n: number(span.running ?? 0), m: number(span.min_member) }) : ""],
  ];
  return [title(span.value || t("no phase yet")), list(rows)];
}

function lengthWords(length) {
  const note = lastedNote(length);
  return note ? `${lasted(length)} (${note})` : lasted(length);
}

function when(epoch) {
  if (epoch === null || epoch === undefined) return "";
  const element = document.createElement("span");
  element.textContent = clock(epoch, { digits: 3 });
  element.title = utc(epoch);
  return element;
}

function title(text) {
  const element = document.createElement("strong");
  element.append(bdi(text));
  return element;
}

function list(rows) {
  const element = document.createElement("dl");
  for (const [name, value] of rows) {
    if (value === "" || value === null || value === undefined) continue;
    const term = document.createElement("dt");
    term.textContent = name;
    const detail = document.createElement("dd");
    detail.append(typeof value === "string" ? bdi(value) : value);
    element.append(term, detail);
  }
  return element;
}

function bdi(text) {
  const element = document.createElement("bdi");
  element.textContent = text;
  return element;
}
