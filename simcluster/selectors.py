"""Label and field selectors, with the API server's texts for what it cannot read."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcluster.errors import bad_request
from simcluster.resources import EVENTS, NAMESPACES, NODES, PODS, Resource

LabelTest = Callable[[dict[str, str]], bool]
FieldTest = Callable[[dict[str, Any]], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_PUNCTUATION = frozenset("=!(),<>") | {"==", "!="}
_END = ""
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_FIELDS: dict[Resource, tuple[str, ...]] = {
    PODS: (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
    ),
    EVENTS: (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    NODES: ("spec.unschedulable",),
    NAMESPACES: ("status.phase",),
}


@dataclass(frozen=True)
class Selector:
    """What a list or a watch is restricted to. An empty one matches everything."""

    labels: tuple[LabelTest, ...] = ()
    fields: tuple[FieldTest, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    def matches(self, obj: dict[str, Any]) -> bool:
        if self.labels:
            labels = obj["metadata"].get("labels") or {}
            if not all(test(labels) for test in self.labels):
                return False
        return all(test(obj) for test in self.fields)


def parse(resource: Resource, label_selector: str | None, field_selector: str | None) -> Selector:
    """Both selectors of a request. Raises ApiError 400 for one that cannot be read or is not supported."""
    labels = tuple(parse_labels(label_selector)) if label_selector else ()
    fields = tuple(parse_fields(resource, field_selector)) if field_selector else ()
    return Selector(labels, fields)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    def peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else _END

    def take(self) -> str:
        token = self.peek()
        self._position += 1
        return token


def parse_labels(text: str) -> list[LabelTest]:
    """`a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. Raises ApiError 400."""
    tokens = _Tokens(text)
    tests: list[LabelTest] = []
    if tokens.peek() != _END and not _starts_requirement(tokens):
        raise bad_request(f"found '{tokens.peek()}', expected: !, identifier, or 'end of string'")
    while tokens.peek() != _END:
        tests.append(_requirement(tokens))
        separator = tokens.take()
        if separator not in (",", _END):
            raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
        if separator == "," and not _starts_requirement(tokens):
            raise bad_request(f"found '{tokens.peek()}', expected: identifier after ','")
    return tests


def _starts_requirement(tokens: _Tokens) -> bool:
    return tokens.peek() == "!" or (tokens.peek() != _END and tokens.peek() not in _PUNCTUATION)


def _requirement(tokens: _Tokens) -> LabelTest:
    if tokens.peek() == "!":
        tokens.take()
        absent = _identifier(tokens)
        return lambda labels: absent not in labels
    key = _identifier(tokens)
    if tokens.peek() in (",", _END):
        return lambda labels: key in labels
    operator = tokens.take()
    return _set_test(key, operator, tokens) if operator in ("in", "notin") else _value_test(key, operator, tokens)


def _set_test(key: str, operator: str, tokens: _Tokens) -> LabelTest:
    values = _value_set(tokens)
    if operator == "in":
        return lambda labels: key in labels and labels[key] in values
    return lambda labels: key not in labels or labels[key] not in values


def _value_test(key: str, operator: str, tokens: _Tokens) -> LabelTest:
    if operator not in ("=", "==", "!=", "<", ">"):
        raise bad_request(f"unable to parse requirement: found '{operator}', expected: {_OPERATORS}")
    value = tokens.take() if tokens.peek() not in (",", _END) else ""
    if value in _PUNCTUATION:
        raise bad_request(f"unable to parse requirement: found '{value}', expected: identifier")
    if operator in ("<", ">"):
        return _comparison(key, operator, value)
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


def _identifier(tokens: _Tokens) -> str:
    word = tokens.take()
    if word == _END or word in _PUNCTUATION:
        raise bad_request(f"unable to parse requirement: found '{word}', expected: identifier")
    return word


def _value_set(tokens: _Tokens) -> frozenset[str]:
    opening = tokens.take()
    if opening != "(":
        raise bad_request(f"unable to parse requirement: found '{opening}' expected: '('")
    values = {""} if tokens.peek() in (",", ")") else set()
    while (word := tokens.take()) != ")":
        if word == _END:
            raise bad_request("unable to parse requirement: found '', expected: ',', ')' or identifier")
        if word != ",":
            values.add(word)
    return frozenset(values)


def _comparison(key: str, operator: str, value: str) -> LabelTest:
    if not re.fullmatch(r"[+-]?\d+", value):
        raise bad_request(
            f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": '
            "for 'Gt', 'Lt' operators, the value must be an integer"
        )
    limit = int(value)

    def test(labels: dict[str, str]) -> bool:
        number = labels.get(key, "")
        if not re.fullmatch(r"[+-]?\d+", number):
            return False
        return int(number) > limit if operator == ">" else int(number) < limit

    return test


def parse_fields(resource: Resource, text: str) -> list[FieldTest]:
    """`metadata.name=a,status.phase!=Running`. Raises ApiError 400, also for a field the resource does not offer."""
    return [_field_test(resource, part) for part in text.split(",") if part]


def _field_test(resource: Resource, part: str) -> FieldTest:
    found = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", part, re.DOTALL)
    if found is None:
        raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    path, operator, value = found[1], found[2], found[3]
    names = ("metadata.name", "metadata.namespace") if resource.namespaced else ("metadata.name",)
    if path not in names and path not in _FIELDS.get(resource, ()):
        if resource.custom:
            known = ", ".join(f'"{name}"' for name in names)
            raise bad_request(f'"{path}" is not a known field selector: only {known}')
        raise bad_request(f"field label not supported: {path}")
    keys = ("source", "component") if path == "source" else tuple(path.split("."))
    if operator == "!=":
        return lambda obj: _value(obj, keys) != value
    return lambda obj: _value(obj, keys) == value


def _value(obj: Any, keys: tuple[str, ...]) -> str:
    for key in keys:
        obj = obj.get(key) if isinstance(obj, dict) else None
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return "" if obj is None else str(obj)
