"""The experiments there are: every module of this folder defines one ``EXPERIMENT``; nothing else has to be told."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from jobs.experiments.experiment import Experiment

# The order in which pages show them: from the puzzle to its parts. A new one follows, by name, until it is put here.
ORDER = (
    "seed",
    "tf-normal",
    "pt-normal",
    "exit-code-sweep",
    "failing-master",
    "backoff-limit",
    "backoff-zero",
    "onfailure-one-worker",
    "onfailure-all-workers",
    "failing-ps",
    "oom",
    "start-error",
    "missing-image",
    "failing-init",
    "failing-sidecar",
    "restart-wave",
    "delete-pod",
    "eviction",
    "node-lost",
    "completed-pod-again",
    "suspend-resume",
    "scale",
    "name-reuse",
    "deadline",
    "clean-up",
    "gang-does-not-fit",
)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by their name, in the order in which pages show them."""
    found = {}
    for module in iter_modules(__path__):
        experiment: Experiment = import_module(f"{__name__}.{module.name}").EXPERIMENT
        found[experiment.name] = experiment
    order = sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return {name: found[name] for name in order}
