"""The forms in which a client may ask for objects: as they are, as rows of a Table, or their metadata alone."""

import functools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

from simcluster import encoding
from simcluster.clock import Clock
from simcluster.columns import SCALE_COLUMNS, cells_of, columns_of, scale_cells
from simcluster.errors import ApiError, bad_request
from simcluster.metadata import typed_order
from simcluster.resources import Resource

Obj = dict[str, Any]
_META = "meta.k8s.io/v1"
_INCLUDED = ("None", "Metadata", "Object")
_CHUNK = 500  # objects encoded in one go, so that a large list does not hold up everybody else


class Form(Protocol):
    """Requests for the same form share one object, and so the lines encoded for it."""

    @property
    def opens_differently(self) -> bool:
        """Whether the first line of a stream carries more than the others."""
        ...

    def single(self, obj: Obj) -> Obj: ...

    def line(self, kind: str, obj: Obj, is_first: bool) -> bytes:
        """A line of a watch stream."""
        ...

    def list_pieces(self, objects: list[Obj], metadata: Obj) -> Iterator[bytes]:
        """A whole list in pieces; `metadata` is the list's."""
        ...


@dataclass(frozen=True, eq=False)
class Plain:
    """Objects as they are."""

    resource: Resource
    opens_differently: bool = False

    def single(self, obj: Obj) -> Obj:
        return obj

    def line(self, kind: str, obj: Obj, is_first: bool) -> bytes:
        return encoding.watch_line(kind, obj)

    def list_pieces(self, objects: list[Obj], metadata: Obj) -> Iterator[bytes]:
        kind, api_version = f"{self.resource.kind}List", self.resource.api_version
        if self.resource.custom:
            shown = {"continue": "", **dict(sorted(metadata.items()))}
            head = b'{"apiVersion":%s,"items":[' % encoding.compact(api_version)
            tail = b'],"kind":%s,"metadata":%s}\n' % (encoding.compact(kind), encoding.compact(shown))
        else:
            envelope = encoding.compact({"kind": kind, "apiVersion": api_version, "metadata": metadata})
            head, tail = envelope[:-1] + b',"items":[', b"]}\n"
        yield from _pieces(head, (self._item(obj) for obj in objects), tail)

    def _item(self, obj: Obj) -> Obj:
        """Objects of typed lists carry no kind and apiVersion of their own."""
        return obj if self.resource.custom else {key: obj[key] for key in obj if key not in ("kind", "apiVersion")}


@dataclass(frozen=True, eq=False)
class AsTable:
    """Rows with the kind's columns. `include`: None, Metadata or Object, what a row carries beside its cells."""

    resource: Resource
    clock: Clock
    include: str = "Metadata"
    opens_differently: bool = True

    def single(self, obj: Obj) -> Obj:
        version = obj["metadata"].get("resourceVersion")
        return self._table({"resourceVersion": version} if version else {}, [self._row(obj)])

    def line(self, kind: str, obj: Obj, is_first: bool) -> bytes:
        if kind == "ERROR":
            return encoding.watch_line(kind, obj)
        rows = [] if kind == "BOOKMARK" else [self._row(obj)]
        keys = ("resourceVersion", "annotations") if kind == "BOOKMARK" else ("resourceVersion",)
        metadata = {key: obj["metadata"][key] for key in keys if key in obj["metadata"]}
        return encoding.watch_line(kind, self._table(metadata, rows, is_first))

    def list_pieces(self, objects: list[Obj], metadata: Obj) -> Iterator[bytes]:
        head = encoding.compact(self._table(metadata, []))
        yield from _pieces(head.removesuffix(b"]}"), (self._row(obj) for obj in objects), b"]}\n")

    def scale(self, scale: Obj) -> Obj:
        """The Table of an object's scale."""
        row = {"cells": scale_cells(scale), "object": _partial(scale)}
        version = {"resourceVersion": scale["metadata"]["resourceVersion"]}
        return {**self._table(version, [row]), "columnDefinitions": [each.definition() for each in SCALE_COLUMNS]}

    def _table(self, metadata: Obj, rows: list[Obj], with_columns: bool = True) -> Obj:
        columns = [column.definition() for column in columns_of(self.resource)] if with_columns else None
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows,
        }

    def _row(self, obj: Obj) -> Obj:
        row: Obj = {"cells": cells_of(self.resource, obj, self.clock.now())}
        if self.include == "Object":
            row["object"] = obj
        elif self.include == "Metadata":
            row["object"] = _partial(obj)
        return row


@dataclass(frozen=True, eq=False)
class MetadataOnly:
    """PartialObjectMetadata, as metadata informers ask for."""

    resource: Resource
    opens_differently: bool = False

    def single(self, obj: Obj) -> Obj:
        return _partial(obj)

    def line(self, kind: str, obj: Obj, is_first: bool) -> bytes:
        return encoding.watch_line(kind, obj if kind == "ERROR" else _partial(obj))

    def list_pieces(self, objects: list[Obj], metadata: Obj) -> Iterator[bytes]:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": metadata}
        opening = encoding.compact(head)[:-1] + b',"items":['
        yield from _pieces(opening, (_partial(obj) for obj in objects), b"]}\n")


@functools.cache
def plain(resource: Resource) -> Form:
    return Plain(resource)


@functools.lru_cache(maxsize=256)
def _table(resource: Resource, clock: Any, include: str) -> Form:
    return AsTable(resource, clock, include)


@functools.cache
def _metadata_only(resource: Resource) -> Form:
    return MetadataOnly(resource)


def negotiated(accept: str, include: str, resource: Resource, clock: Clock) -> Form:
    """The first form of an Accept header that is known here. Raises ApiError 406 if there is none, 400."""
    if include and include not in _INCLUDED:
        raise bad_request(f'converting (includeObject: "{include}"): supported values are {", ".join(_INCLUDED)}')
    for entry in (accept or "*/*").split(","):
        media_type, *parameters = [part.strip() for part in entry.split(";")]
        if media_type not in ("application/json", "application/*", "*/*"):
            continue
        wanted = dict(part.split("=", 1) for part in parameters if "=" in part)
        kind = wanted.get("as", "")
        if not kind:
            return plain(resource)
        if wanted.get("g") == "meta.k8s.io" and wanted.get("v") in ("v1", "v1beta1"):
            if kind == "Table":
                return _table(resource, cast("Hashable", clock), include or "Metadata")
            if kind in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return _metadata_only(resource)
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    text = f"only the following media types are accepted: {accepted}"
    raise ApiError(406, "NotAcceptable", text)


def _partial(obj: Obj) -> Obj:
    metadata = typed_order(obj.get("metadata") or {})
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": metadata}


def _pieces(head: bytes, items: Iterator[Obj], tail: bytes) -> Iterator[bytes]:
    yield head
    is_first, chunk = True, []
    for item in items:
        chunk.append(encoding.compact(item))
        if len(chunk) == _CHUNK:
            yield (b"" if is_first else b",") + b",".join(chunk)
            is_first, chunk = False, []
    if chunk:
        yield (b"" if is_first else b",") + b",".join(chunk)
    yield tail
