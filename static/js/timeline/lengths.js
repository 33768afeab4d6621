// How long a phase lasted, as far as that is known: the rule of jobs/domain/lengths.py, in the words of jobs/web/formats.py.
// All are held to tests/js/lengths.json.

import { duration } from "../format.js";
import { t } from "../messages.js";

const TOGETHER = 0.002; // seconds: writes that come in one read are dated nearly alike, which says nothing of their distance

// {seconds} by our clock, or {said}: what the cluster's clock says in whole seconds, null where it says nothing.
export function length(seconds, said = null) {
  const known = said !== null && said >= 0 ? Math.round(said) : null; // a date that goes back is of another change
  const apart = seconds >= TOGETHER || seconds < 0;
  if (apart && (known === null || (known - 1 <= seconds && seconds <= known + 1))) return { seconds };
  return { said: known };
}

// Of a span; `horizon`: where it ends while it is open. Several spans as one have no dates of their own.
export function spanLength(span, horizon) {
  if (span.end === null || span.times) return { seconds: (span.end ?? horizon) - span.start };
  const dated = span.said_start !== undefined && span.said_end !== undefined;
  return length(span.end - span.start, dated ? span.said_end - span.said_start : null);
}

export function lasted({ seconds, said }) {
  if (seconds !== undefined) return duration(seconds);
  if (said === null) return t("not measured");
  return said < 2 ? `< ${said + 1} s` : `≈ ${duration(said)}`;
}

// Why it is not told in more digits.
export function lastedNote({ seconds, said }) {
  if (seconds !== undefined || said === null) return "";
  return said < 2 ? t("too short to measure") : t("by the cluster's clock");
}

// Between two moments by our clock, for which the cluster has no dates.
export const measured = (seconds) => lasted(length(seconds));
