"""What a run asks of a cluster's API server: the only place from which anything is written to a cluster.

Each method raises ``Refused`` with the server's own words, or ``Away`` where there was no whole answer: then nobody
knows whether the request was carried out, and whoever asked has to look.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from django.conf import settings

from dashboard.env import ClusterSource
from jobs.domain.kinds import JobKind, kind_of
from jobs.experiments.experiment import Object
from jobs.experiments.labels import RUN
from jobs.experiments.manifests import RESTRICTED
from jobs.ingest.client import ConnectionSettingError
from jobs.ingest.connection import connect
from jobs.ingest.transport import Answer, Stop, TransportError

TIMEOUT = 10.0  # seconds until the head of an answer is here
LIMIT = 16 << 20  # bytes of an answer
JSON, MERGE = "application/json", "application/merge-patch+json"
SHOWN = 2000  # characters of the server's words
READ_ONLY = "RESTARTSCOPE_READ_ONLY is on: nothing is written to a cluster."
ENFORCE = "pod-security.kubernetes.io/enforce"
LEVELS = ("privileged", "baseline", RESTRICTED)
BUSY = (429, 502, 503, 504)  # nobody has looked at the request; a 500 tells what an admission webhook came to


class Away(Exception):
    """The cluster did not answer; the text is one sentence."""


@dataclass(frozen=True)
class Cause:
    """One of the server's reasons. ``field``: a JSON path as it writes them, "" where it names none."""

    field: str
    message: str


class Refused(Exception):
    """The API server's Status. ``message`` is in its own words."""

    def __init__(self, code: int, reason: str, message: str, causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes

    @property
    def is_gone(self) -> bool:
        """Whether the object that was meant is not there: none of its name, or one with another UID."""
        return self.code == 404 or (self.code == 409 and self.reason == "Conflict" and "UID" in self.message)


class Transport(Protocol):
    """What is needed of ``jobs.ingest.connection.Connection``."""

    def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Answer: ...

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any, *, content_type: str, timeout: float
    ) -> Answer: ...


@contextmanager
def cluster_writer(source: ClusterSource) -> Iterator["Writer"]:
    """A writer for a configured cluster. Raises ``Away`` where its configuration cannot be read."""
    try:
        connection = connect(source.source)
    except ConnectionSettingError as error:
        raise Away(str(error)) from error
    try:
        yield Writer(connection, read_only=settings.RESTARTSCOPE_READ_ONLY)
    finally:
        connection.close()


