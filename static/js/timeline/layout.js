// Where rows, bars and end caps lie. Pure: pixels and times in, boxes out.

import { number } from "../format.js";
import { toX } from "./scale.js";

export const AXIS = 26;
const MARKERS = 18; // room above the state lane for the lengths of Restarting
const HEIGHTS = { state: 22, podgroup: 20, group: 22, heat: 34, replica: 26 };
const GAP = 9;
export const MIN_RESTARTING = 3; // pixels, however short
const GROUP_FROM = 13; // replicas from which types get a heading
const NARROW = 560; // pixels of a timeline below which names get less room
const DIGIT = 8; // pixels of one in a count
const HEAT_FROM = 40; // replicas from which a type gets its strip of restarts

// Rows from the top: the two job lanes, then the replicas by type. `top` is the row's own upper edge. `ranks`: replica
// key -> restarts, where the worst come first; `query`: only replicas whose name has this text.
export function rows(model, { ranks = null, query = "" } = {}) {
  const result = [];
  let top = MARKERS;
  const add = (row) => {
    result.push({ ...row, top, height: HEIGHTS[row.kind] });
    top += HEIGHTS[row.kind] + GAP;
  };
  add({ kind: "state" });
  add({ kind: "podgroup" });
  top += GAP;
  const headings = model.replicas.size >= GROUP_FROM;
  for (const [type, replicas] of byType(model, ranks)) {
    const found = replicas.filter((replica) => matches(replica, query));
    if (headings) add({ kind: "group", type, count: found.length });
    if (replicas.length >= HEAT_FROM && !query) add({ kind: "heat", type });
    for (const replica of found) add({ kind: "replica", key: replica.key });
  }
  return { rows: result, height: top + 4 };
}

// Pixels left of the plot, for names and counts: more where counts are long. `width`: of the timeline.
export function gutterFor(width, longest) {
  const [least, characters] = width < NARROW ? [108, 3] : [150, 6];
  return least + Math.max(0, longest - characters) * DIGIT;
}

export const countText = (count, atLeast) => `${atLeast ? "≥ " : ""}${number(count)}`;

// Characters of the longest count that stands beside a replica.
export function longestCount(model) {
  let most = 0;
  for (const replica of model.replicas.values()) most = Math.max(most, replica.true);
  return countText(most, model.job.at_least).length;
}

export const replicaName = ({ type, index, job_index: part }) => `${type} ${part ? `${part}/` : ""}${index}`;

// A number alone means that index; other text is looked for in the name.
export function matches(replica, query) {
  const text = query.trim().toLowerCase();
  if (!text) return true;
  if (/^\d+$/.test(text)) return String(replica.index) === text;
  const name = replicaName(replica).toLowerCase();
  return /\d$/.test(text) ? name.endsWith(text) || name.replace(" ", "-").endsWith(text) : name.includes(text);
}

// Types in the order in which the server names them, replicas by index, or those that restarted most first.
export function byType(model, ranks = null) {
  const types = new Map();
  for (const replica of model.replicas.values()) {
    if (!types.has(replica.type)) types.set(replica.type, []);
    types.get(replica.type).push(replica);
  }
  const rank = (replica) => (ranks ? (ranks.get(replica.key) ?? 0) : 0);
  for (const list of types.values()) {
    list.sort((a, b) => rank(b) - rank(a) || a.job_index - b.job_index || a.index - b.index);
  }
  return types;
}

// The rows between two heights, by binary search: [first, last).
export function visible(all, top, bottom) {
  return [search(all, (row) => row.top + row.height >= top), search(all, (row) => row.top > bottom)];
}

function search(all, holds) {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(all[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function rowAt(all, y) {
  const first = search(all, (row) => row.top + row.height + GAP / 2 >= y);
  const row = all[first];
  return row && y >= row.top - GAP / 2 ? row : null;
}

// Pixels of an interval, cut to the plot; null where it is outside. `least`: it is never narrower.
export function box(scale, start, end, least = 0) {
  let left = toX(scale, start);
  let right = toX(scale, end);
  if (right - left < least) right = left + least;
  const edge = scale.left + scale.width;
  if (right < scale.left || left > edge) return null;
  left = Math.max(left, scale.left - 4);
  right = Math.min(right, edge + 4);
  return { left, right, width: right - left };
}

// End caps from left to right. A cap stands inside the end of its bar, with its text where there is room since the bar's
// start or the cap before (of two paddings the one that fits), else as a narrow edge: [{left, width, text | "", end}].
// `measure(text)` gives pixels.
export function caps(marks, from, scale, measure, [padding, tight] = [6, 2]) {
  const result = [];
  let free = from;
  for (const mark of marks) {
    const right = toX(scale, mark.at);
    const text = measure(mark.text);
    const fits = right - free >= text + 2 * tight;
    const width = fits ? Math.min(text + 2 * padding, right - free) : Math.max(3, Math.min(5, right - free));
    result.push({ left: right - width, width, text: fits ? mark.text : "", mark });
    free = right + 1;
  }
  return result;
}

// Labels that would touch the one before are left out: indexes of those that stay.
export function spread(positions, widths, gap = 6) {
  const kept = [];
  let free = -Infinity;
  positions.forEach((x, index) => {
    const left = x - widths[index] / 2;
    if (left < free) return;
    kept.push(index);
    free = x + widths[index] / 2 + gap;
  });
  return kept;
}

// Overlapping intervals as one, so that the colour of bands does not add up. An open end is Infinity.
export function united(bands) {
  const sorted = bands.map((band) => ({ start: band.start, end: band.end ?? Infinity })).sort((a, b) => a.start - b.start);
  const result = [];
  for (const band of sorted) {
    const last = result[result.length - 1];
    if (last && band.start <= last.end) last.end = Math.max(last.end, band.end);
    else result.push({ ...band });
  }
  return result;
}

// Those of many ordered intervals that touch [start, end]: the drawing looks at no others. Ends are in order, too.
export function between(intervals, start, end) {
  const first = search(intervals, (one) => (one.end ?? Infinity) >= start);
  const last = search(intervals, (one) => (one.start ?? -Infinity) > end);
  return intervals.slice(first, Math.max(first, last));
}

// When the job was over by our clock, as the spans are: the header's word may be the cluster's, in whole seconds, and so
// before what led to the end. `states`: its spans in order.
export function overAt(states, over) {
  const last = states[states.length - 1];
  return over !== null && ["Succeeded", "Failed"].includes(last?.value) ? (last.start ?? over) : over;
}

// Spans as they are to be highlighted: cut where the job was over, although its condition may stay True for ever.
// `finished`: the cluster's date for that moment.
export function closedAt(spans, over, finished) {
  if (over === null) return spans;
  const said = typeof finished === "number" ? { said_end: finished } : {};
  return spans
    .filter((span) => span.start < over)
    .map((span) => (span.end !== null && span.end <= over ? span : { ...span, ...said, end: over }));
}
