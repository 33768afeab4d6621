"""What a form gives, checked and converted; what a run with these values asks of a cluster; where a value lands."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jobs.experiments import fields
from jobs.experiments.experiment import (
    ActKind,
    Experiment,
    Object,
    Parameter,
    ParameterKind,
    Place,
    Text,
    Values,
)
from jobs.experiments.manifests import BY_KIND, RESTRICTED

TEXT_LIMIT = 500  # characters
DIGITS = 9  # of a number: more would be a long wait for a conversion, and is beyond every limit
MAX_REPLICAS = 200
MAX_MILLICORES = 16_000
MAX_MEBIBYTES = 32_768
MAX_CODES = 16
MAX_SECONDS = 2 * 3600
WHOLE = ""  # the key of an error that concerns the values together
SOMEWHERE = Place("default", "experiment")
INDEX = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True)
class Checked:
    """``values`` is complete where ``errors`` is empty. Keys of errors are parameters' names, ``""`` for the whole."""

    values: Values
    errors: Mapping[str, Text]


@dataclass(frozen=True)
class Cost:
    """What a run asks of a cluster at the same time, and for how long."""

    replicas: int
    millicores: int
    mebibytes: int
    seconds: float


def defaults(experiment: Experiment) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in experiment.parameters}


def defaults_in(experiment: Experiment, level: str | None) -> dict[str, Any]:
    """The defaults where a namespace enforces this pod security standard; None: that is not known."""
    usual = defaults(experiment)
    return usual | ({fields.RESTRICTED.name: level == RESTRICTED} if fields.RESTRICTED.name in usual else {})


def check(experiment: Experiment, raw: Mapping[str, str]) -> Checked:
    """Texts of a form or a command to values. What ``raw`` has not got takes its default, a flag then is off only
    if it is said to be: ``off``, ``false``, ``no``, ``0``. Names that the experiment has not got are errors."""
    values: dict[str, Any] = defaults(experiment)
    errors: dict[str, Text] = {}
    known = {parameter.name: parameter for parameter in experiment.parameters}
    for name, text in raw.items():
        if name not in known:
            errors[name] = UNKNOWN.filled({"names": ", ".join(known)})
            continue
        try:
            values[name] = READERS[known[name].kind](known[name], str(text).strip())
        except _Wrong as wrong:
            errors[name] = wrong.text
    if not errors:
        errors |= experiment.inconsistent(values)
    if not errors:
        errors |= _beyond_totals(experiment, values)
    return Checked(values, errors)


def cost(experiment: Experiment, values: Values) -> Cost:
    """The sums over the objects of a run, each as large as it ever is."""
    scaled = [(act.job, act.params) for act in experiment.acts(values) if act.kind is ActKind.SCALE]
    total = Cost(0, 0, 0, experiment.seconds(values))
    for job, replica_type, spec in _replica_specs(experiment.objects(values, SOMEWHERE)):
        later = [
            int(to["replicas"]) for scaled_job, to in scaled if (scaled_job, to["replica_type"]) == (job, replica_type)
        ]
        number = max(int(spec["replicas"]), *later, 0)
        limits = [each["resources"]["limits"] for each in spec["template"]["spec"]["containers"]]
        total = replace(
            total,
            replicas=total.replicas + number,
            millicores=total.millicores + number * sum(int(each["cpu"].removesuffix("m")) for each in limits),
            mebibytes=total.mebibytes + number * sum(int(each["memory"].removesuffix("Mi")) for each in limits),
        )
    return total


def refusal_field(experiment: Experiment, json_path: str) -> str | None:
    """The parameter that fills a place of the manifest, as an API server names it in ``details.causes[].field``
    (``spec.tfReplicaSpecs[Worker].replicas`` or ``spec.tfReplicaSpecs.Worker.replicas``); None if none does."""
    usual = defaults(experiment)
    steps = _steps(json_path)
    before = _leaves(experiment, usual, steps)
    for parameter in experiment.parameters:
        for other in _others(parameter):
            if _leaves(experiment, {**usual, parameter.name: other}, steps) != before:
                return parameter.name
    return None


# --- reading

UNKNOWN = Text("There is no such parameter; there are: {names}.", "没有这个参数；可用的参数有：{names}。")
NO_NUMBER = Text("Give a whole number from {low} to {high}.", "请填写 {low} 到 {high} 之间的整数。")
NO_CODES = Text(
    "Give 1 to {limit} exit codes from 0 to 255, with commas between them.",
    "请填写 1 到 {limit} 个 0 到 255 之间的退出码，用逗号分隔。",
)
NO_CHOICE = Text("Choose one of: {choices}.", "请从以下选项中选择：{choices}。")
NO_FLAG = Text("Say on or off.", "请填写 on 或 off。")
TOO_LONG = Text("At most {limit} characters.", "最多 {limit} 个字符。")
ONE_LINE = Text("One line without control characters, please.", "只能是一行文字，不能含有控制字符。")
EMPTY = Text("This may not be empty.", "此项不能为空。")
FLAGS = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}


class _Wrong(Exception):
    def __init__(self, text: Text) -> None:
        self.text = text


