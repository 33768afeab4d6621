"""Ages as kubectl prints them: two units at most, fewer the longer ago it is."""

from simcluster.clock import parse_rfc3339

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400
# Up to which age it is told in which units: (limit, unit, its letter, the smaller unit, its letter).
_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    (float("inf"), _YEAR, "y", 0, ""),
)


def human(seconds: float) -> str:
    """`seconds` as an age: 95s, 3m20s, 14m, 2h5m, 30h, 3d4h, 200d, 2y30d."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    _, large, letter, small, small_letter = next(step for step in _STEPS if whole < step[0])
    rest = whole % large // small if small else 0
    return f"{whole // large}{letter}" + (f"{rest}{small_letter}" if rest else "")


def since(timestamp: object, now: float) -> str:
    """The age of a Kubernetes timestamp; <unknown> for what is none."""
    try:
        return human(now - parse_rfc3339(timestamp)) if isinstance(timestamp, str) else UNKNOWN
    except ValueError:
        return UNKNOWN
