// The timeline of one job: model, scale and input put together around one canvas.

import { clock, duration, exitText } from "../format.js";
import { t } from "../messages.js";
import { Card } from "./card.js";
import { draw } from "./draw.js";
import { hit, neighbour } from "./hit.js";
import { listen } from "./input.js";
import { AXIS, closedAt, rows, united } from "./layout.js";
import { emptyModel, horizon, lane, merge, podsByReplica, restartsByPod } from "./model.js";
import { hatch, readPalette } from "./palette.js";
import { Frames } from "./raf.js";
import { readRange, writeRange } from "./range.js";
import * as S from "./scale.js";

const MAX_HEIGHT = 0.7; // of the window
const SLOW = 1; // seconds: a growing bar moves at least this often, also zoomed out

export class Timeline {
  // `root`: the element with the canvas; `now()`: the server's clock in epoch seconds; `onSelect(pod | null)`, `onOpen(pod)`,
  // `onHover(uid | null)`.
  constructor(root, { now, onSelect, onOpen, onHover }) {
    this.root = root;
    this.now = now;
    this.callbacks = { onSelect, onOpen, onHover };
    this.canvas = root.querySelector("canvas");
    this.scroller = root.querySelector("[data-scroll]");
    this.spacer = root.querySelector("[data-spacer]");
    this.status = root.querySelector("[data-status]");
    this.pen = this.canvas.getContext("2d");
    this.card = new Card(root.querySelector("[data-card]"));
    this.model = emptyModel();
    this.range = readRange(location.search); // null: all of it, and on with the clock
    this.following = false;
    this.selected = null;
    this.hovered = null;
    this.frames = new Frames(() => this.#draw());
    this.#restyle();
    this.#listen();
  }

  // Takes the first answer or a delta.
  update(payload) {
    if (merge(this.model, payload) || !this.layout) this.#relayout();
    if (this.selected) this.selected = this.model.pods.get(this.selected.uid) ?? null;
    this.derived = null;
    this.frames.request();
  }

  light(uid) {
    this.hovered = uid;
    this.frames.request();
  }

  zoom(factor) {
    this.#zoom(null, factor);
  }

  fit() {
    this.range = null;
    this.following = false;
    this.#rangeChanged();
  }

  toggleFollow() {
    this.following = !this.following;
    if (this.following && this.range === null) {
      const scale = this.#scale();
      this.range = { start: scale.start, end: scale.end };
    }
    this.#rangeChanged();
  }

  get live() {
    return this.model.end === null;
  }

  #listen() {
    listen(this.canvas, {
      gutter: () => this.gutter,
      zoom: (x, factor) => this.#zoom(x, factor),
      pan: (pixels) => this.#setRange(S.panBy(this.#scale(), pixels), false),
      scroll: (pixels) => this.scroller.scrollBy(0, pixels),
      fit: () => this.fit(),
      follow: () => this.toggleFollow(),
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.#leave(),
      select: (x, y) => this.#select(this.#hit(x, y)?.pod ?? null),
      move: (key) => this.#move(key),
      key: () => this.#leave(),
      open: () => this.selected && this.callbacks.onOpen(this.selected),
      clear: () => this.#select(null),
    });
    this.scroller.addEventListener("scroll", () => this.frames.request(), { passive: true });
    new ResizeObserver(() => this.#relayout()).observe(this.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#restyle());
    new MutationObserver(() => this.#restyle()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    addEventListener("popstate", () => {
      this.range = readRange(location.search);
      this.frames.request();
    });
  }

