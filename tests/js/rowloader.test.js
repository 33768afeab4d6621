import assert from "node:assert/strict";
import test from "node:test";

import { emptyModel, merge } from "../../static/js/timeline/model.js";
import { RowLoader } from "../../static/js/timeline/rowloader.js";

const range = { start: 0, end: 10, width: 100 };
const settled = () => new Promise((done) => setImmediate(done));

function setup(fetchRows) {
  const model = emptyModel();
  merge(model, { whole: false, rows: [], replicas: [] });
  const timers = [];
  const loader = new RowLoader(model, { fetchRows, take: (payload) => merge(model, payload), later: (run) => timers.push(run) });
  return { model, loader, timers, tick: async () => { timers.shift()(); await settled(); } };
}

test("many wishes while scrolling are one request for the last of them", async () => {
  const asked = [];
  const { loader, timers, tick } = setup(async (keys) => { asked.push(keys); return { rows: keys, pixel: 0 }; });
  loader.want(["a/0/0"], range, 1);
  loader.want(["b/0/0"], range, 1);
  assert.equal(timers.length, 1);
  await tick();
  assert.deepEqual(asked, [["b/0/0"]]);
  loader.want(["b/0/0"], range, 1);
  assert.equal(timers.length, 0, "what is known is not asked for again");
});

test("a failed request is tried again, and asks for what is in sight then", async () => {
  let failures = 1;
  const asked = [];
  const { model, loader, timers, tick } = setup(async (keys) => {
    asked.push(keys);
    if (failures-- > 0) throw new Error("503");
    return { rows: keys, pixel: 0 };
  });
  loader.want(["a/0/0"], range, 1);
  await tick();
  assert.equal(model.loading.size, 0);
  assert.equal(timers.length, 1);
  await tick();
  assert.deepEqual(asked, [["a/0/0"], ["a/0/0"]]);
  assert.ok(model.loaded.has("a/0/0"));
});

test("a whole job asks for nothing", () => {
  const { model, loader, timers } = setup(async () => assert.fail());
  model.whole = true;
  loader.want(["a/0/0"], range, 1);
  assert.equal(timers.length, 0);
});
