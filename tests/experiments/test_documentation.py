"""The experiment that the documentation adds works as it stands there, and its table names all checks."""

import inspect
import re
from pathlib import Path
from types import ModuleType

from jobs.experiments import checks_jobs, checks_pods, checks_restarts
from jobs.experiments.experiment import Experiment
from jobs.experiments.parameters import check, defaults
from jobs.experiments.verdict import Overall
from tests.experiments.rehearsal import Rehearsal

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-experiment.md"


def test_the_example_is_an_experiment_that_ends_as_expected() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("never")
    exec(compile(source, str(PAGE), "exec"), module.__dict__)
    experiment: Experiment = module.EXPERIMENT
    assert not check(experiment, {}).errors
    verdict = Rehearsal(experiment, defaults(experiment)).run()
    assert (verdict.overall, verdict.differences) == (Overall.AS_EXPECTED, ())


def test_the_table_names_every_check() -> None:
    named = set(
        re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8").partition("## Checks")[2].partition("\n## ")[0])
    )
    for module in (checks_pods, checks_jobs, checks_restarts):
        own = {
            name
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__ and not name.startswith("_")
        }
        assert own <= named
        assert own, module.__name__
