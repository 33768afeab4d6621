"""The domain's words in both languages of a ``Text``."""

from collections.abc import Callable

from django.utils.translation import override

from jobs.domain.ending import ended
from jobs.domain.state import Incarnation, JobState
from jobs.experiments.experiment import Text
from jobs.words import cause_words, piece, said_words


def ending_text(job: JobState) -> Text:
    """Why a job is over; its state where it goes on."""
    said = ended(job)
    if said is None:
        return Text(job.state, job.state)
    return _in_both(lambda: said_words(said))


def cause_text(pod: Incarnation) -> Text:
    """Why a pod ended."""
    return _in_both(lambda: cause_words(pod.cause))


def class_text(name: str) -> Text:
    """A class of exit codes: ``permanent``, ``retryable``, ``user-defined``, ``undefined``."""
    return _in_both(lambda: piece(name))


def _in_both(words: Callable[[], str]) -> Text:
    with override("en"):
        english = words()
    with override("zh-hans"):
        return Text(english, words())
