"""Single values from the cluster made safe: times, names, texts, numbers in labels."""

from datetime import datetime
from functools import lru_cache
from sys import intern

WORD_LIMIT = 256  # characters; a name, reason or image longer than that is cut
MESSAGE_LIMIT = 1024
END_OF_TIME = 253402300800.0  # the year 10000, which no RFC 3339 text can name
TERMINATION_LIMIT = 4096  # what the kubelet itself lets through
MAX_RESOURCE_VERSION = 2**63 - 1  # what a database column holds


def epoch(text: str | None) -> float | None:
    """Epoch seconds of an RFC 3339 time; None if it is absent or unreadable, and for Go's zero time (year 1)."""
    return _epoch(text) if text is not None and 20 <= len(text) <= 40 else None


@lru_cache(maxsize=1 << 14)  # thousands of lines name the same seconds
def _epoch(text: str) -> float | None:
    if text[10] not in "Tt":
        return None
    try:
        parsed = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    if parsed.tzinfo is None:
        return None
    seconds = parsed.timestamp()
    return seconds if 0 < seconds < END_OF_TIME else None


def word(text: str | None) -> str | None:
    """A name, reason, phase or image: cut if absurdly long, and shared, since thousands of objects say the same."""
    if text is None:
        return None
    if len(text) > WORD_LIMIT or "\0" in text:
        text = bounded(text, WORD_LIMIT) or ""
    return intern(text)


def bounded(text: str | None, limit: int = MESSAGE_LIMIT) -> str | None:
    """A message of at most ``limit`` characters; the last one is an ellipsis where something was cut.

    NUL is legal JSON and no database text: the replacement character takes its place.
    """
    if text is None:
        return None
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.replace("\0", "\ufffd") if "\0" in text else text


def index(text: str | None) -> int | None:
    """A replica index from a label; None if absent or not a plain number."""
    if text is None or len(text) > 9 or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


def resource_version(text: str | None) -> int | None:
    """A resourceVersion as the number it is on every storage that Kubernetes has; None if it is none."""
    if text is None or len(text) > 19 or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= MAX_RESOURCE_VERSION else None


def truth(status: str | None) -> bool | None:
    """A condition's status: "True", "False", anything else is unknown."""
    if status == "True":
        return True
    return False if status == "False" else None
