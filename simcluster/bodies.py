"""Bodies of requests: JSON, YAML and the protobuf that kubectl sends for some kinds, read with a limit."""

from typing import Any

import yaml
from starlette.requests import Request

from simcluster import encoding, protobuf
from simcluster.errors import ApiError, bad_request, unsupported_media_type

LIMIT = 3 * 1024 * 1024
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
MEDIA_TYPES = ("application/json", YAML, protobuf.MEDIA_TYPE)


def content_type(request: Request) -> str:
    return request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()


async def read(request: Request) -> bytes:
    """The whole body. Raises ApiError 413, before it has come if its length says so."""
    chunks: list[bytes] = []
    told = request.headers.get("content-length", "")
    size = int(told) if told.isdecimal() and int(told) > LIMIT else 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > LIMIT:
            raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LIMIT}")
        chunks.append(chunk)
    return b"".join(chunks)


def decoded(body: bytes, media_type: str, kind: str) -> Any:
    """The value of a body that should hold an object of this kind. Raises ApiError 400, 415."""
    if media_type == protobuf.MEDIA_TYPE:
        value = protobuf.decoded(body)
        if value is None:
            raise unsupported_media_type(["application/json", YAML])
        return value
    if media_type in (YAML, APPLY) and not body.lstrip().startswith(b"{"):
        return _from_yaml(body)
    if media_type not in (*MEDIA_TYPES, APPLY, ""):
        raise unsupported_media_type(MEDIA_TYPES)
    return encoding.decoded(body, kind)


def decoded_patch(body: bytes, media_type: str) -> Any:
    """The value of a patch. Raises ApiError 400 in the words of each type's decoder."""
    is_list = media_type == JSON_PATCH
    start = "error decoding patch: " if media_type == MERGE else ""
    try:
        value = encoding.decoded(body, "")
    except ApiError as error:
        if encoding.NESTED in error.message:
            raise
        raise bad_request(f"{start}{encoding.parse_error(body.decode('utf-8', 'replace'))}") from None
    if isinstance(value, list if is_list else dict):
        return value
    found = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}.get(type(value), "number")
    wanted = "jsonpatch.Patch" if is_list else "map[string]interface {}"
    raise bad_request(f"{start}json: cannot unmarshal {found} into Go value of type {wanted}")


class _Loader(yaml.SafeLoader):
    """YAML as the server reads it: no dates, and no aliases, which can grow a small text without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.constructor.ConstructorError(
                None, None, "aliases are not taken here", self.peek_event().start_mark
            )
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _from_yaml(body: bytes) -> Any:
    try:
        value = yaml.load(body, _Loader)  # noqa: S506
        return encoding.decoded(encoding.compact(value), "")
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or "could not be read"
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {where}{problem}") from None