class Writer:
    """``read_only``: whatever would change something is refused here, and never sent."""

    def __init__(self, transport: Transport, *, read_only: bool = False) -> None:
        self._transport = transport
        self._read_only = read_only

    # --- jobs

    def create(self, manifest: Object, namespace: str, *, dry_run: bool = False, strict: bool = False) -> Object:
        """The object as the server has it. With ``dry_run`` it is only admitted; with ``strict`` a field that the kind
        does not have is refused and not dropped."""
        query = {"fieldManager": "restartscope"}
        query |= {"dryRun": "All"} if dry_run else {}
        query |= {"fieldValidation": "Strict"} if strict else {}
        send = self._send if dry_run else self._change
        return send("POST", _path(_kind(manifest), namespace), query, manifest)

    def get(self, kind: JobKind, namespace: str, name: str) -> Object | None:
        """The job of this name; None if there is none."""
        try:
            return self._read(_path(kind, namespace, name), {})
        except Refused as refusal:
            if refusal.code == 404:
                return None
            raise

    def labelled(self, kind: JobKind, namespace: str, run: str) -> list[Object]:
        """The jobs of a kind that carry a run's label."""
        return _items(self._read(_path(kind, namespace), {"labelSelector": f"{RUN}={run}"}))

    def patch(self, kind: JobKind, namespace: str, name: str, uid: str, change: Object) -> Object:
        """A merge patch of the job with this UID, no other."""
        body = {**change, "metadata": {**change.get("metadata", {}), "uid": uid}}
        return self._change("PATCH", _path(kind, namespace, name), {}, body, MERGE)

    def delete(self, kind: JobKind, namespace: str, name: str, uid: str) -> None:
        """Deletes the job with this UID, no other; its pods follow."""
        options = _delete_options(uid) | {"propagationPolicy": "Background"}
        self._change("DELETE", _path(kind, namespace, name), {}, options)

    # --- pods

    def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        """As ``kubectl delete pod``, but only the pod with this UID."""
        self._change("DELETE", _pod(namespace, name), {}, _delete_options(uid))

    def evict(self, namespace: str, name: str, uid: str) -> None:
        """As ``kubectl drain`` does to a pod, but only the pod with this UID."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        self._change("POST", f"{_pod(namespace, name)}/eviction", {}, body)

    # --- rights and places

    def may(self, verb: str, group: str, resource: str, namespace: str = "", subresource: str = "") -> bool:
        """Whether this account may do it there, in all namespaces if none is named."""
        attributes = {
            "verb": verb,
            "group": group,
            "resource": resource,
            "namespace": namespace,
            "subresource": subresource,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {name: value for name, value in attributes.items() if value}},
        }
        answer = self._send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, review)
        return _folder(answer, "status").get("allowed") is True

    def namespaces(self) -> dict[str, str] | None:
        """The namespaces that are not going away, each with the pod security standard that its label enforces, "" for
        none; None if they may not be listed."""
        try:
            items = _items(self._read("/api/v1/namespaces", {"limit": "500"}))
        except Refused as refusal:
            if refusal.code == 403:
                return None
            raise
        going = [item for item in items if _folder(item, "status").get("phase") == "Terminating"]
        left = [_folder(item, "metadata") for item in items if item not in going]
        return {name: _enforced(metadata) for metadata in left if isinstance(name := metadata.get("name"), str)}

    def pod_security(self, namespace: str) -> str | None:
        """The standard that a namespace's label enforces, "" for none; None if it may not be read, or is not there."""
        try:
            return _enforced(_folder(self._read(f"/api/v1/namespaces/{quote(namespace, safe='')}", {}), "metadata"))
        except Refused as refusal:
            if refusal.code in (403, 404):
                return None
            raise

    # --- simulated clusters

    def is_simulated(self) -> bool:
        """Whether this is the simulated cluster, which has a control API; a real API server knows no such path."""
        try:
            return "acts" in self._read("/sim/state", {})
        except Refused:
            return False

    def simulate(self, act: str, **params: Any) -> None:
        """Has a simulated cluster do something that no API server offers."""
        self._change("POST", "/sim/act", {}, {"act": act, **params})

    # --- requests

    def _read(self, path: str, query: Mapping[str, str]) -> Object:
        try:
            with self._transport.open(path, query, timeout=TIMEOUT, stop=Stop()) as answer:
                return _decoded(answer.status, answer.read(LIMIT))
        except TransportError as error:
            raise Away(error.sentence) from error

    def _change(
        self, method: str, path: str, query: Mapping[str, str], body: Object, content_type: str = JSON
    ) -> Object:
        if self._read_only:
            raise Refused(403, "ReadOnly", READ_ONLY)
        return self._send(method, path, query, body, content_type)

    def _send(self, method: str, path: str, query: Mapping[str, str], body: Object, content_type: str = JSON) -> Object:
        try:
            with self._transport.send(method, path, query, body, content_type=content_type, timeout=TIMEOUT) as answer:
                return _decoded(answer.status, answer.read(LIMIT))
        except TransportError as error:
            raise Away(error.sentence) from error


def _items(found: Object) -> list[Object]:
    items = found.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _folder(obj: Object, name: str) -> Object:
    """The object under a key; an empty one where there is none."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def _enforced(metadata: Object) -> str:
    """As the API server reads the label: a level that it does not know is the strictest one."""
    level = _folder(metadata, "labels").get(ENFORCE)
    return "" if level is None else level if level in LEVELS else RESTRICTED


def _kind(manifest: Object) -> JobKind:
    kind = kind_of(manifest.get("apiVersion"), manifest.get("kind"))
    if kind is None:
        raise ValueError(f"no kind of job: {manifest.get('kind')}")
    return kind


def _path(kind: JobKind, namespace: str, name: str = "") -> str:
    path = f"/apis/{kind.group}/{kind.version}/namespaces/{quote(namespace, safe='')}/{kind.plural}"
    return f"{path}/{quote(name, safe='')}" if name else path


def _pod(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


def _delete_options(uid: str) -> Object:
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}


def _decoded(status: int, body: bytes) -> Object:
    """The object of an answer. Raises ``Refused`` for what is no success, ``Away`` for what is no JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if status in BUSY:
        raise Away(f"The API server answered {status}: {_words(found) or 'no reason given'}")
    if status >= 400:
        raise _refusal(status, found)
    if not isinstance(found, dict):
        raise Away("The API server's answer is no JSON object.")
    return found


def _words(found: Any) -> str:
    return str(found.get("message") or found.get("error") or "")[:SHOWN] if isinstance(found, dict) else ""


def _refusal(status: int, found: Any) -> Refused:
    details = found.get("details") if isinstance(found, dict) else None
    given = details.get("causes") if isinstance(details, dict) else None
    causes = tuple(
        Cause(str(cause.get("field") or "").replace("<nil>", ""), str(cause.get("message") or "")[:SHOWN])
        for cause in (given if isinstance(given, list) else [])
        if isinstance(cause, dict)
    )
    reason = str(found.get("reason") or "") if isinstance(found, dict) else ""
    return Refused(status, reason, _words(found) or f"the API server answered {status}", causes)
