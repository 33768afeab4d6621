import assert from "node:assert/strict";
import test from "node:test";

import { readRange, readView, writeRange, writeView } from "../../static/js/timeline/range.js";

test("a range survives the address, to the microsecond, also where it is 2 ms wide", () => {
  const range = { start: 1795956231.062013, end: 1795956231.064987 };
  const found = readRange(writeRange("?tab=replicas", range));
  assert.ok(Math.abs(found.start - range.start) < 2e-6 && Math.abs(found.end - range.end) < 2e-6);
});

test("other parameters stay, and no range leaves none", () => {
  assert.equal(writeRange("?tab=replicas&from=x&to=y", null), "?tab=replicas");
  assert.equal(writeRange("", null), "");
});

test("nonsense is no range", () => {
  for (const search of ["", "?from=x&to=y", "?from=2026-01-01T00:00:00Z", "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"]) {
    assert.equal(readRange(search), null);
  }
});

test("range, order, search and selection come back from the address, other parameters stay", () => {
  const view = { range: { start: 1, end: 2 }, order: "worst", query: "worker 1", pick: { replica: "worker/1/0", uid: "u" } };
  const text = writeView("?tab=facts", view);
  assert.match(text, /tab=facts/);
  assert.deepEqual(readView(text), view);
  const plain = { range: null, order: "index", query: "", pick: null };
  assert.equal(writeView(text, plain), "?tab=facts");
  assert.deepEqual(readView("?order=none&pick=x"), plain);
});
