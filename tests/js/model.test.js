import assert from "node:assert/strict";
import test from "node:test";

import { emptyModel, horizon, lane, merge, podsByReplica, restartsByPod, splitKey } from "../../static/js/timeline/model.js";

const pod = (uid, created, more = {}) => ({ uid, replica: "worker/0/0", created, running: null, ended: null, ...more });

test("a delta told twice changes nothing", () => {
  const model = emptyModel();
  const delta = { seq: 5, end: null, pods: [pod("a", 1)], spans: [{ lane: "state", number: 0, value: "Running", start: 1, end: null }] };
  assert.equal(merge(model, delta), true);
  const before = JSON.stringify([...model.pods, ...model.spans]);
  assert.equal(merge(model, delta), false);
  assert.equal(JSON.stringify([...model.pods, ...model.spans]), before);
});

test("a delta overwrites what it names and leaves the rest", () => {
  const model = emptyModel();
  merge(model, { job: { kind: "TFJob", true: 0 }, pods: [pod("a", 1, { node: "n1" })] });
  merge(model, { job: { true: 1 }, pods: [{ uid: "a", replica: "worker/0/0", ended: 9 }] });
  assert.equal(model.job.kind, "TFJob");
  assert.equal(model.job.true, 1);
  assert.deepEqual([model.pods.get("a").node, model.pods.get("a").ended], ["n1", 9]);
});

test("the sequence number never goes back", () => {
  const model = emptyModel();
  merge(model, { seq: 9 });
  merge(model, { seq: 7 });
  assert.equal(model.seq, 9);
});

test("a pod of an unknown replica brings its row", () => {
  const model = emptyModel();
  assert.equal(merge(model, { pods: [{ ...pod("a", 1), replica: "odd/type/3/1" }] }), true);
  const replica = model.replicas.get("odd/type/3/1");
  assert.deepEqual([replica.type, replica.index, replica.job_index], ["odd/type", 3, 1]);
});

test("keys are split from their end", () => assert.deepEqual(splitKey("worker/2/0"), ["worker", 2, 0]));

test("open bars end at now only while the job is live", () => {
  const model = emptyModel();
  merge(model, { end: null });
  assert.equal(horizon(model, 50), 50);
  merge(model, { end: 40 });
  assert.equal(horizon(model, 50), 40);
});

test("lanes, pods and restarts come in order, however they arrived", () => {
  const model = emptyModel();
  const span = (number, start) => ({ lane: "restarting", number, start, end: null });
  merge(model, {
    spans: [span(1, 20), span(0, 10)],
    pods: [pod("b", 20), pod("a", 10)],
    restarts: [{ pod: "a", number: 2 }, { pod: "a", number: 1 }],
  });
  assert.deepEqual(lane(model, "restarting").map((s) => s.number), [0, 1]);
  assert.deepEqual(podsByReplica(model).get("worker/0/0").map((p) => p.uid), ["a", "b"]);
  assert.deepEqual(restartsByPod(model).get("a").map((r) => r.number), [1, 2]);
});
