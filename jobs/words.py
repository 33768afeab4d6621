"""What the domain says, in the reader's language. The domain's own words are English, and serve as the key."""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from jobs.domain.ending import ENDINGS
from jobs.domain.said import FINDINGS, Said, Value
from jobs.numbers import number

Patterns = tuple[tuple[str, re.Pattern[str]], ...]

# As jobs.domain.causes words them: the more telling one before one that would match it, too.
CAUSES = (
    N_("exit %(code)s (%(meaning)s)"),
    N_("exit %(code)s"),
    N_("OOM killed (exit %(code)s)"),
    N_("container never started: %(reason)s"),
    N_("completed"),
    N_("restarted with the gang"),
    N_("deleted (%(why)s), exit %(code)s (%(reason)s)"),
    N_("deleted (%(why)s), exit %(code)s"),
    N_("deleted (%(why)s), no exit code seen"),
    N_("deleted, exit %(code)s (%(reason)s)"),
    N_("deleted, exit %(code)s"),
    N_("deleted, no exit code seen"),
    N_("deleted (%(why)s)"),
    N_("deleted"),
    N_("init container %(name)s exited %(code)s"),
    N_("sidecar %(name)s exited %(code)s"),
    N_("evicted by the kubelet"),
    N_("terminated by the kubelet"),
    N_("preempted by the kubelet"),
    N_("preempted by the scheduler"),
    N_("evicted by the API"),
    N_("removed by pod garbage collection"),
    N_("node %(node)s shut down"),
    N_("node shut down"),
    N_("node %(node)s lost"),
    N_("node lost"),
    N_("deadline exceeded"),
    N_("refused by the kubelet: %(reason)s"),
    N_("no exit code seen"),
)
# What stands in those, or in a finding, where it is ours and not the cluster's.
PIECES = (
    N_("retryable"),
    N_("permanent"),
    N_("user-defined, retryable"),
    N_("undefined, retryable"),
    N_("undefined, permanent"),
    N_("documented as permanent, in fact retryable"),
    N_("user-defined"),
    N_("undefined"),
    N_("no reason given"),
    N_("no reason was seen."),
    N_("no phase"),
)
COUNTED = ("count", "replicas", "restarts")  # values of a sentence that are counts, not limits, codes or seconds
LONGEST = 16  # digits of a count: a longer one is a text of the cluster, which Python may refuse to read
SENTENCES = tuple(
    text for one, many in [*ENDINGS.values(), *(f[1:] for f in FINDINGS.values())] for text in (one, many) if text
)


def patterns(templates: Iterable[str]) -> Patterns:
    """What :func:`recognised` looks through, in this order."""
    return tuple((template, _pattern(template)) for template in templates)


def recognised(text: str, known: Patterns) -> tuple[str, dict[str, str]] | None:
    """The first template that made a text, and what was put into it; None for a text of no known form."""
    for template, pattern in known:
        found = pattern.fullmatch(text)
        if found:
            return template, found.groupdict()
    return None


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"%\((\w+)\)s", template)
    texts = [re.escape(part) if n % 2 == 0 else rf"(?P<{part}>{_value(part)})" for n, part in enumerate(parts)]
    return re.compile("".join(texts))


def _value(name: str) -> str:
    return r"-?\d+" if name == "code" else r".+"


_CAUSES = patterns(CAUSES)


def cause_words(text: str | None) -> str:
    """A cause of :mod:`jobs.domain.causes`, translated; as it is where it is of no known form."""
    found = recognised(text or "", _CAUSES)
    if found is None:
        return text or ""
    template, values = found
    return _(template) % {name: piece(value) for name, value in values.items()}


def excluded_words(why: str | None) -> str:
    """Why a recreation is no restart (``Incarnation.excluded``); "" for one that is not excluded."""
    reasons = {
        "suspended": _("the job was suspended"),
        "scaled": _("the job was scaled"),
        "unwatched": _("its spec was changed while nobody watched"),
    }
    return _("not counted: %s") % reasons.get(why, why) if why else ""


def piece(text: str) -> str:
    return _(text) if text in PIECES else text


def said_words(said: Said) -> str:
    """The sentence of an ending or a finding, translated."""
    return _(said.template) % {name: _param(name, value) for name, value in said.params.items()}


def _param(name: str, value: Value) -> Value:
    if not isinstance(value, str):
        return number(value) if name in COUNTED and isinstance(value, int) else value
    if name == "cause":
        return cause_words(value)
    if name == "causes":
        return "; ".join(map(_first_cause, value.split("; ")))
    if name == "replicas":
        return ", ".join(map(_counted_replica, value.split(", ")))
    return piece(value)


def _counted_replica(text: str) -> str:
    """``worker 1: 12``."""
    replica, colon, count = text.rpartition(": ")
    return f"{replica}{colon}{_grouped(count)}"


def _grouped(count: str) -> str:
    """Where a text of the domain ends with a count."""
    return number(int(count)) if count.isascii() and count.isdigit() and len(count) < LONGEST else count


def _first_cause(text: str) -> str:
    """``worker 1, exit 137 (retryable) ×2``."""
    replica, comma, rest = text.partition(", ")
    cause, times, count = rest.partition(" ×")
    return f"{replica}{comma}{cause_words(cause)}{times}{_grouped(count)}"
