"""How durations, times and ends are written. The browser writes them the same way (static/js/format.js)."""

from datetime import UTC, datetime

from django.utils.translation import gettext as _

from jobs.domain.lengths import Length, length

MINUTE, HOUR, DAY = 60, 3600, 86400


def duration(seconds: float | None) -> str:
    """``24 ms``, ``3.3 s``, ``45 s``, ``2 m 05 s``, ``1 h 02 m``, ``20 d 03 h``; "" for None."""
    if seconds is None:
        return ""
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds < 0.9995:
        return f"{_rounded(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return _long(_rounded(seconds))


def lasted(known: Length | None) -> str:
    """A length, or what is known of it: ``24 ms``, ``< 1 s``, ``≈ 14 s``, ``not measured``; "" for None."""
    if known is None:
        return ""
    if known.seconds is not None:
        return duration(known.seconds)
    if known.said is None:
        return _("not measured")
    return f"< {known.said + 1} s" if known.said < 2 else f"≈ {duration(known.said)}"


def lasted_note(known: Length | None) -> str:
    """Why a length is not told in more digits; "" where it was measured."""
    if known is None or known.seconds is not None or known.said is None:
        return ""
    return _("too short to measure") if known.said < 2 else _("by the cluster's clock")


def measured(seconds: float | None) -> str:
    """A duration between two moments by our clock, for which the cluster has no dates."""
    return lasted(None if seconds is None else length(seconds))


def whole_seconds(seconds: float) -> str:
    """A duration between two moments of the cluster's clock, which has whole seconds."""
    return "< 1 s" if 0 <= seconds < 1 else duration(seconds)


def _long(seconds: int) -> str:
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE} m {seconds % MINUTE:02d} s"
    if seconds < DAY:
        return f"{seconds // HOUR} h {seconds % HOUR // MINUTE:02d} m"
    return f"{seconds // DAY} d {seconds % DAY // HOUR:02d} h"


def _rounded(value: float) -> int:
    """Half up, as JavaScript's Math.round: Python's own rounds half to even."""
    return int(value + 0.5)


def utc(epoch: float) -> datetime | None:
    """The moment as an aware datetime; None where no calendar has such a year."""
    try:
        return datetime.fromtimestamp(epoch, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def exit_text(code: int | None, reason: str | None) -> str:
    """What an end says: the code, and the reason where it says more (``137 OOMKilled``, ``Evicted``, ``138``)."""
    more = reason if reason and reason not in ("Error", "Completed") else ""
    if code is None:
        return more
    return f"{code} {more}" if more else str(code)


def chip_text(code: int | None, oom: bool) -> str:
    """The short form for chips: ``137 OOM``."""
    if code is None:
        return "OOM" if oom else "—"
    return f"{code} OOM" if oom else str(code)
