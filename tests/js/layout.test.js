import assert from "node:assert/strict";
import test from "node:test";

import * as L from "../../static/js/timeline/layout.js";
import { emptyModel, merge } from "../../static/js/timeline/model.js";
import { scale } from "../../static/js/timeline/scale.js";

const seconds = scale(0, 100, 100, 1000); // ten pixels a second

function model(count) {
  const found = emptyModel();
  merge(found, { replicas: Array.from({ length: count }, (_, index) => ({ key: `worker/${index}/0`, type: "worker", index, job_index: 0 })) });
  return found;
}

test("rows do not overlap and the height holds them all", () => {
  const { rows, height } = L.rows(model(40));
  rows.slice(1).forEach((row, n) => assert.ok(row.top >= rows[n].top + rows[n].height));
  const last = rows[rows.length - 1];
  assert.ok(height >= last.top + last.height);
});

test("many replicas get a heading for their type, few do not", () => {
  assert.equal(L.rows(model(4)).rows.some((row) => row.kind === "group"), false);
  assert.equal(L.rows(model(60)).rows.filter((row) => row.kind === "group").length, 1);
});

test("replicas of a type are in order of their index, ten after nine", () => {
  const { rows } = L.rows(model(12));
  assert.equal(rows[rows.length - 1].key, "worker/11/0");
});

test("only rows in sight are drawn", () => {
  const { rows } = L.rows(model(10000));
  const [first, last] = L.visible(rows, 50000, 50600);
  assert.ok(last - first < 25);
  for (const row of rows.slice(first, last)) assert.ok(row.top <= 50600 && row.top + row.height >= 50000);
});

test("a point finds its row, and nothing above the first", () => {
  const { rows } = L.rows(model(30));
  for (const row of rows) assert.equal(L.rowAt(rows, row.top + row.height / 2), row);
  assert.equal(L.rowAt(rows, -100), null);
});

test("a Restarting of 24 ms is three pixels wide at every zoom", () => {
  for (const span of [1, 100, 86400, 20 * 86400]) {
    const area = L.box(scale(0, span, 100, 1000), span / 2, span / 2 + 0.024, L.MIN_RESTARTING);
    assert.ok(area.width >= 3);
  }
});

test("boxes outside of the plot are left out, others cut", () => {
  assert.equal(L.box(seconds, 200, 300), null);
  assert.equal(L.box(seconds, -20, -10), null);
  const area = L.box(seconds, -1000, 1000);
  assert.ok(area.left >= 90 && area.right <= 1110);
});

const measure = (text) => text.length * 8;
const mark = (at, text) => ({ at, text });

test("an exit code stands inside the end of its bar", () => {
  const [cap] = L.caps([mark(50, "138")], 100, seconds, measure);
  assert.equal(cap.text, "138");
  assert.equal(cap.left + cap.width, 600);
});

test("where there is no room for the text, the red edge stays", () => {
  const found = L.caps([mark(10, "138"), mark(10.5, "138"), mark(20, "138")], 100, seconds, measure);
  assert.deepEqual(found.map((cap) => cap.text), ["138", "", "138"]);
  assert.ok(found[1].width >= 3);
});

test("a tight place makes the padding smaller before it takes the text away", () => {
  const texts = [60, 36, 29, 27].map((width) => L.caps([mark(width / 10, "138")], 100, seconds, measure)[0]);
  assert.deepEqual(texts.map((cap) => cap.text), ["138", "138", "138", ""]);
  assert.deepEqual(texts.slice(0, 3).map((cap) => cap.width), [36, 36, 29]);
});

test("labels that would touch are left out", () => assert.deepEqual(L.spread([10, 20, 100], [30, 30, 30]), [0, 2]));

test("overlapping bands become one, an open one has no end", () => {
  const found = L.united([{ start: 5, end: null }, { start: 1, end: 3 }, { start: 2, end: 4 }]);
  assert.deepEqual(found, [{ start: 1, end: 4 }, { start: 5, end: Infinity }]);
});

test("of many intervals only those in the range are looked at", () => {
  const all = Array.from({ length: 1000 }, (_, n) => ({ start: n * 10, end: n * 10 + 5 }));
  assert.deepEqual(L.between(all, 102, 121).map((one) => one.start), [100, 110, 120]);
  assert.deepEqual(L.between(all, 106, 109), []);
  assert.deepEqual(L.between([{ start: null, end: 3 }, { start: 3, end: null }], 5, 6), [{ start: 3, end: null }]);
});

test("the worst come first where they are asked for, and stay in order otherwise", () => {
  const order = (options) => L.rows(model(4), options).rows.filter((row) => row.key).map((row) => row.key[7]);
  const ranks = new Map([["worker/2/0", 9], ["worker/3/0", 1]]);
  assert.deepEqual(order({}), ["0", "1", "2", "3"]);
  assert.deepEqual(order({ ranks }), ["2", "3", "0", "1"]);
});

test("a search finds an index, a name, a pod's ending", () => {
  const replica = { type: "worker", index: 17, job_index: 0 };
  for (const text of ["", "17", "worker 17", "Worker-17", " work"]) assert.ok(L.matches(replica, text), text);
  for (const text of ["7", "1", "worker 7", "ps", "worker 1"]) assert.ok(!L.matches(replica, text), text);
  assert.equal(L.rows(model(60), { query: "59" }).rows.filter((row) => row.kind === "replica").length, 1);
});

test("a type of many replicas has its strip of restarts", () => {
  const kinds = (count) => L.rows(model(count)).rows.map((row) => row.kind);
  assert.equal(kinds(60).filter((kind) => kind === "heat").length, 1);
  assert.equal(kinds(20).includes("heat"), false);
});

test("a Restarting that stays True after the end of the job is cut there", () => {
  assert.deepEqual(L.closedAt([{ start: 1, end: null }, { start: 9, end: null }], 5), [{ start: 1, end: 5 }]);
  assert.deepEqual(L.closedAt([{ start: 1, end: null }], null), [{ start: 1, end: null }]);
  assert.deepEqual(L.closedAt([{ start: 1, end: 2 }, { start: 3, end: null }], 5, 4), [{ start: 1, end: 2 }, { start: 3, end: 5, said_end: 4 }]);
});

test("the end of a job is that of its spans' clock, so that a Restarting just before it stays", () => {
  const states = [{ value: "Running", start: 1 }, { value: "Failed", start: 9.45 }];
  assert.equal(L.overAt(states, 9), 9.45, "the cluster's word is a whole second before");
  assert.deepEqual(L.closedAt([{ start: 9.41, end: null }], L.overAt(states, 9), 9), [{ start: 9.41, end: 9.45, said_end: 9 }]);
  assert.equal(L.overAt(states.slice(0, 1), 12.5), 12.5, "deleted while it ran");
  assert.equal(L.overAt(states, null), null);
  assert.equal(L.overAt([], 7), 7);
});
