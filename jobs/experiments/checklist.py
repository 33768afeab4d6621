"""How a checklist is written down: steps with both texts, and by when each should be met on a real cluster."""

from jobs.experiments.experiment import Check, Step, Text, Values

START = 180.0  # seconds: admission, an image that is pulled first, a slow node
SETTLE = 30.0  # seconds: what comes of an end: noticed, written, deleted, created again
FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 300.0  # seconds: the kubelet's, doubled each time


def step(key: str, text: tuple[str, str], check: Check, by: float, job: int = 0) -> Step:
    """A step; ``text`` in English and Chinese. The check must be of the same ``job``."""
    return Step(key, Text(*text), check, by, job)


def checklist(values: Values, *steps: Step) -> tuple[Step, ...]:
    """The steps with the parameters' values in their texts."""
    return tuple(Step(each.key, each.text.filled(values), each.check, each.by, each.job) for each in steps)


def end_by(after: float, number: int = 1) -> float:
    """By when the ``number``-th run of a replica has ended that is created anew each time and runs ``after`` s."""
    return START + number * (after + SETTLE)


def in_place_by(after: float, number: int = 1) -> float:
    """By when a container has been restarted in place so often that runs ``after`` s each time."""
    waits = (min(FIRST_BACK_OFF * 2**each, LONGEST_BACK_OFF) for each in range(number))
    return START + SETTLE + number * after + 1.3 * sum(waits)


def in_place_seconds(after: float, number: int) -> float:
    """How long so many restarts in place usually take: the first one comes at once."""
    return number * (after + 2) + sum(min(FIRST_BACK_OFF * 2**each, LONGEST_BACK_OFF) for each in range(number - 1))
