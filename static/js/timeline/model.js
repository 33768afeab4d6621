// What the timeline knows of one job. The first answer, later rows and each delta have the same shape and are merged by
// key; of two tellings the one with the higher sequence number stays, so applying anything twice changes nothing.
//
// Of a small job everything is here. Of a large one (`whole` false) only the rows that were in sight hold pods; the
// others have their numbers, and are told of by `heat` and `bands`.

import { isolate } from "../format.js";
import { addHeat } from "./heat.js";
import { splitKey } from "./keys.js";

export function emptyModel() {
  return {
    seq: 0,
    start: null, // creation of the job, epoch seconds
    end: null, // last moment that is known of it; null while it is live
    job: {},
    spans: new Map(), // "lane/number" -> span, or a heap of them (`times`)
    lanePixel: 0, // seconds a pixel covered when they were told, 0 for every detail
    fine: null, // those of a range in sight, told for a smaller pixel (lanes.js)
    restarts: new Map(), // "pod/number" -> restart
    replicas: new Map(), // "type/index/job_index" -> replica, in the server's order
    pods: new Map(), // UID -> pod
    heaps: new Map(), // replica key -> [heap]: pods or restarts too close to be told apart
    unobserved: [],
    marks: new Map(), // key -> what an experiment did to the job
    whole: true,
    loaded: new Map(), // replica key -> seconds a pixel covered when its row was told, 0 for every detail
    loading: new Set(), // replica keys that were asked for
    heat: null, // restarts by type, part of its replicas and time (heat.js)
    bands: [], // when some replica waited, of a job whose restarts are not all here
  };
}

// Merges a payload into the model; true where rows came, so that the layout must be made anew.
export function merge(model, payload) {
  const rows = model.replicas.size;
  if (payload.whole !== undefined) begin(model, payload);
  const part = (payload.rows || payload.lanes) && payload.whole === undefined;
  if (payload.seq) model.seq = part ? model.seq : Math.max(model.seq, payload.seq);
  for (const name of ["start", "end", "unobserved", "heat", "bands"]) if (payload[name] !== undefined) model[name] = payload[name];
  if (payload.job) Object.assign(model.job, payload.job);
  if (payload.whole === undefined && !part) addHeat(model, payload);
  for (const { key, true: count } of payload.replicas ?? []) ensureReplica(model, key).true = count;
  if (payload.rows) takeRows(model, payload);
  const held = (item) => holds(model, item.replica);
  upsert(model.pods, payload.pods?.filter(held), (pod) => pod.uid);
  upsert(model.restarts, payload.restarts?.filter(held), (restart) => `${restart.pod}/${restart.number}`);
  upsert(model.marks, payload.marks, (mark) => mark.key);
  takeSpans(model, payload);
  for (const pod of payload.pods ?? []) ensureReplica(model, pod.replica);
  return model.replicas.size !== rows;
}

// Whether the pods of a replica are kept.
const holds = (model, key) => model.whole || model.loaded.has(key) || model.loading.has(key);

// A first answer, or one after a stream that told too much: rows in it are new, others are asked for again.
function begin(model, payload) {
  model.whole = payload.whole;
  model.loaded.clear();
  if (payload.whole) return;
  model.pods.clear();
  model.restarts.clear();
  model.heaps.clear();
}

// The spans of one range stand apart; a first answer and a delta belong to all.
function takeSpans(model, payload) {
  const key = (span) => `${span.lane}/${span.number}`;
  if (payload.lanes && payload.whole === undefined) {
    model.fine = { ...payload.lanes, spans: new Map(payload.spans.map((span) => [key(span), span])) };
    return;
  }
  if (payload.lanes) {
    model.lanePixel = payload.lanes.pixel;
    model.fine = null;
    model.spans.clear();
  }
  upsert(model.spans, payload.spans, key);
  if (model.fine) upsert(model.fine.spans, payload.spans, key);
}

// Whole rows replace what was known of them, but for what the stream has told since.
function takeRows(model, payload) {
  const keys = new Set(payload.rows);
  forget(model, keys, payload.seq ?? Infinity);
  for (const key of keys) {
    model.loaded.set(key, payload.pixel ?? 0);
    model.loading.delete(key);
  }
  for (const heap of payload.heaps ?? []) {
    if (!model.heaps.has(heap.replica)) model.heaps.set(heap.replica, []);
    model.heaps.get(heap.replica).push(heap);
  }
}

// Drops the pods and restarts of some replicas that are not newer than `seq`.
export function forget(model, keys, seq = Infinity) {
  for (const map of [model.pods, model.restarts]) {
    for (const [name, item] of map) if (keys.has(item.replica) && (item.seq ?? 0) <= seq) map.delete(name);
  }
  for (const key of keys) {
    model.heaps.delete(key);
    model.loaded.delete(key);
  }
}

function upsert(map, items, key) {
  for (const item of items ?? []) {
    const known = map.get(key(item));
    if (known && (known.seq ?? 0) > (item.seq ?? Infinity)) continue;
    map.set(key(item), { ...known, ...item });
  }
}

function ensureReplica(model, key) {
  const known = model.replicas.get(key);
  if (known) return known;
  const [type, index, jobIndex] = splitKey(key);
  const replica = { key, type, index, job_index: jobIndex, true: 0 };
  model.replicas.set(key, replica);
  return replica;
}

// Where open bars end: now while the job is live, else the last moment that is known.
export const horizon = (model, now) => (model.end === null ? now : model.end);

// Spans of one lane, in order.
export function lane(spans, name) {
  const found = [...spans.values()].filter((span) => span.lane === name);
  return found.sort((a, b) => a.number - b.number);
}

// What an experiment did, oldest first, in words of the page's language.
export function marks(model, language) {
  const found = [...model.marks.values()].sort((a, b) => a.at - b.at);
  return found.map((mark) => ({ at: mark.at, text: isolate(mark.text[language] ?? mark.text.en) + (mark.error ? " ✗" : "") }));
}

// Pods by replica, each list by creation: the order in which keys move through them.
export function podsByReplica(model) {
  const result = new Map();
  for (const key of model.whole ? model.replicas.keys() : model.loaded.keys()) result.set(key, []);
  for (const pod of model.pods.values()) result.get(pod.replica)?.push(pod);
  for (const pods of result.values()) pods.sort((a, b) => (a.created ?? 0) - (b.created ?? 0));
  return result;
}

// Restarts by the UID of the pod that ended, each list by number.
export function restartsByPod(model) {
  const result = new Map();
  for (const restart of model.restarts.values()) {
    if (!result.has(restart.pod)) result.set(restart.pod, []);
    result.get(restart.pod).push(restart);
  }
  for (const list of result.values()) list.sort((a, b) => a.number - b.number);
  return result;
}

// Which of the rows in sight must be asked for: those never told, and those told too coarsely for a pixel of so many
// seconds. `keys` in the order of their urgency.
export function missing(model, keys, pixel, most = 120) {
  if (model.whole) return [];
  const found = keys.filter((key) => {
    if (model.loading.has(key)) return false;
    const told = model.loaded.get(key);
    return told === undefined || (model.heaps.has(key) && told > pixel * 1.9);
  });
  return found.slice(0, most);
}

// Keeps the memory flat while somebody scrolls through thousands of rows. `near`: keys that stay.
export function evict(model, near, most = 600) {
  if (model.whole || model.loaded.size <= most) return;
  const far = [...model.loaded.keys()].filter((key) => !near.has(key));
  forget(model, new Set(far.slice(0, model.loaded.size - most / 2)));
}
