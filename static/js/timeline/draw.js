// The one drawer: puts a view on a canvas and knows nothing of where it comes from. Here are the frame and what lies over
// all rows; rows themselves are in drawlanes.js and drawreplicas.js. Everything is drawn in CSS pixels.

import { isolate, number } from "../format.js";
import { drawHeat, drawPodGroup, drawStateLane } from "./drawlanes.js";
import { drawReplica } from "./drawreplicas.js";
import { AXIS, between, box, countText, replicaName, spread, visible } from "./layout.js";
import { secondsPerPixel, toX } from "./scale.js";
import { SMALL, fillWith, font, strokeWith } from "./shapes.js";
import { ticks } from "./ticks.js";

const LEAST_COUNT = 26; // pixels kept for the count of a replica, so that names are cut alike

// view: {scale, origin, horizon, now, live, rows, replicas, pods, heaps, heat, restarts, lanes, bands, unobserved, marks, scroll,
//        width, height, gutter, atLeast, selected, hovered, palette, hatch, words}
export function draw(pen, view) {
  pen.clearRect(0, 0, view.width, view.height);
  pen.textBaseline = "middle";
  const axis = ticks({ ...view.scale, secondsPerPixel: secondsPerPixel(view.scale), origin: view.origin });
  grid(pen, view, axis);
  inPlot(pen, view, () => {
    for (const band of between(view.bands, view.scale.start, view.scale.end)) drawBand(pen, view, band);
    const [first, last] = visible(view.rows, view.scroll, view.scroll + view.height - AXIS);
    for (const row of view.rows.slice(first, last)) drawRow(pen, view, row);
    for (const gap of view.unobserved) drawGap(pen, view, gap);
    for (const mark of view.marks) drawMark(pen, view, mark);
    drawNow(pen, view);
  });
  drawGutter(pen, view);
  drawAxis(pen, view, axis);
}

const yOf = (view, row) => AXIS + row.top - view.scroll;

function inPlot(pen, view, body) {
  pen.save();
  pen.beginPath();
  pen.rect(view.gutter, AXIS, view.width - view.gutter, view.height - AXIS);
  pen.clip();
  body();
  pen.restore();
}

function grid(pen, view, axis) {
  pen.fillStyle = view.palette.line;
  for (const tick of axis) {
    const x = Math.round(toX(view.scale, tick.time));
    if (x >= view.gutter) pen.fillRect(x, AXIS, 1, view.height - AXIS);
  }
}

function drawAxis(pen, view, axis) {
  pen.fillStyle = view.palette.surface;
  pen.fillRect(0, 0, view.width, AXIS);
  font(pen, view, SMALL);
  pen.fillStyle = view.palette.muted;
  pen.textAlign = "center";
  const places = axis.map((tick) => toX(view.scale, tick.time));
  const widths = axis.map((tick) => pen.measureText(tick.label).width);
  for (const index of spread(places, widths)) {
    const half = widths[index] / 2;
    if (places[index] < view.gutter - 1 || places[index] + half > view.width + half) continue;
    pen.fillText(axis[index].label, Math.min(places[index], view.width - half - 2), AXIS / 2);
  }
  pen.textAlign = "left";
}

function drawGutter(pen, view) {
  const [first, last] = visible(view.rows, view.scroll, view.scroll + view.height - AXIS);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, view.width, view.height - AXIS);
  pen.clip();
  for (const row of view.rows.slice(first, last)) drawLabel(pen, view, row);
  pen.restore();
}

function drawLabel(pen, view, row) {
  const middle = yOf(view, row) + row.height / 2;
  const { palette } = view;
  const minor = row.kind === "group" || row.kind === "heat";
  const chosen = row.kind === "replica" && view.selected?.replica === row.key;
  if (chosen) {
    pen.fillStyle = palette.accent;
    pen.fillRect(0, yOf(view, row), 3, row.height);
  }
  const right = view.gutter - 16;
  const counted = row.kind === "replica" ? drawCount(pen, view, view.replicas.get(row.key), right, middle) : 0;
  font(pen, view, minor ? 12 : 13, row.kind === "group" ? 600 : 400);
  pen.fillStyle = minor ? palette.muted : palette.ink;
  pen.fillText(shorten(pen, labelOf(view, row), right - counted), chosen ? 8 : 2, middle);
}

// A replica's true restarts, up to `right`; answers how much room they and a space before them take.
function drawCount(pen, view, replica, right, middle) {
  const text = countText(replica.true, view.atLeast);
  font(pen, view, 14, 700);
  pen.fillStyle = replica.true ? view.palette["restarting-text"] : view.palette.muted;
  pen.textAlign = "right";
  pen.fillText(text, right, middle);
  pen.textAlign = "left";
  return Math.max(LEAST_COUNT, pen.measureText(text).width + 8);
}

function labelOf(view, row) {
  if (row.kind === "state") return isolate(view.kind);
  if (row.kind === "podgroup") return "PodGroup";
  if (row.kind === "group") return `${isolate(row.type)} · ${number(row.count)}`;
  if (row.kind === "heat") return view.words.heat;
  const replica = view.replicas.get(row.key);
  return replicaName({ ...replica, type: isolate(replica.type) });
}

function shorten(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
  return `${text.slice(0, length)}…`;
}

function drawRow(pen, view, row) {
  const top = yOf(view, row);
  if (row.kind === "state") drawStateLane(pen, view, row, top);
  else if (row.kind === "podgroup") drawPodGroup(pen, view, row, top);
  else if (row.kind === "heat") drawHeat(pen, view, row, top);
  else if (row.kind === "replica") drawReplica(pen, view, row, top);
}

function drawBand(pen, view, band) {
  const area = box(view.scale, band.start, Math.min(band.end ?? Infinity, view.horizon), 1);
  if (!area) return;
  pen.fillStyle = view.palette.band;
  pen.fillRect(area.left, AXIS, area.width, view.height - AXIS);
}

function drawGap(pen, view, gap) {
  const area = box(view.scale, gap.start ?? view.origin, gap.end ?? view.horizon, 2);
  if (!area) return;
  pen.fillStyle = view.hatch;
  pen.fillRect(area.left, AXIS, area.width, view.height - AXIS);
}

// What an experiment did: a broken line with a flag, and its words where there is room for them.
function drawMark(pen, view, { at, text }) {
  const x = Math.round(toX(view.scale, at));
  if (x < view.gutter || x > view.width) return;
  const bottom = view.height - 4;
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(x + 0.5, AXIS);
  pen.lineTo(x + 0.5, bottom);
  strokeWith(pen, view.palette.accent, 1.5);
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x, AXIS);
  pen.lineTo(x + 9, AXIS + 4);
  pen.lineTo(x, AXIS + 8);
  pen.closePath();
  fillWith(pen, view.palette.accent);
  font(pen, view, SMALL, 600);
  const width = pen.measureText(text).width;
  const left = x + 6 + width < view.width ? x + 5 : x - width - 6;
  if (left < view.gutter) return;
  pen.fillStyle = view.palette.surface;
  pen.fillRect(left - 2, bottom - 14, width + 5, 14);
  pen.fillStyle = view.palette.accent;
  pen.fillText(text, left, bottom - 7);
}

function drawNow(pen, view) {
  if (!view.live) return;
  const x = Math.round(toX(view.scale, view.now));
  pen.fillStyle = view.palette.now;
  pen.fillRect(x, AXIS, 1, view.height - AXIS);
}
