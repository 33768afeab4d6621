// Draws the lanes above the replicas: the job's state, its Restarting spans, its PodGroup, and where restarts lie.

import { number } from "../format.js";
import { hottest, strength } from "./heat.js";
import { MIN_RESTARTING, between, box, spread } from "./layout.js";
import { lasted, spanLength } from "./lengths.js";
import { SMALL, fillWith, font, inside, rounded, strokeWith, tickMark } from "./shapes.js";

// Restarts of a whole replica type: time across, its replicas from top to bottom, stronger where there were more.
export function drawHeat(pen, view, row, top) {
  const strip = view.heat?.types[row.type];
  if (!strip) return;
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

export function drawStateLane(pen, view, row, top) {
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

export function drawPodGroup(pen, view, row, top) {
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
