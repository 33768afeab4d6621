import assert from "node:assert/strict";
import test from "node:test";

import { hit, neighbour, podAt, spanAt } from "../../static/js/timeline/hit.js";
import { rows } from "../../static/js/timeline/layout.js";
import { emptyModel, merge, podsByReplica } from "../../static/js/timeline/model.js";
import { scale } from "../../static/js/timeline/scale.js";

const a = { uid: "a", replica: "worker/0/0", created: 0, ended: 9, deleted: 10 };
const b = { uid: "b", replica: "worker/0/0", created: 10, ended: null, deleted: null };
const c = { uid: "c", replica: "worker/1/0", created: 0, ended: null, deleted: null };

const model = emptyModel();
merge(model, { pods: [a, b, c] });
const pods = podsByReplica(model);
const layout = rows(model).rows;
const order = ["worker/0/0", "worker/1/0"];

test("the pointer finds the incarnation under it", () => {
  const row = layout.find((candidate) => candidate.key === "worker/0/0");
  const view = { rows: layout, scale: scale(0, 20, 0, 200), pods, spans: {}, horizon: 20 };
  assert.equal(hit(view, 50, row.top + 5).pod.uid, "a");
  assert.equal(hit(view, 150, row.top + 5).pod.uid, "b");
  assert.equal(hit(view, 50, -50), null);
});

test("of two pods of one index that live at once, the newest is meant", () => {
  assert.equal(podAt([{ ...a, deleted: 15 }, b], 12, 0, 20).uid, "b");
});

test("the shortest span in reach is meant, so that 24 ms can be pointed at", () => {
  const long = { value: "Running", start: 0, end: 100 };
  const brief = { value: "Restarting", start: 50, end: 50.024 };
  assert.equal(spanAt([long, brief], 50.3, 0.5, 100).value, "Restarting");
  assert.equal(spanAt([long, brief], 60, 0.5, 100).value, "Running");
  assert.equal(spanAt([long], 200, 0.5, 100), null);
});

test("arrows move through the incarnations of a replica and to its neighbours", () => {
  assert.equal(neighbour(order, pods, null, "ArrowDown", 20).uid, "a");
  assert.equal(neighbour(order, pods, a, "ArrowRight", 20).uid, "b");
  assert.equal(neighbour(order, pods, b, "ArrowRight", 20).uid, "b");
  assert.equal(neighbour(order, pods, b, "ArrowLeft", 20).uid, "a");
  assert.equal(neighbour(order, pods, a, "ArrowDown", 20).uid, "c");
  assert.equal(neighbour(order, pods, c, "ArrowUp", 20).uid, "a");
  assert.equal(neighbour(order, pods, a, "ArrowUp", 20).uid, "a");
});
