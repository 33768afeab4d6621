// The one drawer: puts a view on a canvas and knows nothing of where it comes from. Everything is drawn in CSS pixels.

import { isolate, number } from "../format.js";
import { hottest, strength } from "./heat.js";
import { AXIS, MIN_RESTARTING, between, box, caps, countText, replicaName, spread, visible } from "./layout.js";
import { lasted, spanLength } from "./lengths.js";
import { ends, segments } from "./segments.js";
import { secondsPerPixel, toX } from "./scale.js";
import { ticks } from "./ticks.js";

const RADIUS = 3;
const SMALL = 11;
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
  if (row.kind === "state") drawStateLane(pen, view, row);
  else if (row.kind === "podgroup") drawPodGroup(pen, view, row);
  else if (row.kind === "heat") drawHeat(pen, view, row);
  else if (row.kind === "replica") drawReplica(pen, view, row);
}

// Restarts of a whole replica type: time across, its replicas from top to bottom, stronger where there were more.
function drawHeat(pen, view, row) {
  const strip = view.heat?.types[row.type];
  if (!strip) return;
  const top = yOf(view, row);
  const { start, step } = view.heat;
  const most = hottest(strip);
  pen.fillStyle = view.palette.surface;
  pen.fillRect(view.gutter, top, view.width, row.height);
  pen.fillStyle = view.palette.restarting;
  const height = row.height / strip.rows;
  for (const [line, bucket, count] of strip.cells) {
    const area = box(view.scale, start + bucket * step, start + (bucket + 1) * step, 1.5);
    if (!area) continue;
    pen.globalAlpha = strength(count, most);
    pen.fillRect(area.left, top + line * height, area.width, Math.max(1, height));
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = view.palette.line;
  pen.lineWidth = 1;
  pen.strokeRect(view.gutter + 0.5, top - 0.5, view.width - view.gutter, row.height + 1);
}

const STATE_FILLS = { Running: "running-lane", Succeeded: "completed", Failed: "failed", Restarting: "running-lane" };

function drawStateLane(pen, view, row) {
  const top = yOf(view, row);
  for (const span of between(view.lanes.state, view.scale.start, view.scale.end)) {
    const area = box(view.scale, span.start ?? view.origin, span.end ?? view.horizon);
    if (!area) continue;
    const fill = STATE_FILLS[span.value];
    rounded(pen, area.left, top, area.width, row.height);
    if (fill) fillWith(pen, view.palette[fill]);
    else strokeWith(pen, view.palette.pending);
    const ink = view.palette[span.value === "Failed" ? "failed-ink" : "ink"];
    if (inside(pen, view, span.value, area, top, row.height, ink) || area.width < 14) continue;
    if (span.value === "Failed") inside(pen, view, "×", area, top, row.height, ink);
    if (span.value === "Succeeded") tickMark(pen, view, area.left + 7, top + row.height / 2);
  }
  drawRestarting(pen, view, row, top);
}

// Restarting: amber, at least three pixels wide, with a marker above and its true length where there is room.
function drawRestarting(pen, view, row, top) {
  font(pen, view, SMALL);
  const boxes = [];
  for (const span of between(view.lanes.restarting, view.scale.start, view.scale.end)) {
    const end = span.end ?? view.horizon;
    const area = span.start === null ? null : box(view.scale, span.start, end, MIN_RESTARTING);
    if (!area) continue;
    const left = Math.round(area.left); // whole pixels: three of them must not be two and a shade
    boxes.push({ left, width: Math.max(MIN_RESTARTING, Math.round(area.right) - left), text: spanText(span, view.horizon) });
  }
  for (const area of boxes) {
    rounded(pen, area.left, top - 1, area.width, row.height + 2, 2);
    fillWith(pen, view.palette.restarting);
    marker(pen, view, area.left + Math.min(area.width, view.width - area.left) / 2, top - 3);
  }
  const widths = boxes.map((area) => pen.measureText(area.text).width);
  const middles = boxes.map((area, n) => {
    const middle = area.left + area.width / 2;
    return Math.max(view.gutter + widths[n] / 2, Math.min(middle, view.width - widths[n] / 2 - 2));
  });
  pen.fillStyle = view.palette["restarting-text"];
  for (const index of spread(middles, widths)) {
    pen.fillText(boxes[index].text, middles[index] - widths[index] / 2, top - 13);
  }
}

const spanText = (span, horizon) =>
  span.times ? `${number(span.times)} ×` : `${lasted(spanLength(span, horizon))}${span.end === null ? "…" : ""}`;

function marker(pen, view, x, y) {
  pen.beginPath();
  pen.moveTo(x - 4, y - 5);
  pen.lineTo(x + 4, y - 5);
  pen.lineTo(x, y + 1);
  pen.closePath();
  fillWith(pen, view.palette.restarting);
}

function drawPodGroup(pen, view, row) {
  const top = yOf(view, row);
  font(pen, view, SMALL);
  if (!view.lanes.podgroup.length) {
    pen.fillStyle = view.palette.muted;
    pen.fillText(view.words.noGroup, view.gutter + 6, top + row.height / 2);
  }
  for (const span of between(view.lanes.podgroup, view.scale.start, view.scale.end)) {
    const area = box(view.scale, span.start ?? view.origin, span.end ?? view.horizon);
    if (!area) continue;
    rounded(pen, area.left, top, Math.max(area.width - 1, 0.5), row.height, 2);
    const pending = span.value === "" || span.value === "Pending";
    if (pending) strokeWith(pen, view.palette.pending);
    else fillWith(pen, view.palette.group);
    const count = span.min_member ? `${number(span.running ?? 0)}/${number(span.min_member)}` : "";
    const phase = span.value || view.words.noPhase;
    const ink = view.palette.ink;
    const both = count ? `${phase} ${count}` : phase;
    if (!inside(pen, view, both, area, top, row.height, ink)) inside(pen, view, count, area, top, row.height, ink);
  }
}

function drawReplica(pen, view, row) {
  const pods = view.pods.get(row.key);
  if (!pods) drawUnknownYet(pen, view, row);
  for (const pod of pods ?? []) drawPod(pen, view, row, pod);
  for (const heap of view.heaps.get(row.key) ?? []) drawHeap(pen, view, row, heap);
}

// A row whose pods were not told yet.
function drawUnknownYet(pen, view, row) {
  pen.fillStyle = view.palette.line;
  pen.fillRect(view.gutter, yOf(view, row) + row.height / 2 - 1, view.width - view.gutter, 2);
}

// Runs too short to be told apart: striped like a stack of end caps, with how many restarts they were.
function drawHeap(pen, view, row, heap) {
  const area = box(view.scale, heap.start, heap.end, 4);
  if (!area) return;
  const top = yOf(view, row);
  rounded(pen, area.left, top, area.width, row.height, 2);
  fillWith(pen, view.palette["failed-soft"]);
  strokeWith(pen, view.palette.failed);
  pen.fillStyle = view.palette.failed;
  for (let x = area.left + 2; x < area.right - 1; x += 4) pen.fillRect(x, top + row.height - 4, 1.5, 3);
  font(pen, view, 12, 700);
  const text = `×${number(heap.restarts)}`;
  if (pen.measureText(text).width + 8 > area.width) return;
  pen.fillStyle = view.palette["failed-text"];
  pen.textAlign = "center";
  pen.fillText(text, area.left + area.width / 2, top + row.height / 2 - 1);
  pen.textAlign = "left";
}

function drawPod(pen, view, row, pod) {
  const top = yOf(view, row);
  const inPlace = (view.restarts.get(pod.uid) ?? []).filter((restart) => restart.number > 0);
  const begun = pod.created ?? pod.running ?? pod.ended;
  const whole = box(view.scale, begun ?? view.horizon, pod.deleted ?? view.horizon, 1);
  if (!whole) return;
  for (const segment of segments(pod, inPlace, view.horizon)) drawSegment(pen, view, segment, top, row.height);
  drawEnds(pen, view, ends(pod, inPlace), toX(view.scale, begun), top, row.height);
  const lit = view.selected?.uid === pod.uid || view.hovered === pod.uid;
  if (!lit) return;
  rounded(pen, whole.left - 1, top - 2, whole.width + 2, row.height + 4, RADIUS + 1);
  strokeWith(pen, view.palette.accent, 2);
}

function drawSegment(pen, view, { kind, start, end }, top, height) {
  const area = box(view.scale, start, end);
  if (!area) return;
  const { palette } = view;
  if (kind === "pending" || kind === "waiting") {
    rounded(pen, area.left + 0.5, top + 0.5, Math.max(area.width - 1, 0.5), height - 1);
    fillWith(pen, palette.surface);
    strokeWith(pen, palette.pending);
    return;
  }
  rounded(pen, area.left, top, Math.max(area.width, 1), height);
  if (kind === "running") fillWith(pen, palette.running);
  else if (kind === "completed") fillWith(pen, palette.completed);
  else if (kind === "terminating") {
    fillWith(pen, palette.terminating);
    dotted(pen, palette.running);
  } else {
    fillWith(pen, palette.surface);
    dotted(pen, palette.failed);
  }
}

function drawEnds(pen, view, marks, from, top, height) {
  font(pen, view, 12, 700);
  const failed = marks.filter((mark) => mark.failed || mark.inPlace);
  for (const mark of failed) mark.text = capText(mark);
  for (const cap of caps(failed, from, view.scale, (text) => pen.measureText(text).width)) {
    drawCap(pen, view, cap, top, height);
  }
  for (const mark of marks) if (!mark.failed && !mark.inPlace) tickMark(pen, view, toX(view.scale, mark.at) + 10, top + height / 2);
}

function capText(mark) {
  const code = mark.code === null ? "" : String(mark.code);
  const more = mark.reason && !["Error", "Completed"].includes(mark.reason) ? mark.reason : "";
  return `${mark.inPlace ? "↻ " : ""}${[code, more].filter(Boolean).join(" ") || "?"}`;
}

function drawCap(pen, view, { left, width, text, mark }, top, height) {
  if (left > view.width || left + width < view.gutter) return;
  const { palette } = view;
  const calm = !mark.failed || mark.soft; // an exit 0 in place, or an end that was asked for: outlined, not alarming
  rounded(pen, left, top, width, height, Math.min(RADIUS, width / 2));
  fillWith(pen, calm ? palette.surface : palette.failed);
  if (calm) strokeWith(pen, mark.failed ? palette.failed : palette["restarting-text"]);
  if (!text) return;
  pen.fillStyle = calm ? palette.ink : palette["failed-ink"];
  pen.textAlign = "center";
  pen.fillText(text, left + width / 2, top + height / 2 + 0.5);
  pen.textAlign = "left";
}

function tickMark(pen, view, x, y) {
  pen.beginPath();
  pen.moveTo(x - 4, y);
  pen.lineTo(x - 1, y + 3.5);
  pen.lineTo(x + 4.5, y - 4);
  strokeWith(pen, view.palette.ink, 1.8);
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

// Text inside a box, where it fits; true if it did.
function inside(pen, view, text, area, top, height, colour) {
  if (!text) return false;
  font(pen, view, SMALL);
  const left = Math.max(area.left, view.gutter) + 6;
  const right = Math.min(area.right, view.width) - 4;
  if (pen.measureText(text).width > right - left) return false;
  pen.fillStyle = colour;
  pen.fillText(text, left, top + height / 2 + 0.5);
  return true;
}

function font(pen, view, size, weight = 400) {
  pen.font = `${weight} ${size}px ${view.palette.font}`;
}

function rounded(pen, x, y, width, height, radius = RADIUS) {
  pen.beginPath();
  pen.roundRect(x, y, Math.max(width, 0), height, Math.min(radius, Math.max(width, 0) / 2));
}

function fillWith(pen, colour) {
  pen.fillStyle = colour;
  pen.fill();
}

function strokeWith(pen, colour, width = 1) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

function dotted(pen, colour) {
  pen.setLineDash([2, 2]);
  strokeWith(pen, colour);
  pen.setLineDash([]);
}
