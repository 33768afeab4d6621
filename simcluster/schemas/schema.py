"""The language the shapes are written in: what OpenAPI says of a field, and how Kubernetes merges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


@dataclass(frozen=True)
class Schema:
    """`type`: an OpenAPI type; "" for anything, "int-or-string" for quantities and ports.

    An object has `properties`, or `values` that all its keys share; with neither it is open. A list is merged by
    `keys` of its items, as a set of scalars (`is_set`), or replaced as a whole; a struct that is `atomic` as well.
    """

    type: str = ""
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    items: "Schema | None" = None
    values: "Schema | None" = None
    required: tuple[str, ...] = ()
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_items: int | None = None
    max_length: int | None = None
    pattern: str = ""
    format: str = ""
    default: Any = None
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    is_set: bool = False
    atomic: bool = False
    replaced: bool = False  # a strategic patch replaces this struct where a merge patch would merge it
    text: str = ""

    def of(self, key: str) -> "Schema | None":
        """The shape of a field; None for one that the kind does not have."""
        found = self.properties.get(key)
        if found is not None:
            return found
        return self.values or (ANY if self.is_open else None)

    @property
    def is_open(self) -> bool:
        """Whether any field is taken as it is."""
        return self.type in ("", "object") and not self.properties and self.values is None


ANY = Schema()
STRING = Schema("string")
BOOLEAN = Schema("boolean")
INT32 = Schema("integer", format="int32")
INT64 = Schema("integer", format="int64")
TIME = Schema("string", format="date-time")
PORT = Schema("int-or-string")
QUANTITY = Schema("int-or-string", pattern=QUANTITY_PATTERN)


def record(text: str = "", *, required: str = "", atomic: bool = False, **properties: Schema) -> Schema:
    """An object with these fields; `required` names some of them."""
    return Schema("object", properties, required=tuple(required.split()), atomic=atomic, text=text)


def mapping(values: Schema = STRING, text: str = "", atomic: bool = False) -> Schema:
    return Schema("object", values=values, text=text, atomic=atomic)


def listing(items: Schema, keys: str = "", text: str = "", min_items: int | None = None, **defaults: Any) -> Schema:
    """A list, merged by these keys of its items or replaced as a whole; `defaults` of keys that may be left out."""
    return Schema("array", items=items, keys=tuple(keys.split()), key_defaults=defaults, min_items=min_items, text=text)


def a_set(items: Schema = STRING) -> Schema:
    return Schema("array", items=items, is_set=True)


def one_of(*values: str, default: str | None = None, text: str = "") -> Schema:
    return Schema("string", enum=values, default=default, text=text)


def number(
    minimum: int | None = None, maximum: int | None = None, text: str = "", default: int | None = None
) -> Schema:
    return Schema("integer", minimum=minimum, maximum=maximum, format="int32", text=text, default=default)


def text_of(text: str, schema: Schema = STRING) -> Schema:
    """The same shape with a description."""
    return Schema(**{**vars(schema), "text": text})


QUANTITIES = mapping(QUANTITY)
