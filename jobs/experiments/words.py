"""What people are told of a run, in their language."""

from collections.abc import Mapping

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from jobs.experiments.experiment import Text
from jobs.experiments.labels import container_names
from jobs.experiments.models import ExperimentRun, RunState, Trouble
from jobs.experiments.refusals import IN_THE_MANIFEST, advice


def said(text: Text | Mapping[str, str] | None) -> str:
    """A text of the catalogue, or one that was kept as JSON, in the reader's language."""
    chinese = (get_language() or "en").startswith("zh")
    if isinstance(text, Text):
        return text.zh if chinese else text.en
    return str((text or {}).get("zh" if chinese else "en", ""))


def state_words(state: str) -> str:
    words = {
        RunState.LAUNCHING: _("launching"),
        RunState.RUNNING: _("running"),
        RunState.STOPPING: _("stopping"),
        RunState.FINISHED: _("finished"),
        RunState.FAILED: _("failed"),
        RunState.STOPPED: _("stopped"),
    }
    return words.get(RunState(state), state)


def overall_words(overall: str) -> str:
    words = {
        "as expected": _("as expected"),
        "different": _("different"),
        "waiting": _("waiting"),
        "cannot tell": _("cannot tell"),
    }
    return words.get(overall, overall)


def trouble_words(run: ExperimentRun) -> str:
    """One sentence on what is wrong with a run; "" if nothing is."""
    sentences = {
        Trouble.REFUSED: _("The cluster refused it: %(detail)s"),
        Trouble.LAUNCH_DIED: _(
            "The process that launched it ended before everything was created; what it had created is removed."
        ),
        Trouble.UNKNOWN_EXPERIMENT: _("The catalogue has no experiment of this name any more."),
        Trouble.OVER_TIME: _("It was not over by its deadline."),
        Trouble.AWAY: _("The cluster does not answer, so the next step waits: %(detail)s"),
        Trouble.CLEAN_AWAY: _("The cluster does not answer, so the clean-up waits: %(detail)s"),
        Trouble.CLEAN_REFUSED: _("The clean-up was refused: %(detail)s"),
        Trouble.PODS_REFUSED: _("Pods of it could not be created: “%(detail)s”"),
        Trouble.NO_CLUSTER: _("Its cluster is not configured any more, so nothing can be removed there."),
    }
    if not run.trouble:
        return ""
    sentence = sentences[Trouble(run.trouble)] % {"detail": run.detail}
    if run.trouble == Trouble.PODS_REFUSED:
        own = {name for one in run.created.all() for name in container_names(one.manifest)}
        return f"{sentence} {said(advice(run.detail, IN_THE_MANIFEST, own))}"
    return sentence
