// What the timeline knows of one job. The first answer and each later delta have the same shape and are merged by key,
// so applying anything twice changes nothing.

export function emptyModel() {
  return {
    seq: 0,
    start: null, // creation of the job, epoch seconds
    end: null, // last moment that is known of it; null while it is live
    job: {},
    spans: new Map(), // "lane/number" -> span
    restarts: new Map(), // "pod/number" -> restart
    replicas: new Map(), // "type/index/job_index" -> replica, in the server's order
    pods: new Map(), // UID -> pod
    unobserved: [],
  };
}

// Merges a payload into the model; true where rows came, so that the layout must be made anew.
export function merge(model, payload) {
  const rows = model.replicas.size;
  if (payload.seq) model.seq = Math.max(model.seq, payload.seq);
  if (payload.start !== undefined) model.start = payload.start;
  if (payload.end !== undefined) model.end = payload.end;
  if (payload.job) Object.assign(model.job, payload.job);
  if (payload.unobserved) model.unobserved = payload.unobserved;
  upsert(model.replicas, payload.replicas, (replica) => replica.key);
  upsert(model.pods, payload.pods, (pod) => pod.uid);
  upsert(model.spans, payload.spans, (span) => `${span.lane}/${span.number}`);
  upsert(model.restarts, payload.restarts, (restart) => `${restart.pod}/${restart.number}`);
  for (const pod of payload.pods ?? []) ensureReplica(model, pod);
  return model.replicas.size !== rows;
}

function upsert(map, items, key) {
  for (const item of items ?? []) map.set(key(item), { ...map.get(key(item)), ...item });
}

function ensureReplica(model, pod) {
  if (model.replicas.has(pod.replica)) return;
  const [type, index, jobIndex] = splitKey(pod.replica);
  model.replicas.set(pod.replica, { key: pod.replica, type, index, job_index: jobIndex, true: 0, kubectl: 0, hidden: 0 });
}

// "worker/0/0" -> ["worker", 0, 0]; the type itself may hold a slash.
export function splitKey(key) {
  const parts = key.split("/");
  const jobIndex = Number(parts.pop());
  const index = Number(parts.pop());
  return [parts.join("/"), index, jobIndex];
}

// Where open bars end: now while the job is live, else the last moment that is known.
export const horizon = (model, now) => (model.end === null ? now : model.end);

// Spans of one lane, in order.
export function lane(model, name) {
  const found = [...model.spans.values()].filter((span) => span.lane === name);
  return found.sort((a, b) => a.number - b.number);
}

// Pods by replica, each list by creation: the order in which keys move through them.
export function podsByReplica(model) {
  const result = new Map();
  for (const key of model.replicas.keys()) result.set(key, []);
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
