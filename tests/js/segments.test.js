import assert from "node:assert/strict";
import test from "node:test";

import { ends, segments } from "../../static/js/timeline/segments.js";

const pod = (more) => ({ uid: "a", created: 0, running: 5, terminating: null, ended: null, deleted: null, code: null, reason: null, was_restart: false, ...more });
const short = (found) => found.map(({ kind, start, end }) => `${kind} ${start}-${end}`);

test("a pod that runs grows to the horizon", () => {
  assert.deepEqual(short(segments(pod({}), [], 30)), ["pending 0-5", "running 5-30"]);
});

test("a pod that waits has an outline only", () => {
  assert.deepEqual(short(segments(pod({ running: null }), [], 30)), ["pending 0-30"]);
});

test("a failed pod ends, and stays until it is deleted", () => {
  const found = segments(pod({ ended: 15, deleted: 17, code: 138 }), [], 30);
  assert.deepEqual(short(found), ["pending 0-5", "running 5-15", "failed 15-17"]);
});

test("a completed pod is muted to its deletion", () => {
  assert.deepEqual(short(segments(pod({ ended: 15, code: 0 }), [], 30)), ["pending 0-5", "running 5-15", "completed 15-30"]);
});

test("a restart in place is a wait between two runs", () => {
  const found = segments(pod({}), [{ number: 1, at: 10, until: 12 }, { number: 2, at: 20, until: null }], 30);
  assert.deepEqual(short(found), ["pending 0-5", "running 5-10", "waiting 10-12", "running 12-20", "waiting 20-30"]);
});

test("a restart in place of which only the count is known draws nothing", () => {
  assert.deepEqual(short(segments(pod({}), [{ number: 1, at: null, until: null }], 30)), ["pending 0-5", "running 5-30"]);
});

test("a pod that is being deleted fades from when it was asked to go", () => {
  assert.deepEqual(short(segments(pod({ terminating: 20 }), [], 30)), ["pending 0-5", "running 5-20", "terminating 20-30"]);
});

test("a pod without any time draws nothing", () => {
  assert.deepEqual(segments(pod({ created: null, running: null }), [], 30), []);
});

test("ends carry their code, in place ones first", () => {
  const found = ends(pod({ ended: 25, code: 138, reason: "Error", was_restart: true }), [{ number: 1, at: 10, until: 12, code: 1, reason: "Error" }]);
  assert.deepEqual(found.map((mark) => [mark.at, mark.code, mark.inPlace, mark.failed, mark.soft]), [[10, 1, true, true, false], [25, 138, false, true, false]]);
});

test("an end that was asked for is soft, unless a restart followed", () => {
  assert.equal(ends(pod({ ended: 9, code: 143, cause_code: "deleted" }), [])[0].soft, true);
  assert.equal(ends(pod({ ended: 9, code: 143, cause_code: "deleted", was_restart: true }), [])[0].soft, false);
});

test("an end without a code says its cause", () => {
  assert.equal(ends(pod({ ended: 9, cause_code: "node-lost" }), [])[0].reason, "node-lost");
});
