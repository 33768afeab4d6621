"""How long a phase lasted, as far as that is known.

Our clock dates a write when it is read. Writes that come in one read (the network was slow, or a watch catches up) have
nearly one date, which tells nothing of the time between them. The cluster dates conditions, too, in whole seconds.
"""

from typing import NamedTuple

from jobs.domain.state import JobState, Span

# Seconds. Two lines of one read are dated 0.05 ms apart, half a millisecond on a busy machine; writes of real
# controllers were never less than 4.8 ms apart.
TOGETHER = 0.002


class Length(NamedTuple):
    """``seconds`` by our clock, None where it did not measure them. Then ``said`` is what the cluster's clock says, a
    whole number that is wrong by less than one second; None where it says nothing."""

    seconds: float | None
    said: int | None = None

    def under(self, seconds: float) -> bool:
        """Whether it is known to be shorter."""
        if self.seconds is not None:
            return self.seconds < seconds
        return self.said is not None and self.said + 1 <= seconds


def length(seconds: float, said: float | None = None) -> Length:
    """``seconds`` between two moments by our clock, ``said`` those between the cluster's dates for them."""
    known = round(said) if said is not None and said >= 0 else None  # a date that goes back is of another change
    apart = seconds >= TOGETHER or seconds < 0
    if apart and (known is None or known - 1 <= seconds <= known + 1):
        return Length(seconds)
    return Length(None, known)


def waits_length(seconds: float, times: int) -> Length:
    """Of so many waits together, which the cluster does not date."""
    return Length(seconds if seconds >= TOGETHER * max(1, times) else None)


def span_length(span: Span, until: float, said_until: float | None = None) -> Length | None:
    """None where it is not known when the span began. ``until``: the end of one that is open, and what the cluster says
    of that moment."""
    if span.start is None:
        return None
    end, said_end = (until, said_until) if span.end is None else (span.end, span.said_end)
    said = said_end - span.said_start if said_end is not None and span.said_start is not None else None
    return length(end - span.start, said)


def restarting_length(span: Span, job: JobState, over: float | None, now: float) -> Length | None:
    """The length of a Restarting, which ends with the job although its condition may stay True. ``over``: when that
    was, as we saw it (``job_end``)."""
    if over is None:
        return span_length(span, now)
    return span_length(span, min(over, now), job.finished_at)
