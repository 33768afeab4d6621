import assert from "node:assert/strict";
import test from "node:test";

import { byTime, cellAt, strength } from "../../static/js/timeline/heat.js";
import { emptyModel, merge } from "../../static/js/timeline/model.js";

const model = () => {
  const found = emptyModel();
  const replicas = Array.from({ length: 100 }, (_, index) => ({ key: `worker/${index}/0`, type: "worker", index, job_index: 0, true: 0 }));
  merge(found, { whole: false, replicas, heat: { start: 0, step: 10, types: { worker: { rows: 10, of: 100, cells: [[0, 1, 2]] } } } });
  return found;
};
const delta = (times) => ({
  seq: 2,
  replicas: [{ key: "worker/55/0", type: "worker", index: 55, true: times }],
  restarts: [{ replica: "worker/55/0", pod: "a", number: 0, at: 34 }],
});

test("a live restart is counted once, however often it is told", () => {
  const found = model();
  merge(found, delta(1));
  merge(found, delta(1));
  assert.deepEqual(found.heat.types.worker.cells, [[0, 1, 2], [5, 3, 1]]);
  merge(found, delta(3));
  assert.deepEqual(found.heat.types.worker.cells[1], [5, 3, 3]);
});

test("all types together by time, in order", () => {
  const heat = { start: 100, step: 10, types: { a: { cells: [[0, 2, 1]] }, b: { cells: [[0, 1, 5], [1, 2, 1]] } } };
  assert.deepEqual(byTime(heat), [{ start: 110, end: 120, count: 5 }, { start: 120, end: 130, count: 2 }]);
  assert.deepEqual(byTime(null), []);
});

test("one restart is seen beside a thousand", () => {
  assert.ok(strength(1, 1000) >= 0.25);
  assert.equal(strength(1000, 1000), 1);
  assert.equal(strength(1, 1), 1);
});

test("a point of the strip says which replicas and when", () => {
  const { heat } = model();
  const cell = cellAt(heat, "worker", 15, 0.05);
  assert.deepEqual([cell.count, cell.first, cell.last, cell.start, cell.end], [2, 0, 9, 10, 20]);
  assert.equal(cellAt(heat, "worker", 15, 0.95).count, 0);
  assert.equal(cellAt(heat, "ps", 15, 0.5), null);
});
