"""What a form gives: checked, converted, or refused with a sentence; sums and places."""

from dataclasses import replace

import pytest

from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment, Parameter, ParameterKind, Text
from jobs.experiments.parameters import MAX_MEBIBYTES, MAX_REPLICAS, check, cost, defaults, refusal_field

SEED = experiments()["seed"]
SWEEP = experiments()["exit-code-sweep"]
FLAGGED = experiments()["eviction"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("code", "139", 139),
        ("code", " 139 ", 139),
        ("code", "00139", 139),
        ("fails_after", "1", 1),
        ("image", "registry.example/busybox:1", "registry.example/busybox:1"),
        ("queue", "", ""),
    ],
)
def test_what_can_be_read_is_converted(name: str, text: str, value: object) -> None:
    checked = check(SEED, {name: text})
    assert checked.errors == {}
    assert checked.values == {**defaults(SEED), name: value}


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "127", "256", "1e2", "138.0", "1_38", "１３８", "9" * 5000, "138\n1", "٣"]
)
def test_a_wrong_number_is_told_with_its_limits(text: str) -> None:
    checked = check(SEED, {"code": text})
    assert checked.errors == {"code": Text("Give a whole number from 128 to 255.", "请填写 128 到 255 之间的整数。")}
    assert checked.values["code"] == 138


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x" * 501, "At most 500 characters."),
        ("busybox\nrm", "One line without control characters, please."),
        ("busybox\x00", "One line without control characters, please."),
        ("busy\u202ebox", "One line without control characters, please."),
        ("  ", "This may not be empty."),
    ],
)
def test_a_wrong_line_is_told(text: str, sentence: str) -> None:
    assert check(SEED, {"image": text}).errors["image"].en == sentence


def test_a_name_that_does_not_exist_is_told_with_those_that_do() -> None:
    error = check(SEED, {"{code}": "1"}).errors["{code}"]
    assert error.en.startswith("There is no such parameter; there are: code, fails_after, workers")


def test_choices_and_flags() -> None:
    assert check(FLAGGED, {"policy": "Never"}).values["policy"] == "Never"
    assert check(FLAGGED, {"policy": "never"}).errors["policy"].en == (
        "Choose one of: Never, OnFailure, Always, ExitCode."
    )
    for text, value in {"on": True, "True": True, "1": True, "off": False, "no": False}.items():
        assert check(FLAGGED, {"heeds_sigterm": text}).values["heeds_sigterm"] is value
    assert check(FLAGGED, {"heeds_sigterm": "maybe"}).errors["heeds_sigterm"].en == "Say on or off."


@pytest.mark.parametrize(("text", "value"), [("0", "0"), ("1,2;3 4", "1, 2, 3, 4"), ("007, 7,7", "7"), ("255", "255")])
def test_exit_codes_are_put_in_order(text: str, value: str) -> None:
    assert check(SWEEP, {"codes": text}).values["codes"] == value


@pytest.mark.parametrize("text", ["", ",", "256", "-1", "1.5", "a", " ".join(map(str, range(17)))])
def test_wrong_exit_codes_are_told(text: str) -> None:
    assert check(SWEEP, {"codes": text}).errors["codes"].en == (
        "Give 1 to 16 exit codes from 0 to 255, with commas between them."
    )


def test_several_errors_are_told_at_once() -> None:
    assert set(check(SEED, {"code": "1", "workers": "0", "image": ""}).errors) == {"code", "workers", "image"}


def large(**changes: object) -> Experiment:
    """The wave with limits that single values may not exceed, but the whole does."""
    wave = experiments()["restart-wave"]
    parameters = tuple(
        replace(each, default=changes.get(each.name, each.default), maximum=10**6) if each.maximum else each
        for each in wave.parameters
    )
    return replace(wave, parameters=parameters)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"workers": 201}, f"This asks for 201 replicas; at most {MAX_REPLICAS} are allowed in one run."),
        ({"cpu": 1000}, "This asks for 30000 thousandths of a core; at most 16000 are allowed in one run."),
        ({"memory": 1500}, f"This asks for 45000 MiB of memory; at most {MAX_MEBIBYTES} are allowed in one run."),
        ({"fails_after": 7200}, "This takes 7260 seconds; at most 7200 are allowed for one run."),
    ],
)
def test_totals_protect_the_cluster(changes: dict[str, object], sentence: str) -> None:
    assert check(large(**changes), {}).errors[""].en == sentence


