"""The sentence that says which replicas restarted, and what kubectl shows of it.

It is told from sums over the Restart rows, so that an event stream can tell it again with each change without loading
a job of many thousand pods.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.domain.said import replica_words
from jobs.domain.state import ReplicaKey
from jobs.models import Job
from jobs.numbers import number
from jobs.store.pages.changes import RestartSum
from jobs.web.formats import chip_text
from jobs.words import cause_words

CODES_NAMED = 3


@dataclass
class Busy:
    """A replica that restarted."""

    key: ReplicaKey
    recreations: int = 0
    in_place: int = 0

    @property
    def true(self) -> int:
        return self.recreations + self.in_place


def story(row: Job, sums: Iterable[RestartSum], proven: Mapping[ReplicaKey, int]) -> str:
    """``proven``: creations that Events prove, where something was missed."""
    sums = list(sums)
    busy = _busy(sums, proven)
    if not busy:
        return _("No restart was seen, but not all of its life was watched.") if row.at_least else _("No restarts.")
    total = sum(one.true for one in busy)
    worst = max(busy, key=lambda one: one.true)
    if worst.true * 2 > total:
        text = _worst_first(worst, [one for one in busy if one is not worst], sums)
    else:
        text = ngettext(
            "%(replicas)s replicas restarted %(count)s time in all%(codes)s.",
            "%(replicas)s replicas restarted %(count)s times in all%(codes)s.",
            total,
        ) % {"replicas": number(len(busy)), "count": number(total), "codes": _codes(sums)}
    return text[:1].upper() + text[1:]


def _busy(sums: list[RestartSum], proven: Mapping[ReplicaKey, int]) -> list[Busy]:
    found: dict[ReplicaKey, Busy] = {}
    for one in sums:
        busy = found.setdefault(one.key, Busy(one.key))
        if one.in_place:
            busy.in_place += one.times
        else:
            busy.recreations += one.times
    for key, creations in proven.items():
        busy = found.setdefault(key, Busy(key))
        busy.recreations = max(busy.recreations, creations - 1)
    return [busy for busy in found.values() if busy.true]


def _worst_first(worst: Busy, others: list[Busy], sums: list[RestartSum]) -> str:
    """One replica has most of the restarts: the sentence is about it, and a second one names the rest."""
    text = _one_replica(worst, [one for one in sums if one.key == worst.key])
    if not others:
        return text
    rest = sum(one.true for one in others)
    more = ngettext("%(others)s other replica restarted", "%(others)s other replicas restarted", len(others))
    times = ngettext("%(rest)s time", "%(rest)s times", rest)
    return _("%(story)s %(others)s %(times)s.") % {
        "story": text,
        "others": more % {"others": number(len(others))},
        "times": times % {"rest": number(rest)},
    }


def _one_replica(busy: Busy, sums: list[RestartSum]) -> str:
    words = {"replica": replica_words(busy.key), "count": number(busy.true), "codes": _codes(sums)}
    if busy.in_place and busy.recreations:
        text = _("%(replica)s was recreated %(recreations)s and restarted in place %(in_place)s times%(codes)s.")
        return text % {**words, "recreations": number(busy.recreations), "in_place": number(busy.in_place)}
    if busy.in_place:
        text = ngettext(
            "%(replica)s was restarted in place %(count)s time%(codes)s.",
            "%(replica)s was restarted in place %(count)s times%(codes)s.",
            busy.true,
        )
    else:
        text = ngettext(
            "%(replica)s has been recreated %(count)s time%(codes)s.",
            "%(replica)s has been recreated %(count)s times%(codes)s.",
            busy.true,
        )
    return text % words


def _codes(sums: list[RestartSum]) -> str:
    """``, each time after exit code 138``, or the most frequent ends."""
    ends: Counter[tuple[int | None, str, str]] = Counter()
    for one in sums:
        ends[one.exit_code, one.cause_code, one.cause] += one.times
    counted: Counter[str] = Counter()
    for end, times in ends.items():
        counted[end_name(*end)] += times
    if not counted:
        return ""
    if len(counted) == 1:
        name, times = next(iter(counted.items()))
        return (_(", each time after %s") if times > 1 else _(", after %s")) % name
    named = [f"{name} ×{number(count)}" if count > 1 else name for name, count in counted.most_common(CODES_NAMED)]
    more = len(counted) - len(named)
    if more:
        named.append(ngettext("%s other", "%s others", more) % number(more))
    return _(" (%s)") % _(", ").join(named)


def end_name(exit_code: int | None, cause_code: str, cause: str) -> str:
    """What ended the run, in two or three words."""
    if exit_code is None:
        return cause_words(cause)
    return _("exit code %s") % chip_text(exit_code, cause_code == "oom")


def kubectl_story(row: Job) -> str:
    """How much of it kubectl shows."""
    if row.true_restarts == 0:
        if row.kubectl_restarts:
            return _("What kubectl counts are other containers: no main container restarted.")
        return ""
    if row.hidden_restarts == 0:
        return _("kubectl shows all of it.")
    if row.hidden_restarts == row.true_restarts:
        return _("kubectl shows none of it.")
    return ngettext(
        "kubectl does not show %s of them.", "kubectl does not show %s of them.", row.hidden_restarts
    ) % number(row.hidden_restarts)
