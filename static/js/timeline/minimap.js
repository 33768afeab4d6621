// The whole life of the job in one strip: where its restarts lie, and which part of it is shown below. Pure geometry
// first, then the drawing; the frames are the timeline's.

import { byTime, strength } from "./heat.js";
import { toTime, toX } from "./scale.js";

export const MINIMAP = 30;
const GRIP = 6; // pixels at an edge of the window that change its length

// What a press at x means: {kind: "start" | "end" | "move" | "jump"}.
export function grip(scale, range, x) {
  const left = toX(scale, range.start);
  const right = toX(scale, range.end);
  if (Math.abs(x - left) <= GRIP && right - left > 3 * GRIP) return "start";
  if (Math.abs(x - right) <= GRIP && right - left > 3 * GRIP) return "end";
  return x > left && x < right ? "move" : "jump";
}

// The range after dragging from x to another x.
export function dragged(scale, range, kind, from, to) {
  const by = toTime(scale, to) - toTime(scale, from);
  if (kind === "start") return { start: Math.min(range.start + by, range.end), end: range.end };
  if (kind === "end") return { start: range.start, end: Math.max(range.end + by, range.start) };
  const half = (range.end - range.start) / 2;
  if (kind === "jump") return { start: toTime(scale, to) - half, end: toTime(scale, to) + half };
  return { start: range.start + by, end: range.end + by };
}

// view: {scale (of the whole life), range, heat, unobserved, width, palette, hatch, origin, horizon}
export function drawMinimap(pen, view) {
  const { palette, scale } = view;
  pen.clearRect(0, 0, view.width, MINIMAP);
  pen.fillStyle = palette.line;
  pen.fillRect(scale.left, MINIMAP - 1, scale.width, 1);
  const parts = byTime(view.heat);
  const most = parts.reduce((highest, part) => Math.max(highest, part.count), 0);
  pen.fillStyle = palette.restarting;
  for (const part of parts) {
    const left = toX(scale, part.start);
    const height = Math.max(3, (MINIMAP - 6) * strength(part.count, most));
    pen.fillRect(left, MINIMAP - 1 - height, Math.max(1.5, toX(scale, part.end) - left - 0.5), height);
  }
  pen.fillStyle = view.hatch;
  for (const gap of view.unobserved) {
    const left = toX(scale, gap.start ?? view.origin);
    pen.fillRect(left, 0, Math.max(2, toX(scale, gap.end ?? view.horizon) - left), MINIMAP);
  }
  drawWindow(pen, view);
}

function drawWindow(pen, { scale, range, palette }) {
  const left = Math.max(scale.left, toX(scale, range.start));
  const right = Math.min(scale.left + scale.width, toX(scale, range.end));
  pen.fillStyle = palette.veil;
  pen.fillRect(scale.left, 0, Math.max(0, left - scale.left), MINIMAP);
  pen.fillRect(right, 0, Math.max(0, scale.left + scale.width - right), MINIMAP);
  pen.strokeStyle = palette.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 0.75, Math.max(3, right - left - 1.5), MINIMAP - 1.5);
}

// Presses and drags: `shown()` gives {scale, range}, `change(range)` takes what they lead to.
export function listenMinimap(element, shown, change) {
  let drag = null;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { scale, range } = shown();
    const kind = grip(scale, range, event.offsetX);
    drag = { kind, from: event.offsetX, range, scale };
    element.setPointerCapture(event.pointerId);
    if (kind === "jump") {
      change(dragged(scale, range, kind, event.offsetX, event.offsetX));
      drag = { ...drag, kind: "move", range: shown().range };
    }
  });
  element.addEventListener("pointermove", (event) => {
    if (drag) change(dragged(drag.scale, drag.range, drag.kind, drag.from, event.offsetX));
  });
  for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => (drag = null));
}
