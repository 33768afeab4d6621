import assert from "node:assert/strict";
import test from "node:test";

import { splitKey } from "../../static/js/timeline/keys.js";
import { emptyModel, evict, horizon, lane, marks, merge, missing, podsByReplica, restartsByPod } from "../../static/js/timeline/model.js";

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
  assert.deepEqual(lane(model.spans, "restarting").map((s) => s.number), [0, 1]);
  assert.deepEqual(podsByReplica(model).get("worker/0/0").map((p) => p.uid), ["a", "b"]);
  assert.deepEqual(restartsByPod(model).get("a").map((r) => r.number), [1, 2]);
});

const large = () => {
  const model = emptyModel();
  const replicas = [0, 1, 2].map((index) => ({ key: `worker/${index}/0`, type: "worker", index, job_index: 0, true: 0 }));
  merge(model, { whole: false, seq: 5, replicas, rows: ["worker/0/0"], pixel: 0, pods: [pod("a", 1, { seq: 5 })] });
  return model;
};

test("of a large job only the rows that were told keep pods", () => {
  const model = large();
  merge(model, { seq: 6, pods: [{ ...pod("b", 2), replica: "worker/1/0", seq: 6 }], replicas: [{ key: "worker/1/0", true: 1 }] });
  assert.deepEqual([...model.pods.keys()], ["a"]);
  assert.equal(model.replicas.get("worker/1/0").true, 1);
  assert.deepEqual(missing(model, ["worker/0/0", "worker/1/0"], 1), ["worker/1/0"]);
});

test("what the stream told while a row was asked for is not undone by the older answer", () => {
  const model = large();
  model.loading.add("worker/1/0");
  merge(model, { seq: 9, pods: [{ ...pod("b", 2, { ended: 7 }), replica: "worker/1/0", seq: 9 }] });
  merge(model, { seq: 8, rows: ["worker/1/0"], pixel: 0, pods: [{ ...pod("b", 2), replica: "worker/1/0", seq: 8 }] });
  assert.equal(model.pods.get("b").ended, 7);
  assert.equal(model.seq, 9, "rows are no news for the stream");
});

test("a row told coarsely is asked for again only when a heap in it would open", () => {
  const model = large();
  const heap = { replica: "worker/0/0", first: "x", start: 1, end: 2, pods: 3, restarts: 3, codes: {} };
  merge(model, { rows: ["worker/0/0"], pixel: 10, pods: [], heaps: [heap] });
  assert.deepEqual(missing(model, ["worker/0/0"], 9), []);
  assert.deepEqual(missing(model, ["worker/0/0"], 2), ["worker/0/0"]);
  merge(model, { rows: ["worker/0/0"], pixel: 2, pods: [pod("a", 1)], heaps: [] });
  assert.equal(model.heaps.has("worker/0/0"), false);
});

test("rows far from sight are dropped, so that the memory stays flat", () => {
  const model = large();
  for (let n = 0; n < 30; n += 1) {
    merge(model, { rows: [`worker/${n}/0`], pixel: 0, pods: [{ ...pod(`p${n}`, 1), replica: `worker/${n}/0` }] });
    evict(model, new Set([`worker/${n}/0`]), 10);
  }
  assert.ok(model.loaded.size <= 11 && model.pods.size <= 11);
  assert.ok(model.pods.has("p29"));
});

test("a first answer after a flood forgets the rows that it does not tell", () => {
  const model = large();
  merge(model, { whole: false, seq: 20, rows: ["worker/2/0"], pixel: 0, pods: [] });
  assert.deepEqual([...model.loaded.keys()], ["worker/2/0"]);
  assert.equal(model.pods.size, 0);
});

test("what an experiment did is told once, in the page's language", () => {
  const model = emptyModel();
  const mark = (key, at, more = {}) => ({ key, at, error: "", text: { en: key, "zh-hans": `中${key}` }, ...more });
  merge(model, { marks: [mark("resume", 9), mark("suspend", 4)] });
  merge(model, { marks: [mark("suspend", 4), mark("resume", 9, { error: "forbidden" })] });
  assert.deepEqual(marks(model, "en").map((one) => [one.at, one.text.replace(/[\u2066-\u2069]/g, "")]), [[4, "suspend"], [9, "resume ✗"]]);
  assert.match(marks(model, "zh-hans")[0].text, /中suspend/);
  assert.match(marks(model, "fr")[0].text, /suspend/);
});
