"""The audit list: each launch, act and clean-up, with who and when."""

import logging
import time

from jobs.experiments.models import ExperimentAction, ExperimentRun

log = logging.getLogger(__name__)

LONGEST = 400


def note(run: ExperimentRun | None, who: str, what: str, target: str, result: str = "done") -> None:
    """Write down that somebody did something to an object, and what came of it."""
    ExperimentAction.objects.create(run=run, at=time.time(), who=who, what=what, object=target[:LONGEST], result=result)
    log.info("%s: %s %s: %s", who, what, target, result)
