"""The experiments there are: every module of this folder defines one ``EXPERIMENT``; nothing else has to be told."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from jobs.experiments.experiment import Experiment

FIRST = ("seed", "tf-normal", "pt-normal")  # the order of the cards: these, then the rest by name


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by their name, in the order in which pages show them."""
    found = {}
    for module in iter_modules(__path__):
        experiment: Experiment = import_module(f"{__name__}.{module.name}").EXPERIMENT
        found[experiment.name] = experiment
    order = sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    return {name: found[name] for name in order}
