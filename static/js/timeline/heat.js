// Restarts by replica and time, coarsely: what the heat strip and the minimap show. The server counts
// {start, step, types: {type: {rows, of, cells: [[row, bucket, restarts]]}}}; live restarts are added here.

import { splitKey } from "./keys.js";

// Adds what a delta's replicas restarted more often than was known. Their numbers are compared, so that a delta told
// twice adds nothing.
export function addHeat(model, delta) {
  if (!model.heat) return;
  for (const replica of delta.replicas ?? []) {
    const known = model.replicas.get(replica.key);
    const more = replica.true - (known?.true ?? 0);
    if (more <= 0) continue;
    const times = (delta.restarts ?? []).filter((restart) => restart.replica === replica.key && restart.at !== null);
    const at = Math.max(...times.map((restart) => restart.at), -Infinity);
    if (at !== -Infinity) addCell(model.heat, replica, Math.max(0, Math.floor((at - model.heat.start) / model.heat.step)), more);
  }
}

function addCell(heat, replica, bucket, more) {
  const [type, index] = splitKey(replica.key);
  const strip = (heat.types[type] ??= { rows: 1, of: 1, cells: [] });
  const row = Math.min(strip.rows - 1, Math.floor((index * strip.rows) / Math.max(1, strip.of)));
  const cell = strip.cells.find((one) => one[0] === row && one[1] === bucket);
  if (cell) cell[2] += more;
  else strip.cells.push([row, bucket, more]);
  heat.version = (heat.version ?? 0) + 1;
}

// All types together, by time: [{start, end, count}], in order.
export function byTime(heat) {
  const buckets = new Map();
  for (const strip of Object.values(heat?.types ?? {})) {
    for (const [, bucket, count] of strip.cells) buckets.set(bucket, (buckets.get(bucket) ?? 0) + count);
  }
  return [...buckets]
    .sort((a, b) => a[0] - b[0])
    .map(([bucket, count]) => ({ start: heat.start + bucket * heat.step, end: heat.start + (bucket + 1) * heat.step, count }));
}

// How strong a cell is, 0.25 to 1: by the logarithm, so that one restart is seen beside a thousand.
export const strength = (count, most) => (most <= 1 ? 1 : 0.25 + (0.75 * Math.log(1 + count)) / Math.log(1 + most));

export const hottest = (strip) => strip.cells.reduce((most, cell) => Math.max(most, cell[2]), 0);

// The cell under a point: {row, count, start, end, first, last}: which part of the type's replicas, from 0. Null for none.
export function cellAt(heat, type, time, share) {
  const strip = heat?.types[type];
  if (!strip) return null;
  const bucket = Math.floor((time - heat.start) / heat.step);
  const row = Math.max(0, Math.min(strip.rows - 1, Math.floor(share * strip.rows)));
  const cell = strip.cells.find((one) => one[0] === row && one[1] === bucket);
  return {
    row,
    count: cell ? cell[2] : 0,
    start: heat.start + bucket * heat.step,
    end: heat.start + (bucket + 1) * heat.step,
    first: Math.ceil((row * strip.of) / strip.rows),
    last: Math.ceil(((row + 1) * strip.of) / strip.rows) - 1,
  };
}
