"""What each exit code means, in a sentence, and how a program comes by it."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from jobs.domain.codes import actual_class, documented_class, signal_name
from jobs.words import piece

KNOWN = (0, 1, 2, 126, 127, 128, 130, 134, 137, 138, 139, 143, 255)


@dataclass
class CodeWords:
    """One line of the reference table. ``surprising``: the operator does not do what the user guide says;
    ``on_purpose``: a command that ends with the code."""

    code: int
    meaning: str
    signal: str
    documented: str
    actual: str
    surprising: bool
    on_purpose: str


def code_words(code: int) -> CodeWords:
    signal = signal_name(code) or ""
    documented, actual = (documented_class(code), actual_class(code)) if code else ("", "")
    return CodeWords(
        code=code,
        meaning=_meaning(code, signal),
        signal=signal,
        documented=piece(documented),
        actual=piece(actual),
        surprising=documented in ("permanent", "retryable") and documented != actual,
        on_purpose=f"kill -{signal.removeprefix('SIG')} $$" if signal else f"exit {code}",
    )


def _meaning(code: int, signal: str) -> str:
    known = {
        0: _("Success. A pod that fails all the same failed for another of its containers."),
        1: _("A general error: most often an exception that nobody caught."),
        2: _("The shell or the program was called in a wrong way."),
        126: _("The command was found, but cannot be executed."),
        127: _("The command was not found."),
        128: _("The container could not be started (StartError), or a program left with a wrong status."),
        130: _("Interrupted, as by Ctrl-C."),
        134: _("The program aborted itself: a failed assertion, or a check in a library."),
        137: _("Killed: by the kernel for memory (then its reason says OOMKilled), or after its grace period."),
        138: _("Left to the user: a program ends with it to be started again."),
        139: _("The program touched memory that is not its own."),
        143: _("Asked to end: deleted, evicted, drained or preempted."),
        255: _("A status out of range, such as -1; also what ssh and mpirun say for a failure elsewhere."),
    }
    if code in known:
        return known[code]
    return _("Ended by signal %(signal)s.") % {"signal": signal} if signal else _("The program's own code.")
