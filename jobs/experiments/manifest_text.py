"""Manifests as text: written for people and ``kubectl apply``, and read from people, who may be hostile."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from django.utils.translation import gettext as _

from jobs.experiments.experiment import Object

MOST_BYTES = 64 << 10
MOST_OBJECTS = 5
DEEPEST = 40
NULL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it
HALF = re.compile("[\ud800-\udfff]")  # of a character that takes two in UTF-16


class UnreadableManifest(Exception):
    """The text is no list of objects; the message is a sentence for whoever wrote it."""


class _Writer(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _script(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Scripts of several lines as they were written."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Writer.add_representer(str, _script)


class _Reader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: no dates, and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _value in node.value]
        twice = next((key for key in keys if isinstance(key, str) and keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(problem=f"the key {twice!r} is there twice")
        return super().construct_mapping(node, deep)


_Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def written(manifests: Iterable[Object]) -> str:
    """YAML documents."""
    texts = (
        yaml.dump(one, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False)
        for one in manifests
    )
    return "---\n".join(texts)


def read(text: str) -> list[Object]:
    """The objects of YAML documents or JSON. Raises ``UnreadableManifest``."""
    if len(text.encode()) > MOST_BYTES:
        raise UnreadableManifest(_("This is longer than %(n)s kB.") % {"n": MOST_BYTES >> 10})
    try:
        _refuse_tricks(text)
        found = [one for one in yaml.load_all(text, Loader=_Reader) if one is not None]
        _refuse_odd_characters(json.dumps(found, allow_nan=False, ensure_ascii=False))
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise UnreadableManifest(
            _("This is no YAML or JSON that an API server takes: %(why)s") % {"why": _why(error)}
        ) from None
    objects = [item for one in found for item in _items(one)]
    if not objects:
        raise UnreadableManifest(_("There is no object in it."))
    if len(objects) > MOST_OBJECTS:
        raise UnreadableManifest(_("At most %(n)s objects can be launched together.") % {"n": MOST_OBJECTS})
    if not all(isinstance(one, dict) and _has_text_keys(one) for one in objects):
        raise UnreadableManifest(_("Each document must be an object with apiVersion, kind, metadata and spec."))
    return objects


def _items(document: Any) -> Iterator[Any]:
    """The objects of a ``List``, as ``kubectl get -o yaml`` writes it; any other document itself."""
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        yield from document["items"]
    else:
        yield document


def _refuse_tricks(text: str) -> None:
    """Anchors make a short text a huge object, and depth overruns the stack. Raises ``ValueError``, ``YAMLError``."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("anchors and aliases are not taken")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")


def _refuse_odd_characters(written: str) -> None:
    """YAML can spell what no text of a cluster holds, and not every database keeps. Raises ``ValueError``."""
    if NULL.search(written) or HALF.search(written):
        raise ValueError("a text in it holds a null character or half of one")


def _has_text_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(one) for key, one in value.items())
    return all(map(_has_text_keys, value)) if isinstance(value, list) else True


def _why(error: Exception) -> str:
    """One line without the text itself, which may be long."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        return f"{error.problem or error.context}{place}"
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
