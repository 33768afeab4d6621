"""A lane's spans as a person reads them: equal neighbours are one phase, flapping is one row."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.domain.state import Span
from jobs.domain.thresholds import FLAP_PHASES, FLAP_SHORT


@dataclass(slots=True)
class Phase:
    """``end`` None while open. ``flaps``: how often it was entered, where several phases alternated; else 0."""

    value: str
    start: float | None
    end: float | None
    flaps: int = 0


def phases(spans: Iterable[Span]) -> list[Phase]:
    """The phases of one lane, flapping collapsed into the phase that was entered most often."""
    result: list[Phase] = []
    short: list[Phase] = []
    for phase in _merged(spans):
        if phase.end is not None and phase.start is not None and phase.end - phase.start < FLAP_SHORT:
            short.append(phase)
        else:
            result.extend(_collapsed(short))
            result.append(phase)
            short = []
    result.extend(_collapsed(short))
    return result


def _merged(spans: Iterable[Span]) -> list[Phase]:
    merged: list[Phase] = []
    for span in spans:
        if merged and merged[-1].value == span.value and merged[-1].end == span.start:
            merged[-1].end = span.end
        else:
            merged.append(Phase(span.value, span.start, span.end))
    return merged


def _collapsed(short: list[Phase]) -> list[Phase]:
    if len(short) < FLAP_PHASES:
        return short
    value, times = Counter(phase.value for phase in short).most_common(1)[0]
    return [Phase(value, short[0].start, short[-1].end, times)]
