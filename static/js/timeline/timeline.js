// The timeline of one job: model, scale and input put together around one canvas.

import { t } from "../messages.js";
import { Card } from "./card.js";
import { derive, describe } from "./derived.js";
import { draw } from "./draw.js";
import { hit, neighbour } from "./hit.js";
import { listen } from "./input.js";
import { cellAt } from "./heat.js";
import { AXIS, gutterFor, longestCount, rows, visible } from "./layout.js";
import { MINIMAP, drawMinimap, listenMinimap } from "./minimap.js";
import { emptyModel, evict, horizon, merge } from "./model.js";
import { hatch, readPalette } from "./palette.js";
import { Frames } from "./raf.js";
import { readView, writeView } from "./range.js";
import { LaneLoader, spansFor } from "./lanes.js";
import { RowLoader } from "./rowloader.js";
import * as S from "./scale.js";

const MAX_HEIGHT = 0.7; // of the window
const SLOW = 1; // seconds: a growing bar moves at least this often, also zoomed out

export class Timeline {
  // `root`: the element with the canvas; `now()`: the server's clock in epoch seconds; `onSelect(pod | null)`, `onOpen(pod)`,
  // `onHover(uid | null)`, `fetchRows(keys, range)` and `fetchSpans(range)` for jobs that do not come whole.
  constructor(root, { now, onSelect, onOpen, onHover, fetchRows, fetchSpans }) {
    this.root = root;
    this.now = now;
    this.callbacks = { onSelect, onOpen, onHover };
    this.canvas = root.querySelector("[data-scroll] canvas");
    this.scroller = root.querySelector("[data-scroll]");
    this.spacer = root.querySelector("[data-spacer]");
    this.status = root.querySelector("[data-status]");
    this.pen = this.canvas.getContext("2d");
    this.card = new Card(root.querySelector("[data-card]"));
    this.minimap = root.querySelector("[data-minimap]");
    this.mapPen = this.minimap.getContext("2d");
    this.model = emptyModel();
    this.loader = new RowLoader(this.model, { fetchRows, take: (payload) => this.update(payload) });
    this.lanes = new LaneLoader(this.model, { fetchSpans, take: (payload) => this.update(payload) });
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    const { range, order, query, pick } = readView(location.search);
    this.range = range; // null: all of it, and on with the clock
    this.order = order;
    this.query = query;
    this.pick = pick; // {replica, uid} from the address, until it is found
    this.following = false;
    this.selected = null;
    this.hovered = null;
    this.frames = new Frames(() => this.#draw());
    this.#restyle();
    this.#listen();
  }

  // Takes the first answer or a delta.
  update(payload) {
    const added = merge(this.model, payload);
    if (payload.whole !== undefined) this.ranks = null;
    if (added || !this.layout || longestCount(this.model) !== this.longest) this.#relayout();
    if (this.selected) this.selected = this.model.pods.get(this.selected.uid) ?? this.selected;
    this.derived = null;
    this.#findPick();
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
    if (!this.live) return;
    this.following = !this.following;
    if (this.following && this.range === null) {
      const scale = this.#scale();
      this.range = { start: scale.start, end: scale.end };
    }
    this.#rangeChanged();
  }

  // "index" or "worst": the replicas that have restarted most by now come first, and stay where they are then.
  setOrder(order) {
    this.order = order;
    this.ranks = null;
    this.#relayout();
    this.#remember();
  }

  // Shows only replicas of that name; true if there are any.
  find(query) {
    this.query = query;
    this.#relayout();
    this.scroller.scrollTop = 0;
    this.#remember();
    return this.layout.rows.some((row) => row.kind === "replica");
  }

  // The pod that the address chooses: its row is scrolled to, then it is selected as soon as it is known.
  #findPick() {
    if (!this.pick || !this.layout) return;
    const pod = this.model.pods.get(this.pick.uid);
    if (pod) {
      this.pick = null;
      this.#select(pod);
      if (this.range) this.#scrollTo(pod.replica); // the address says what is shown, too
      else this.#reveal(pod);
    } else this.#scrollTo(this.pick.replica);
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
      select: (x, y) => this.#press(this.#hit(x, y)),
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
      this.range = readView(location.search).range;
      this.frames.request();
    });
    const shown = () => ({ scale: this.#wholeScale(), range: this.#scale() });
    listenMinimap(this.minimap, shown, (range) => this.#setRange({ ...this.#scale(), ...range }, false));
  }

  #restyle() {
    this.palette = readPalette(this.root);
    this.hatch = hatch(this.pen, this.palette.hatch);
    this.frames.request();
  }

  #relayout() {
    if (this.order === "worst") this.ranks ??= new Map([...this.model.replicas.values()].map((one) => [one.key, one.true]));
    this.layout = rows(this.model, { ranks: this.order === "worst" ? this.ranks : null, query: this.query });
    this.longest = longestCount(this.model);
    this.gutter = gutterFor(this.root.clientWidth, this.longest);
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
    this.minimap.width = Math.round(this.width * density);
    this.minimap.height = Math.round(MINIMAP * density);
    this.mapPen.setTransform(density, 0, 0, density, 0, 0);
    this.hatch = hatch(this.pen, this.palette.hatch);
    this.frames.request();
  }

  #horizon() {
    return Math.max(horizon(this.model, this.now()), this.model.start ?? 0);
  }

  #plot() {
    return Math.max(50, this.width - this.gutter - 8);
  }

  #wholeScale() {
    const end = this.#horizon();
    const start = this.model.start ?? end - 1;
    return S.fit(S.scale(start, end, this.gutter, this.#plot()), start, end);
  }

  #scale() {
    const plot = this.#plot();
    const end = this.#horizon();
    if (this.range === null) return this.#wholeScale();
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
    this.range = { start: kept.start, end: Math.max(kept.end, kept.start + S.MIN_SPAN) };
    this.following = following;
    this.#rangeChanged();
  }

  #rangeChanged() {
    this.frames.request();
    this.root.dispatchEvent(new CustomEvent("rangechange"));
    this.#remember();
  }

  // Range, order, search and selection are in the address, so that a link shows somebody else the same.
  #remember() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => {
      const view = { range: this.range, order: this.order, query: this.query, pick: this.pick ?? this.selected };
      history.replaceState(history.state, "", location.pathname + writeView(location.search, view) + location.hash);
    }, 300);
  }

  #derive() {
    const scale = this.#scale();
    const spans = spansFor(this.model, scale, S.secondsPerPixel(scale));
    if (this.derived?.spans === spans) return this.derived;
    this.derived = derive(this.model, spans, document.documentElement.lang);
    return this.derived;
  }

  #hit(x, y) {
    if (x < this.gutter || y < AXIS || !this.layout) return null;
    const { pods, lanes } = this.#derive();
    const scroll = this.scroller.scrollTop;
    const spans = { state: [...lanes.state, ...lanes.restarting], podgroup: lanes.podgroup };
    const view = { rows: this.layout.rows, scale: this.#scale(), pods, spans, heaps: this.model.heaps, horizon: this.#horizon() };
    const found = hit(view, x, y - AXIS + scroll);
    if (found?.row.kind !== "heat") return found;
    const share = (y - AXIS + scroll - found.row.top) / found.row.height;
    return { ...found, cell: cellAt(this.model.heat, found.row.type, found.time, share) };
  }

  #hover(x, y) {
    const found = this.#hit(x, y);
    const uid = found?.pod?.uid ?? null;
    if (uid !== this.hovered) {
      this.hovered = uid;
      this.callbacks.onHover(uid);
      this.frames.request();
    }
    if (found && (found.pod || found.span || found.heap || found.cell)) this.card.show(found, this.#horizon(), x, y + this.canvas.offsetTop - this.scroller.scrollTop);
    else this.card.hide();
  }

  #leave() {
    this.card.hide();
    if (this.hovered === null) return;
    this.hovered = null;
    this.callbacks.onHover(null);
    this.frames.request();
  }

  // A press on a bar selects it, on a heap zooms into it, on the strip goes to the replicas it stands for.
  #press(found) {
    if (found?.heap) this.#show(found.heap.start, found.heap.end);
    else if (found?.cell?.count) {
      const rows = this.layout.rows.filter((row) => row.kind === "replica" && this.model.replicas.get(row.key).type === found.row.type);
      if (rows[found.cell.first]) this.#scrollTo(rows[found.cell.first].key);
      this.#show(found.cell.start - 2 * this.model.heat.step, found.cell.end + 2 * this.model.heat.step);
    } else this.#select(found?.pod ?? null);
  }

  #show(start, end) {
    const room = Math.max((end - start) * 0.1, 0.01);
    this.#setRange({ ...this.#scale(), start: start - room, end: end + room }, false);
  }

  #select(pod) {
    this.selected = pod;
    this.#remember();
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

  #scrollTo(key) {
    const row = this.layout.rows.find((candidate) => candidate.key === key);
    if (!row) return;
    const room = this.height - AXIS;
    if (row.top < this.scroller.scrollTop) this.scroller.scrollTop = row.top - 8;
    if (row.top + row.height > this.scroller.scrollTop + room) this.scroller.scrollTop = row.top + row.height + 8 - room;
    this.frames.request();
  }

  #reveal(pod) {
    this.#scrollTo(pod.replica);
    const scale = this.#scale();
    const at = pod.created ?? pod.ended;
    if (at >= scale.start && at <= scale.end) return;
    const span = scale.end - scale.start;
    this.#setRange({ ...scale, start: at - span / 3, end: at + (2 * span) / 3 }, false);
  }

  #draw() {
    if (!this.layout || !this.width || this.model.seq === 0) return null; // nothing is known yet
    const { lanes, restarts, pods, bands, marks } = this.#derive();
    const scale = this.#scale();
    this.#request(scale);
    drawMinimap(this.mapPen, {
      scale: this.#wholeScale(), range: scale, heat: this.model.heat, unobserved: this.model.unobserved, width: this.width,
      palette: this.palette, hatch: this.hatch, origin: this.model.start, horizon: this.#horizon(),
    });
    draw(this.pen, {
      scale, lanes, restarts, pods, bands, marks, heaps: this.model.heaps, heat: this.model.heat,
      origin: this.model.start, horizon: this.#horizon(), now: this.now(), live: this.live,
      rows: this.layout.rows, replicas: this.model.replicas, unobserved: this.model.unobserved, scroll: this.scroller.scrollTop,
      width: this.width, height: this.height, gutter: this.gutter, kind: this.model.job.kind ?? "", atLeast: this.model.job.at_least ?? false,
      selected: this.selected, hovered: this.hovered, palette: this.palette, hatch: this.hatch,
      words: { noPhase: t("no phase yet"), noGroup: t("none seen"), heat: t("restarts") },
    });
    if (!this.live) return null;
    return this.still.matches ? SLOW : Math.min(SLOW, S.secondsPerPixel(scale));
  }

  // Rows in sight, then those a screen below and above.
  #request(scale) {
    this.lanes.want(scale, scale.width, S.secondsPerPixel(scale), this.#horizon());
    if (this.model.whole) return;
    const top = this.scroller.scrollTop;
    const near = (from, to) => {
      const [first, last] = visible(this.layout.rows, from, to);
      return this.layout.rows.slice(first, last).filter((row) => row.kind === "replica").map((row) => row.key);
    };
    const keys = [...new Set([...near(top, top + this.height), ...near(top - this.height, top + 2 * this.height)])];
    evict(this.model, new Set(keys));
    this.loader.want(keys, { start: scale.start, end: scale.end, width: Math.round(scale.width) }, S.secondsPerPixel(scale));
  }
}