def _number(parameter: Parameter, text: str) -> int:
    low = 0 if parameter.minimum is None else parameter.minimum
    high = 255 if parameter.maximum is None else parameter.maximum
    value = int(text) if re.fullmatch(rf"\d{{1,{DIGITS}}}", text, re.ASCII) else -1
    if not low <= value <= high:
        raise _Wrong(NO_NUMBER.filled({"low": low, "high": high}))
    return value


def _choice(parameter: Parameter, text: str) -> str:
    if text not in parameter.choices:
        raise _Wrong(NO_CHOICE.filled({"choices": ", ".join(parameter.choices)}))
    return text


def _line(parameter: Parameter, text: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise _Wrong(TOO_LONG.filled({"limit": TEXT_LIMIT}))
    if not text.isprintable():
        raise _Wrong(ONE_LINE)
    if parameter.default and not text:
        raise _Wrong(EMPTY)
    return text


def _codes(_parameter: Parameter, text: str) -> str:
    """Each code once, in the order given."""
    words = list(dict.fromkeys(word for word in re.split(r"[\s,;]+", text) if word))
    if not 1 <= len(words) <= MAX_CODES or not all(
        re.fullmatch(r"\d{1,3}", word, re.ASCII) and int(word) <= 255 for word in words
    ):
        raise _Wrong(NO_CODES.filled({"limit": MAX_CODES}))
    return ", ".join(dict.fromkeys(str(int(word)) for word in words))


def _flag(_parameter: Parameter, text: str) -> bool:
    if text.lower() not in FLAGS:
        raise _Wrong(NO_FLAG)
    return FLAGS[text.lower()]


READERS: dict[ParameterKind, Callable[[Parameter, str], Any]] = {
    ParameterKind.INTEGER: _number,
    ParameterKind.SECONDS: _number,
    ParameterKind.EXIT_CODE: _number,
    ParameterKind.EXIT_CODES: _codes,
    ParameterKind.CHOICE: _choice,
    ParameterKind.TEXT: _line,
    ParameterKind.FLAG: _flag,
}

# --- totals

TOO_MANY_REPLICAS = Text(
    "This asks for {found} replicas; at most {limit} are allowed in one run.",
    "共需 {found} 个副本；一次运行最多允许 {limit} 个。",
)
TOO_MUCH_CPU = Text(
    "This asks for {found} thousandths of a core; at most {limit} are allowed in one run.",
    "共需 {found} 个千分之一核；一次运行最多允许 {limit} 个。",
)
TOO_MUCH_MEMORY = Text(
    "This asks for {found} MiB of memory; at most {limit} are allowed in one run.",
    "共需 {found} MiB 内存；一次运行最多允许 {limit} MiB。",
)
TOO_LONG_RUN = Text(
    "This takes {found} seconds; at most {limit} are allowed for one run.",
    "需要 {found} 秒；一次运行最多允许 {limit} 秒。",
)


def _beyond_totals(experiment: Experiment, values: Values) -> dict[str, Text]:
    asked = cost(experiment, values)
    totals = [(TOO_MANY_REPLICAS, asked.replicas, MAX_REPLICAS), (TOO_LONG_RUN, round(asked.seconds), MAX_SECONDS)]
    if experiment.fits:
        totals += [(TOO_MUCH_CPU, asked.millicores, MAX_MILLICORES), (TOO_MUCH_MEMORY, asked.mebibytes, MAX_MEBIBYTES)]
    for text, found, limit in totals:
        if found > limit:
            return {WHOLE: text.filled({"found": found, "limit": limit})}
    return {}


def _replica_specs(objects: list[Object]) -> Iterator[tuple[int, str, Object]]:
    """Which object, replica type, and its spec."""
    for job, each in enumerate(objects):
        specs = each["spec"][BY_KIND[each["kind"]].specs]
        yield from ((job, replica_type, spec) for replica_type, spec in specs.items())


# --- places


def _others(parameter: Parameter) -> list[Any]:
    """Values that differ from the default one."""
    if parameter.kind is ParameterKind.CHOICE:
        return [choice for choice in parameter.choices if choice != parameter.default]
    if parameter.kind is ParameterKind.FLAG:
        return [not parameter.default]
    if parameter.kind is ParameterKind.TEXT:
        return [f"{parameter.default}x"]
    bounds = (parameter.minimum, parameter.maximum)
    return [bound for bound in bounds if bound is not None and bound != parameter.default]


def _steps(json_path: str) -> list[str]:
    """``spec.a[b.c].d[0]`` as ``spec``, ``a``, ``b.c``, ``d``, ``0``."""
    steps: list[str] = []
    end = 0
    for found in INDEX.finditer(json_path):
        steps += [step for step in json_path[end : found.start()].split(".") if step]
        steps.append(found[1])
        end = found.end()
    return steps + [step for step in json_path[end:].split(".") if step]


def _leaves(experiment: Experiment, values: Values, steps: list[str]) -> list[Any]:
    return [_leaf(each, steps) for each in experiment.objects(values, SOMEWHERE)]


def _leaf(value: Any, steps: list[str]) -> Any:
    """What stands at a place; a path that goes on below a text or number means that. None: nothing, or a branch."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            break
    return None if isinstance(value, dict | list) else value
