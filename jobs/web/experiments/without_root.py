"""The option to run without root: on by itself where the namespace enforces restricted pod security, and what the form
says of that."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from jobs.experiments.experiment import Experiment
from jobs.experiments.fields import RESTRICTED as OPTION
from jobs.experiments.manifests import RESTRICTED, has_operators_init
from jobs.experiments.parameters import SOMEWHERE, defaults
from jobs.web.experiments.places import TIMEOUT, UNKNOWN, Enforced

FOUND = "enforced"  # a hidden field: for which finding the box was shown
NOT_KNOWN = "?"  # and behind it the last one that was
LONGEST = 20  # characters of it that are believed


def finding(level: str | None, data: Mapping[str, str]) -> str:
    """A namespace's standard as the hidden field holds it."""
    return NOT_KNOWN + _last_known(data)[:LONGEST] if level is None else level


def _last_known(data: Mapping[str, str]) -> str:
    return data.get(FOUND, "").removeprefix(NOT_KNOWN)


def box(data: Mapping[str, str], level: str | None, *, sent: bool) -> str | None:
    """What the box is to be: "on" or "off"; None where it is as it was sent.

    A box that still stood as its namespace had it follows to another namespace; one that somebody changed stays, and
    so does any where nothing is known of the namespace.
    """
    usual = "on" if level == RESTRICTED else "off"
    if not sent:
        return None if OPTION.name in data else usual
    shown = data.get(FOUND)
    if shown is None or level is None or shown == level:
        return None
    was_usual = (OPTION.name in data) == (_last_known(data) == RESTRICTED)
    return usual if was_usual else None


def found_words(found: Enforced, experiment: Experiment) -> str:
    """What was found out of the namespace, and what that means."""
    level = found.level
    if level is None:
        return _not_known(found.problem)
    if level != RESTRICTED:
        words = _("What this namespace enforces by its label: %(found)s. The cluster itself may enforce more.")
        return words % {"found": level or _("nothing")}
    words = _("This namespace enforces restricted pod security, so this is on unless you switch it off.")
    if not any(has_operators_init(job) for job in experiment.objects(defaults(experiment), SOMEWHERE)):
        return words
    operator = _(
        "The training operator adds an init container to the workers of these jobs, which the namespace refuses unless "
        "the operator's administrator has given it another template (--pytorch-init-container-template-file)."
    )
    return f"{words} {operator}"


def _not_known(problem: str) -> str:
    if problem == TIMEOUT:
        return _("It is not known yet what this namespace enforces: the cluster has not answered.")
    if problem == UNKNOWN:
        return _("It is not known what this namespace enforces.")
    if problem:
        return _("It is not known what this namespace enforces. The cluster says: %(why)s") % {"why": problem}
    return _("It is not known what this namespace enforces: this site may not read its labels.")
