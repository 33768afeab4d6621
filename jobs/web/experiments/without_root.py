"""The option to run without root: on by itself where the namespace enforces restricted pod security, and what the form
says of that."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from jobs.experiments.experiment import Experiment
from jobs.experiments.fields import RESTRICTED as OPTION
from jobs.experiments.manifests import RESTRICTED, has_operators_init
from jobs.experiments.parameters import SOMEWHERE, defaults

FOUND = "enforced"  # a hidden field: for which finding the box was shown
UNKNOWN = "?"


def finding(level: str | None) -> str:
    """A namespace's standard as the hidden field holds it."""
    return UNKNOWN if level is None else level


def box(data: Mapping[str, str], level: str | None, *, sent: bool) -> str | None:
    """What the box is to be: "on" or "off"; None where it is as it was sent.

    A box that still stood as its namespace had it follows to another namespace; one that somebody changed stays.
    """
    usual = "on" if level == RESTRICTED else "off"
    if not sent:
        return None if OPTION.name in data else usual
    shown = data.get(FOUND)
    was_usual = (OPTION.name in data) == (shown == RESTRICTED)
    return usual if shown is not None and shown != finding(level) and was_usual else None


def found_words(level: str | None, experiment: Experiment) -> str:
    """What was found out of the namespace, and what that means."""
    if level is None:
        return _("It is not known what this namespace enforces: this site may not read its labels.")
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
