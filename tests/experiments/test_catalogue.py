"""The catalogue itself: all entries are found, whole, and written in both languages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.experiments import catalogue
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import BRACED, Experiment, Observed, Text
from jobs.experiments.parameters import SOMEWHERE, check, cost, defaults
from jobs.experiments.verdict import latest
from tests.support.truth import RECORDINGS

NAMES = sorted(experiments())
CHINESE = re.compile(r"[\u4e00-\u9fff]")
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:?!()]|[,;?!()][\u4e00-\u9fff]")
WANTED = {
    "seed", "tf-normal", "pt-normal", "onfailure-one-worker", "onfailure-all-workers", "failing-ps", "failing-master",
    "exit-code-sweep", "oom", "eviction", "delete-pod", "node-lost", "suspend-resume", "scale", "backoff-limit",
    "deadline", "clean-up", "gang-does-not-fit", "failing-sidecar", "failing-init", "start-error", "restart-wave",
    "name-reuse", "completed-pod-again",
}  # fmt: skip


def test_each_file_is_an_experiment_and_nothing_else_has_to_be_told() -> None:
    files = {path.stem for path in Path(catalogue.__file__).parent.glob("*.py")} - {"__init__"}
    assert {name.replace("-", "_") for name in experiments()} == files
    assert set(experiments()) >= WANTED
    assert next(iter(experiments())) == "seed"


@pytest.mark.parametrize("name", NAMES)
def test_its_parts_fit_together(name: str) -> None:
    experiment = experiments()[name]
    values = defaults(experiment)
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", experiment.name)
    assert not check(experiment, {}).errors
    assert check(experiment, {}).values == values
    objects = experiment.objects(values, SOMEWHERE)
    assert set(experiment.kinds) == {each["kind"] for each in objects}
    names = [each["metadata"]["name"] for each in objects]
    assert len(set(names)) == len(names)
    assert all(each.startswith(SOMEWHERE.name) for each in names)
    steps, acts = experiment.steps(values), experiment.acts(values)
    assert len({step.key for step in steps}) == len(steps) > 1
    assert len({act.key for act in acts}) == len(acts)
    assert {act.since for act in acts} <= {step.key for step in steps}
    assert all(act.job < len(objects) for act in acts)
    assert all(0 < step.by <= latest(experiment, values) for step in steps)
    assert all(RECORDINGS.joinpath(recording).is_dir() for recording in experiment.recordings)
    assert len({parameter.name for parameter in experiment.parameters}) == len(experiment.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_values_give_the_same_manifest(name: str) -> None:
    experiment = experiments()[name]
    values = defaults(experiment)
    assert experiment.objects(values, SOMEWHERE) == experiment.objects(values, SOMEWHERE)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_matters(name: str) -> None:
    """A field that changes nothing would mislead: it changes the manifest, a step, an act, or their times."""
    experiment = experiments()[name]

    def outcome(values: dict[str, object]) -> object:
        steps = [(step.key, step.text, step.by) for step in experiment.steps(values)]
        return experiment.objects(values, SOMEWHERE), steps, experiment.acts(values), experiment.seconds(values)

    usual = defaults(experiment)
    for parameter in experiment.parameters:
        others = [*parameter.choices, parameter.minimum, parameter.maximum, "other", True, "0, 1"]
        changed = False
        for other in others:
            try:
                changed = changed or outcome({**usual, parameter.name: other}) != outcome(usual)
            except (AttributeError, TypeError, ValueError):
                continue  # not a value of this parameter
        assert changed, parameter.name


def texts_of(experiment: Experiment) -> Iterator[Text]:
    values = defaults(experiment)
    for text in (experiment.title, experiment.shows, experiment.happens, experiment.explanation):
        yield text.filled(values)
    for parameter in experiment.parameters:
        yield parameter.label
        if parameter.help:
            yield parameter.help
    yield from (step.text for step in experiment.steps(values))
    yield from (act.text for act in experiment.acts(values))
    if experiment.simulated_only:
        yield experiment.simulated_only
    if experiment.table:
        yield from experiment.table(values, Observed((), 0.0, 0.0)).columns


@pytest.mark.parametrize("name", NAMES)
def test_its_texts_are_whole_and_in_both_languages(name: str) -> None:
    for text in texts_of(experiments()[name]):
        assert text.en.strip() == text.en != ""
        assert text.zh.strip() == text.zh != ""
        assert not CHINESE.search(text.en)
        assert not BRACED.search(text.en + text.zh), "every name in braces is a parameter's"
        assert not HALF_WIDTH.search(text.zh), text.zh
        assert "  " not in text.en + text.zh


@pytest.mark.parametrize("name", NAMES)
def test_sentences_are_sentences(name: str) -> None:
    experiment = experiments()[name]
    values = defaults(experiment)
    sentences = [experiment.shows, experiment.happens, experiment.explanation]
    sentences += [step.text for step in experiment.steps(values)]
    for text in sentences:
        assert text.en.endswith((".", ").")), text.en
        assert text.zh.endswith(("。", "。）")), text.zh
    assert CHINESE.search(experiment.title.zh)
    assert not experiment.title.en.endswith(".")


def test_most_clusters_can_bear_a_run() -> None:
    """With the defaults a run is small; only what never runs asks for much."""
    for experiment in experiments().values():
        asked = cost(experiment, defaults(experiment))
        assert asked.replicas <= 40
        assert asked.seconds <= 180
        if experiment.fits:
            assert asked.millicores <= 1000
            assert asked.mebibytes <= 2000
