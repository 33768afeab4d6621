// Draws the row of a replica: its pods with their ends, and heaps of runs that are too short to be told apart.

import { number } from "../format.js";
import { box, caps } from "./layout.js";
import { ends, segments } from "./segments.js";
import { toX } from "./scale.js";
import { RADIUS, dotted, fillWith, font, rounded, strokeWith, tickMark } from "./shapes.js";

export function drawReplica(pen, view, row, top) {
  const pods = view.pods.get(row.key);
  if (!pods) drawUnknownYet(pen, view, row, top);
  for (const pod of pods ?? []) drawPod(pen, view, row, top, pod);
  for (const heap of view.heaps.get(row.key) ?? []) drawHeap(pen, view, row, top, heap);
}

// A row whose pods were not told yet.
function drawUnknownYet(pen, view, row, top) {
  pen.fillStyle = view.palette.line;
  pen.fillRect(view.gutter, top + row.height / 2 - 1, view.width - view.gutter, 2);
}

// Runs too short to be told apart: striped like a stack of end caps, with how many restarts they were.
function drawHeap(pen, view, row, top, heap) {
  const area = box(view.scale, heap.start, heap.end, 4);
  if (!area) return;
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

function drawPod(pen, view, row, top, pod) {
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