  #restyle() {
    this.palette = readPalette(this.root);
    this.hatch = hatch(this.pen, this.palette.hatch);
    this.frames.request();
  }

  #relayout() {
    this.layout = rows(this.model);
    this.gutter = this.root.clientWidth < 560 ? 108 : 150;
    this.width = this.scroller.clientWidth;
    const wanted = AXIS + this.layout.height;
    this.height = Math.min(wanted, Math.max(240, Math.round(innerHeight * MAX_HEIGHT)));
    const density = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * density);
    this.canvas.height = Math.round(this.height * density);
    this.canvas.style.height = `${this.height}px`;
    this.scroller.style.height = `${this.height}px`;
    this.spacer.style.height = `${wanted - this.height}px`;
    this.pen.setTransform(density, 0, 0, density, 0, 0);
    this.hatch = hatch(this.pen, this.palette.hatch);
    this.frames.request();
  }

  #horizon() {
    return Math.max(horizon(this.model, this.now()), this.model.start ?? 0);
  }

  #scale() {
    const plot = Math.max(50, this.width - this.gutter - 8);
    const end = this.#horizon();
    const start = this.model.start ?? end - 1;
    if (this.range === null) return S.fit(S.scale(start, end, this.gutter, plot), start, end);
    const chosen = S.scale(this.range.start, this.range.end, this.gutter, plot);
    return this.following && this.live ? S.follow(chosen, end) : chosen;
  }

  #zoom(x, factor) {
    const scale = this.#scale();
    const middle = this.selected ? S.toX(scale, this.selected.ended ?? this.selected.created) : scale.left + scale.width / 2;
    this.#setRange(S.zoomAt(scale, x ?? middle, factor), this.following);
  }

  #setRange(scale, following) {
    const kept = S.clamp(scale, this.model.start ?? scale.start, this.#horizon());
    this.range = { start: kept.start, end: kept.end };
    this.following = following;
    this.#rangeChanged();
  }

  #rangeChanged() {
    this.frames.request();
    this.root.dispatchEvent(new CustomEvent("rangechange"));
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => {
      history.replaceState(history.state, "", location.pathname + writeRange(location.search, this.range) + location.hash);
    }, 300);
  }

  #derive() {
    if (this.derived) return this.derived;
    const lanes = {
      state: lane(this.model, "state"),
      restarting: closedAt(lane(this.model, "restarting"), this.model.job.over ?? null),
      podgroup: lane(this.model, "podgroup"),
    };
    const restarts = restartsByPod(this.model);
    const bands = [...this.model.restarts.values()]
      .filter((restart) => restart.counts && restart.at !== null)
      .map((restart) => ({ start: restart.at, end: restart.until ?? this.model.job.over ?? null }));
    this.derived = { lanes, restarts, pods: podsByReplica(this.model), bands };
    return this.derived;
  }

  #hit(x, y) {
    if (x < this.gutter || y < AXIS || !this.layout) return null;
    const { pods, lanes } = this.#derive();
    const scroll = this.scroller.scrollTop;
    const spans = { state: [...lanes.state, ...lanes.restarting], podgroup: lanes.podgroup };
    return hit({ rows: this.layout.rows, scale: this.#scale(), pods, spans, horizon: this.#horizon() }, x, y - AXIS + scroll);
  }

  #hover(x, y) {
    const found = this.#hit(x, y);
    const uid = found?.pod?.uid ?? null;
    if (uid !== this.hovered) {
      this.hovered = uid;
      this.callbacks.onHover(uid);
      this.frames.request();
    }
    if (found && (found.pod || found.span)) this.card.show(found, this.#horizon(), x, y + this.canvas.offsetTop - this.scroller.scrollTop);
    else this.card.hide();
  }

  #leave() {
    this.card.hide();
    if (this.hovered === null) return;
    this.hovered = null;
    this.callbacks.onHover(null);
    this.frames.request();
  }

  #select(pod) {
    this.selected = pod;
    this.callbacks.onSelect(pod);
    this.status.textContent = pod ? describe(pod, this.#horizon()) : "";
    this.frames.request();
  }

  #move(key) {
    const { pods } = this.#derive();
    const order = this.layout.rows.filter((row) => row.kind === "replica").map((row) => row.key);
    const next = neighbour(order, pods, this.selected, key, this.#horizon());
    if (!next) return;
    this.#select(next);
    this.#reveal(next);
  }

  #reveal(pod) {
    const row = this.layout.rows.find((candidate) => candidate.key === pod.replica);
    const room = this.height - AXIS;
    if (row.top < this.scroller.scrollTop) this.scroller.scrollTop = row.top - 8;
    if (row.top + row.height > this.scroller.scrollTop + room) this.scroller.scrollTop = row.top + row.height + 8 - room;
    const scale = this.#scale();
    const at = pod.created ?? pod.ended;
    if (at >= scale.start && at <= scale.end) return;
    const span = scale.end - scale.start;
    this.#setRange({ ...scale, start: at - span / 3, end: at + (2 * span) / 3 }, false);
  }

  #draw() {
    if (!this.layout || !this.width) return null;
    const { lanes, restarts, pods, bands } = this.#derive();
    const scale = this.#scale();
    draw(this.pen, {
      scale, lanes, restarts, pods, bands: united(bands, this.#horizon()),
      origin: this.model.start, horizon: this.#horizon(), now: this.now(), live: this.live,
      rows: this.layout.rows, replicas: this.model.replicas, unobserved: this.model.unobserved, scroll: this.scroller.scrollTop,
      width: this.width, height: this.height, gutter: this.gutter, kind: this.model.job.kind ?? "",
      selected: this.selected, hovered: this.hovered, palette: this.palette, hatch: this.hatch,
      words: { noPhase: t("no phase yet") },
    });
    return this.live ? Math.min(SLOW, S.secondsPerPixel(scale)) : null;
  }
}

function describe(pod, until) {
  const parts = [pod.name, t("created at {time}", { time: clock(pod.created ?? pod.ended) })];
  if (pod.running) parts.push(t("ran {duration}", { duration: duration((pod.ended ?? until) - pod.running) }));
  if (pod.ended) parts.push(t("ended with {code}", { code: exitText(pod.code, pod.reason) }));
  return parts.join(", ");
}
