// One pod as bars: what it was doing from when to when, and the ends that are marked on it. Times in, times out; the
// drawing knows nothing of pods.

// Kinds: pending, running, waiting (between two runs in place), completed, failed (ended, not deleted yet), terminating.
export function segments(pod, inPlace, horizon) {
  const born = pod.created ?? pod.running ?? pod.ended;
  if (born === null || born === undefined) return [];
  const gone = pod.deleted ?? horizon;
  const ended = pod.ended ?? gone;
  const result = [];
  const started = pod.running ?? null;
  push(result, "pending", born, Math.min(started ?? ended, ended));
  if (started !== null) runs(result, pod, inPlace, started, ended);
  if (pod.ended !== null && pod.ended !== undefined) push(result, pod.code === 0 ? "completed" : "failed", ended, gone);
  return result;
}

function runs(result, pod, inPlace, started, ended) {
  let from = started;
  for (const restart of inPlace) {
    if (restart.at === null || restart.at < from) continue;
    running(result, pod, from, Math.min(restart.at, ended));
    const again = restart.until ?? ended;
    push(result, "waiting", restart.at, Math.min(again, ended));
    from = Math.max(from, again);
  }
  running(result, pod, from, ended);
}

function running(result, pod, start, end) {
  const asked = pod.terminating;
  if (asked === null || asked === undefined || asked >= end) {
    push(result, "running", start, end);
    return;
  }
  push(result, "running", start, asked);
  push(result, "terminating", Math.max(start, asked), end);
}

function push(result, kind, start, end) {
  if (end > start) result.push({ kind, start, end });
}

// The ends to be marked: [{at, code, reason, failed, inPlace, soft}]. Soft: an end that was asked for, not a failure.
export function ends(pod, inPlace) {
  const result = [];
  for (const restart of inPlace) {
    if (restart.at === null || restart.at === undefined) continue;
    result.push(mark(restart.at, restart.code, restart.reason, { inPlace: true, soft: false }));
  }
  if (pod.ended !== null && pod.ended !== undefined) {
    const soft = !pod.was_restart && ["deleted", "gang", "completed"].includes(pod.cause_code);
    result.push(mark(pod.ended, pod.code, pod.reason || fallbackReason(pod), { inPlace: false, soft }));
  }
  return result;
}

const fallbackReason = (pod) => (pod.code === null || pod.code === undefined ? (pod.cause_code ?? "") : "");

const mark = (at, code, reason, more) => ({ at, code: code ?? null, reason: reason ?? "", failed: code !== 0, ...more });
