"""The job's lanes as the browser takes them: every phase, or heaps of those that would share a pixel."""

from collections.abc import Iterable, Sequence
from typing import Any

from jobs.domain.state import Span
from jobs.models import Job
from jobs.models import Span as SpanRow
from jobs.store.pages import timeline as store
from jobs.web.detail import GAP

Json = dict[str, Any]

SPANS = 5000  # phases of one lane up to which all are told


def lanes(row: Job, seq: int, now: float, between: tuple[float, float], pixel: float) -> Json:
    """The phases of one range of a job whose lanes did not come in every detail: one by one, or piled at this zoom."""
    start, end = between
    spans = store.spans_between(row.id, start, end).values()
    told = told_pixel(spans, pixel)
    return {
        "seq": seq,
        "now": now,
        "lanes": {"start": start, "end": end, "pixel": told},
        "spans": told_spans(spans, told),
    }


def told_pixel(lanes: Iterable[Sequence[Span]], pixel: float) -> float:
    """Seconds of a pixel for which the lanes are told; 0 where every phase is."""
    return pixel if any(len(lane) > SPANS for lane in lanes) else 0.0


def told_spans(lanes: Iterable[Sequence[Span]], pixel: float) -> list[Json]:
    """The job's lanes. Of a lane with very many phases those that would share a pixel are one, with their number."""
    found: list[Json] = []
    for lane in lanes:
        if pixel and len(lane) > SPANS:
            found.extend(_piled(lane, pixel))
        else:
            found.extend(map(span_json, lane))
    return found


def _piled(lane: Iterable[Span], pixel: float) -> list[Json]:
    found: list[Json] = []
    for span in lane:
        last = found[-1] if found else None
        start, end = span.start, span.end
        near = last is not None and last["end"] is not None and start is not None and end is not None
        if last is not None and near and last["value"] == span.value and (end or 0.0) - last["start"] < GAP * pixel:
            last["end"], last["times"] = end, last.get("times", 1) + 1
        else:
            found.append(span_json(span))
    return found


def span_json(span: Span | SpanRow) -> Json:
    result: Json = {
        "lane": span.lane,
        "number": span.number,
        "value": span.value,
        "start": span.start,
        "end": span.end,
    }
    for name in ("running", "min_member", "reason", "said_start", "said_end"):
        if span.detail.get(name) is not None:
            result[name] = span.detail[name]
    return result