@pytest.mark.parametrize(
    ("name", "raw", "parameter", "sentence"),
    [
        ("seed", {"runs_for": "60"}, "runs_for", "With the other values this must be at least 74, or these replicas"),
        ("scale", {"workers": "3", "fewer": "3"}, "fewer", "This must be fewer than there are workers: 3."),
        ("node-lost", {"toleration": "60"}, "silent", "This must be at least 120, or the node is back before"),
    ],
)
def test_values_that_do_not_go_together_are_told(name: str, raw: dict[str, str], parameter: str, sentence: str) -> None:
    errors = check(experiments()[name], raw).errors
    assert set(errors) == {parameter}
    assert errors[parameter].en.startswith(sentence)


def test_what_never_runs_may_ask_for_much() -> None:
    assert not check(experiments()["gang-does-not-fit"], {"cpu": "100000000"}).errors


def test_costs_are_sums_over_objects_and_containers() -> None:
    seed = cost(SEED, {**defaults(SEED), "workers": 5, "cpu": 100, "memory": 64})
    assert (seed.replicas, seed.millicores, seed.mebibytes) == (6, 600, 384)
    sidecar = experiments()["failing-sidecar"]
    both = cost(sidecar, {**defaults(sidecar), "cpu": 10, "memory": 20})
    assert (both.replicas, both.millicores, both.mebibytes) == (2, 40, 80), "two jobs of two containers each"


def test_what_is_scaled_costs_what_it_is_scaled_to() -> None:
    scale = experiments()["scale"]
    upwards = {**defaults(scale), "workers": 2, "fewer": 9, "cpu": 10}
    assert cost(scale, upwards).replicas == 1 + 9
    assert cost(scale, upwards).millicores == 100


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("spec.tfReplicaSpecs[Worker].replicas", "workers"),
        ("spec.tfReplicaSpecs.Worker.replicas", "workers"),
        ("spec.tfReplicaSpecs[PS].template.spec.containers[0].image", "image"),
        ("spec.tfReplicaSpecs.Worker.template.spec.containers[0].resources.limits[cpu]", "cpu"),
        ("spec.tfReplicaSpecs.Worker.template.spec.containers[0].resources.limits.memory", "memory"),
        ("spec.tfReplicaSpecs.Worker.template.spec.schedulerName", "scheduler"),
        ("spec.runPolicy.schedulingPolicy.queue", "queue"),
        ("spec.runPolicy.backoffLimit", "backoff_limit"),
        ("metadata.name", None),
        ("spec.tfReplicaSpecs[Worker].template.spec.containers[7].image", None),
        ("spec.tfReplicaSpecs", None),
        ("<nil>", None),
        ("", None),
        ("[[[]].[.", None),
        ("a" * 100_000, None),
    ],
)
def test_a_refusal_leads_to_the_parameter_that_fills_the_place(path: str, parameter: str | None) -> None:
    assert refusal_field(SEED, path) == parameter


def test_texts_are_filled_and_nothing_in_a_value_is_filled_again() -> None:
    text = Text("{a} and {b}, {c}", "{a} 和 {b}，{c}").filled({"a": "{b}", "b": 2})
    assert text == Text("{b} and 2, {c}", "{b} 和 2，{c}")


def test_a_number_without_limits_is_an_exit_code() -> None:
    only = Parameter("only", Text("Only", "仅"), ParameterKind.EXIT_CODE, 0)
    experiment = replace(SEED, parameters=(only,), objects=lambda _values, _place: [], acts=lambda _values: ())
    experiment = replace(experiment, seconds=lambda _values: 1.0, inconsistent=lambda _values: {})
    assert check(experiment, {"only": "255"}).values == {"only": 255}
    assert check(experiment, {"only": "256"}).errors["only"].en == "Give a whole number from 0 to 255."
