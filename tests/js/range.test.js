import assert from "node:assert/strict";
import test from "node:test";

import { readRange, writeRange } from "../../static/js/timeline/range.js";

test("a range survives the address, to the millisecond", () => {
  const range = { start: 1795956231.062, end: 1795956231.087 };
  const found = readRange(writeRange("?tab=replicas", range));
  assert.ok(Math.abs(found.start - range.start) < 0.001 && Math.abs(found.end - range.end) < 0.001);
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
