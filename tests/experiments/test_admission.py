"""Every manifest that a form can ask for is admitted by the simulated API server (``dryRun=All``)."""

import random
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest

from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment, Parameter, ParameterKind, Place
from jobs.experiments.labels import templates
from jobs.experiments.parameters import check, defaults, refusal_field
from simcluster.clock import ManualClock
from simcluster.errors import ApiError
from simcluster.podsecurity import PodSecurityAdmission
from simcluster.requests import Target
from simcluster.resources import NAMESPACES, PODS, by_kind
from simcluster.store import Store
from simcluster.writes import Writer
from tests.simcluster.simserver import SimServer

NAMES = sorted(experiments())
PLACE = Place("default", "x" * 30)
STRICT_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}
SAMPLES = {
    ParameterKind.TEXT: ["registry.example:5000/team/busybox:1.37@sha256:" + "0" * 64],
    ParameterKind.EXIT_CODES: ["0", ", ".join(map(str, range(16)))],
    ParameterKind.FLAG: [True, False],
}


def bounds(parameter: Parameter) -> list[Any]:
    """The default, both limits or each choice."""
    numbers = [each for each in (parameter.minimum, parameter.maximum) if each is not None]
    if parameter.kind is ParameterKind.EXIT_CODE:
        numbers = [parameter.minimum or 0, 255 if parameter.maximum is None else parameter.maximum]
    samples = [*parameter.choices, *SAMPLES.get(parameter.kind, []), *numbers]
    return list(dict.fromkeys([parameter.default, *samples]))


def pairs(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Every pair of bounds of two parameters, the others at their defaults."""
    usual = defaults(experiment)
    yield usual
    for one, other in combinations(experiment.parameters, 2):
        for first, second in product(bounds(one)[1:], bounds(other)[1:]):
            yield {**usual, one.name: first, other.name: second}


def whole_product(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Every combination of limits and choices, of all parameters at once."""
    names = [parameter.name for parameter in experiment.parameters]
    for values in product(*(_extremes(parameter) for parameter in experiment.parameters)):
        yield dict(zip(names, values, strict=True))


def _extremes(parameter: Parameter) -> list[Any]:
    if parameter.kind is ParameterKind.FLAG:
        return [False, True]
    return bounds(parameter)[1:] or bounds(parameter)


def admit(experiment: Experiment, *several: dict[str, Any]) -> None:
    """Dry runs of all objects, by the writer behind the server's HTTP. Raises ApiError."""
    store = Store(ManualClock(), random.Random(1))
    store.serve()
    store.ensure_namespace(PLACE.namespace)
    writer = Writer(store, random.Random(1))
    for values in several:
        for manifest in experiment.objects(values, PLACE):
            resource = by_kind(manifest["apiVersion"], manifest["kind"])
            assert resource is not None
            written = writer.create(Target(resource, PLACE.namespace), STRICT_DRY_RUN, manifest)
            assert not written.warnings
            assert not store.list(resource, PLACE.namespace), "nothing was kept"


@pytest.mark.parametrize("name", NAMES)
def test_every_combination_of_bounds_is_admitted(name: str) -> None:
    experiment = experiments()[name]
    combinations_of_bounds = [*pairs(experiment), *whole_product(experiment)]
    assert len(combinations_of_bounds) > 50
    admit(experiment, *combinations_of_bounds)


def refusals(experiment: Experiment, *several: dict[str, Any]) -> set[str]:
    """What is said of the pods of these jobs where the namespace enforces "restricted": dry runs of one pod for each
    replica type."""
    store = Store(ManualClock(), random.Random(1))
    store.serve()
    PodSecurityAdmission(store)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    store.create(NAMESPACES, {"metadata": {"name": PLACE.namespace, "labels": labels}})
    writer = Writer(store, random.Random(1))
    found = set()
    for values in several:
        for manifest in experiment.objects(values, PLACE):
            for template in templates(manifest):
                pod = {"metadata": {"name": "p"}, "spec": template["spec"]}
                try:
                    found.update(writer.create(Target(PODS, PLACE.namespace), STRICT_DRY_RUN, pod).warnings)
                except ApiError as error:
                    found.add(error.message)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_with_the_option_every_pod_may_be_created_where_restricted_is_enforced(name: str) -> None:
    experiment = experiments()[name]
    usual = defaults(experiment)
    assert all("violates PodSecurity" in text for text in refusals(experiment, usual)) and refusals(experiment, usual)
    combinations_of_bounds = [*pairs(experiment), *whole_product(experiment)]
    assert refusals(experiment, *({**values, "restricted": True} for values in combinations_of_bounds)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_bound_is_accepted_and_what_lies_beyond_is_refused(name: str) -> None:
    experiment = experiments()[name]
    for parameter in experiment.parameters:
        for value in bounds(parameter):
            errors = check(experiment, {parameter.name: str(value)}).errors
            together = experiment.inconsistent({**defaults(experiment), parameter.name: value})
            assert set(errors) <= {"", *together}, "limits of single values; of values together there are others"
        for beyond in (parameter.minimum, parameter.maximum):
            if beyond is not None:
                outside = beyond - 1 if beyond == parameter.minimum else beyond + 1
                assert parameter.name in check(experiment, {parameter.name: str(outside)}).errors


def test_a_wrong_manifest_would_be_refused() -> None:
    """The same path refuses what is wrong, in the words that lead back to the parameter."""
    experiment = experiments()["seed"]
    with pytest.raises(ApiError) as refused:
        admit(experiment, {**defaults(experiment), "workers": -1})
    assert refused.value.code == 422
    assert [refusal_field(experiment, cause["field"]) for cause in refused.value.details["causes"]] == ["workers"]


def test_over_http_they_are_admitted_as_well() -> None:
    server = SimServer().start()
    try:
        for experiment in experiments().values():
            for manifest in experiment.objects(defaults(experiment), PLACE):
                resource = by_kind(manifest["apiVersion"], manifest["kind"])
                assert resource is not None
                path = f"/apis/{manifest['apiVersion']}/namespaces/default/{resource.plural}"
                answer = server.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", manifest)
                assert answer.status == 201, answer.json()
    finally:
        server.stop()
