"""The API server's errors, as Status objects with its very keys and texts."""

from collections.abc import Sequence
from typing import Any

from simcluster.resources import NAMESPACES, Resource


class ApiError(Exception):
    """A request that failed. `reason` "" leaves the key out, as the server does for plain internal errors."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def in_gos_notation(error: ApiError) -> str:
    """The error as a controller prints it that shows its parts (`%#v`)."""
    nothing = 'TypeMeta:v1.TypeMeta{Kind:"", APIVersion:""}, '
    nothing += 'ListMeta:v1.ListMeta{SelfLink:"", ResourceVersion:"", Continue:"", RemainingItemCount:(*int64)(nil)}'
    message = error.message.replace("\\", "\\\\").replace('"', '\\"')
    said = f'Status:"Failure", Message:"{message}", Reason:"{error.reason}", Details:(*v1.StatusDetails)(0xc000b1a2c0)'
    return f"&errors.StatusError{{ErrStatus:v1.Status{{{nothing}, {said}, Code:{error.code}}}}}"


def cause(reason: str, message: str, field: str) -> dict[str, str]:
    """One entry of details.causes; the message has no field in front."""
    return {"reason": reason, "message": message, "field": field}


def _details(resource: Resource, name: str = "", kind: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def not_found(resource: Resource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource.qualified} "{name}" not found', _details(resource, name))


def namespace_not_found(namespace: str) -> ApiError:
    return not_found(NAMESPACES, namespace)


def namespace_terminating(resource: Resource, name: str, namespace: str) -> ApiError:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    details = {
        **_details(resource, name),
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
    return ApiError(403, "Forbidden", message, details)


def already_exists(resource: Resource, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _details(resource, name))


def conflict(resource: Resource, name: str, why: str = "") -> ApiError:
    """`why`: what follows the name; by default that the object has been modified."""
    text = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {text}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def invalid(resource: Resource, name: str, causes: Sequence[dict[str, str]]) -> ApiError:
    """422 for an object that fails validation; `causes` are made by `cause`."""
    texts = [f"{item['field']}: {item['message']}" for item in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {**_details(resource, name, resource.kind), "causes": list(causes)}
    return ApiError(422, "Invalid", f'{resource.qualified_kind} "{name}" is invalid: {text}', details)


def refused(resource: Resource, name: str, why: str) -> ApiError:
    """403 of an admission plugin, for an object that may not be as it is."""
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(resource, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def gone(message: str, metadata: dict[str, Any] | None = None) -> ApiError:
    """410 Expired: the wanted version was compacted away."""
    return ApiError(410, "Expired", message, metadata=metadata)


def too_old(resource: Resource, wanted: int, oldest: int) -> ApiError:
    """410 for a watch from version `wanted` when history begins after `oldest`."""
    if not resource.watch_cache:
        return gone("The resourceVersion for the provided watch is too old.")
    return gone(f"too old resource version: {wanted} ({oldest})")


def too_large_version(wanted: int, current: int) -> ApiError:
    """504 for a list that asks for a version the server has not reached."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(504, "Timeout", f"Too large resource version: {wanted}, current: {current}", details)


def unreadable_version(text: str) -> ApiError:
    """500 without a reason, as the server answers a resourceVersion that is no number."""
    quoted = f'"{text}"'
    message = f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
    return ApiError(500, "", message)


def forbidden(
    resource: Resource, user: str, verb: str, namespace: str | None, name: str = "", *, subresource: str = ""
) -> ApiError:
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    message = (
        f'{subject} is forbidden: User "{user}" cannot {verb} resource "{plural}" '
        f'in API group "{resource.group}" {where}'
    )
    return ApiError(403, "Forbidden", message, _details(resource, name))


def forbidden_path(path: str, user: str, verb: str) -> ApiError:
    return ApiError(403, "Forbidden", f'forbidden: User "{user}" cannot {verb} path "{path}"', details={})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def verb_not_supported(resource: Resource, verb: str) -> ApiError:
    """405 as custom resources answer it."""
    message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return ApiError(405, "MethodNotAllowed", message, _details(resource))


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", message)


def internal(message: str) -> ApiError:
    text = f"Internal error occurred: {message}"
    return ApiError(500, "InternalError", text, {"causes": [{"message": message}]})
