// What lies under the pointer, and which bar is next for the keys.

import { rowAt } from "./layout.js";
import { secondsPerPixel, toTime } from "./scale.js";

const REACH = 4; // pixels beside a bar that still mean it

const begins = (pod) => pod.created ?? pod.running ?? pod.ended ?? 0;

// {row, pod | null, heap | null, span | null, time} at a point of the plot, or null outside of all rows.
export function hit({ rows, scale, pods, spans, heaps, horizon }, x, y) {
  const row = rowAt(rows, y);
  if (!row) return null;
  const time = toTime(scale, x);
  const reach = REACH * secondsPerPixel(scale);
  if (row.kind === "replica") {
    const heap = (heaps?.get(row.key) ?? []).find((one) => time >= one.start - reach && time <= one.end + reach) ?? null;
    return { row, time, span: null, heap, pod: heap ? null : podAt(pods.get(row.key) ?? [], time, reach, horizon) };
  }
  const lane = spans[row.kind] ?? [];
  return { row, time, pod: null, span: spanAt(lane, time, reach, horizon) };
}

// The newest pod that covers the time: two of one index may live at once.
export function podAt(pods, time, reach, horizon) {
  for (let n = pods.length - 1; n >= 0; n -= 1) {
    const pod = pods[n];
    const end = pod.deleted ?? horizon;
    if (time >= begins(pod) - reach && time <= end + reach) return pod;
  }
  return null;
}

// The shortest span within reach, so that a Restarting of 24 ms can be pointed at.
export function spanAt(spans, time, reach, horizon) {
  let best = null;
  for (const span of spans) {
    const end = span.end ?? horizon;
    if (span.start === null || time < span.start - reach || time > end + reach) continue;
    if (!best || end - span.start < best.end - best.span.start) best = { span, end };
  }
  return best ? best.span : null;
}

// The pod that an arrow key leads to. `order`: replica keys from the top.
export function neighbour(order, pods, selected, key, horizon) {
  if (!selected) {
    const first = order.find((name) => (pods.get(name) ?? []).length);
    return first ? pods.get(first)[0] : null;
  }
  const own = pods.get(selected.replica) ?? [];
  const at = own.findIndex((pod) => pod.uid === selected.uid);
  if (key === "ArrowLeft") return own[Math.max(0, at - 1)];
  if (key === "ArrowRight") return own[Math.min(own.length - 1, at + 1)];
  const by = key === "ArrowUp" ? -1 : 1;
  for (let n = order.indexOf(selected.replica) + by; n >= 0 && n < order.length; n += by) {
    const there = pods.get(order[n]) ?? [];
    if (there.length) return nearest(there, begins(selected), horizon);
  }
  return selected;
}

function nearest(pods, time, horizon) {
  return podAt(pods, time, 0, horizon) ?? pods.reduce((a, b) => (Math.abs(begins(b) - time) < Math.abs(begins(a) - time) ? b : a));
}
