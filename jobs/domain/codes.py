"""What an exit code means: what the user guide documents, and what the operator does."""

import signal

PERMANENT = frozenset({1, 2, 126, 127, 128, 139})
RETRYABLE = frozenset({130, 137, 143})
USER_DEFINED = 138
CLASSES = ("permanent", "retryable", "user-defined", "undefined")  # of the user guide
FIRST_RETRIED = 128  # the operator's only test


def documented_class(code: int) -> str:
    """The class in the operator's user guide: ``permanent``, ``retryable``, ``user-defined`` or ``undefined``."""
    if code in PERMANENT:
        return "permanent"
    if code in RETRYABLE:
        return "retryable"
    if code == USER_DEFINED:
        return "user-defined"
    return "undefined"


def retried(code: int) -> bool:
    """Whether the operator restarts a replica with policy ExitCode after this code."""
    return code >= FIRST_RETRIED


def signal_name(code: int) -> str | None:
    """``SIGUSR1`` for 138: a shell reports a death by signal n as 128 + n. None where there is no such signal."""
    try:
        return signal.Signals(code - 128).name if code > FIRST_RETRIED else None
    except ValueError:
        return None


def actual_class(code: int) -> str:
    """What the operator does after this code under ExitCode: ``retryable`` or ``permanent``."""
    return "retryable" if retried(code) else "permanent"


def meaning(code: int) -> str:
    """The class under ExitCode in words, as shown behind a code: ``user-defined, retryable``."""
    if code == 0:
        return "success"
    documented, actual = documented_class(code), actual_class(code)
    if documented == actual:
        return actual
    if documented == "permanent":
        return "documented as permanent, in fact retryable"
    return f"{documented}, {actual}"
