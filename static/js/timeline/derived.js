// What a picture needs of a model beyond what it holds: worked out anew when the model or its spans have changed.

import { clock, exitText } from "../format.js";
import { t } from "../messages.js";
import { closedAt, overAt, united } from "./layout.js";
import { measured } from "./lengths.js";
import { lane, marks, podsByReplica, restartsByPod } from "./model.js";

// {spans, lanes, restarts, pods, bands, marks}; `spans`: those that are to be drawn, `language`: of the marks' words.
export function derive(model, spans, language) {
  const { over = null, finished } = model.job;
  const states = lane(spans, "state");
  const lanes = {
    state: states,
    restarting: closedAt(lane(spans, "restarting"), overAt(states, over), finished),
    podgroup: lane(spans, "podgroup"),
  };
  const counted = [...model.restarts.values()]
    .filter((restart) => restart.counts && restart.at !== null)
    .map((restart) => ({ start: restart.at, end: restart.until ?? over }));
  const bands = united([...counted, ...model.bands.filter((band) => band.end !== null)]);
  return { spans, lanes, restarts: restartsByPod(model), pods: podsByReplica(model), bands, marks: marks(model, language) };
}

// A pod in words, for those who do not see the picture. `until`: where it ends while it runs.
export function describe(pod, until) {
  const parts = [pod.name, t("created at {time}", { time: clock(pod.created ?? pod.ended) })];
  if (pod.running) parts.push(t("ran {duration}", { duration: measured((pod.ended ?? until) - pod.running) }));
  if (pod.ended) parts.push(t("ended with {code}", { code: exitText(pod.code, pod.reason) }));
  return parts.join(", ");
}
