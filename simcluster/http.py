"""The API server over HTTP: one Starlette application over a store."""

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from simcluster import answers, bodies, errors, forms, listing, openapi, reading, reviews, scale, writes
from simcluster.access import Access, actor_of
from simcluster.audit import AuditLog
from simcluster.authentication import User
from simcluster.control import Acts, Control
from simcluster.deleteoptions import DeleteOptions
from simcluster.discovery import AGGREGATED_TYPE, VERSION, Discovery
from simcluster.disruption import DisruptionBudgets
from simcluster.errors import ApiError
from simcluster.logs import LogSource, NoLogs
from simcluster.options import Options
from simcluster.podlogs import pod_log
from simcluster.podsecurity import PodSecurityAdmission
from simcluster.quota import QuotaAdmission
from simcluster.requests import Target, parse_target, verb_of
from simcluster.resources import REVIEWS, SERVICEACCOUNTS
from simcluster.serviceaccounts import DefaultServiceAccounts
from simcluster.store import Store
from simcluster.truth import TruthLog
from simcluster.watching import WatchHub
from simcluster.writes import Writer

Obj = dict[str, Any]

log = logging.getLogger(__name__)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_GONE = 499  # noted nowhere: the client has left


class _AnyMethod:
    """The endpoint for every method, those that HTTP does not know as well: the API server has words for them."""

    def __init__(self, handle: Callable[[Request], Awaitable[Any]]) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


class ApiServer:
    """Serves a store. `options` may be changed at any time; it holds for the requests that follow."""

    def __init__(
        self,
        store: Store,
        options: Options | None = None,
        rng: random.Random | None = None,
        *,
        logs: LogSource | None = None,
        acts: Acts | None = None,
    ) -> None:
        """`logs`: what containers print. `acts`: what /sim/act can do."""
        store.serve()
        self.store = store
        self.options = options or Options()
        self.hub = WatchHub(store)
        self.audit = AuditLog(store)
        self.truth = TruthLog(store)
        self._rng = rng or random.Random(0)  # noqa: S311
        self._access = Access(store, self.options, self._rng)
        self._watches = reading.Watches(store, self.hub, self.options, self._rng)
        self._pod_security = PodSecurityAdmission(store)
        self._quota = QuotaAdmission(store)  # last, as on a real server: it counts what the others have let in
        self._budgets = DisruptionBudgets(store)
        self._accounts = DefaultServiceAccounts(store)
        self._logs = logs or NoLogs()
        self._acts = acts

    def app(self) -> ASGIApp:
        control = Control(self.store, self.options, self.hub, audit=self.audit, truth=self.truth, acts=self._acts)
        return Starlette(
            routes=[
                Route("/sim/{action:path}", control.handle, methods=["GET", "POST"]),
                Route("/{path:path}", _AnyMethod(self._handle)),
            ]
        )

    def close(self) -> None:
        """Ends all watches."""
        self.hub.close()
        self._pod_security.close()
        self._quota.close()
        self._budgets.close()
        self._accounts.close()
        self.audit.close()
        self.truth.close()

    async def _handle(self, request: Request) -> Any:
        try:
            return await self._answer(request)
        except ApiError as error:
            return answers.status(error)
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            return answers.status(errors.internal("an error on the server"))

    async def _answer(self, request: Request) -> Any:
        parts = [part for part in request.url.path.split("/") if part]
        if parts in (["healthz"], ["livez"], ["readyz"]):
            return PlainTextResponse("ok")
        group, version, rest = _split(parts)
        target = parse_target(group, version, rest) if rest else None
        fault = self.options.take_fault(target.resource if target else None)
        if fault is not None:
            return answers.faulty(fault)
        user = self._access.user_of(request.headers)
        if target is not None and target.resource in REVIEWS:
            return await self._review(request, user, target)
        if target is not None and target.resource not in self.options.missing:
            return await self._serve(request, user, target)
        self._access.check_path(user, request.url.path, "get")
        parent = parse_target(group, version, rest[:-1]) if target is None and rest else None
        if parent is not None and parent.name and parent.resource.custom and not parent.subresource:
            self._refuse_subresource(parent)
        return self._discover(request, parts)

    def _refuse_subresource(self, parent: Target) -> None:
        """A subresource that a custom resource does not have is said to be the object that is not there."""
        if parent.resource not in self.options.missing:
            raise errors.not_found(parent.resource, parent.name)

    def _discover(self, request: Request, parts: list[str]) -> Response:
        if parts[:2] == ["api", "v1"] and len(parts) > 2:
            raise ApiError(404, "NotFound", "the server could not find the requested resource", details={})
        response = self._described(request, parts)
        if response is None:
            return answers.not_installed()
        if request.method != "GET":
            raise errors.method_not_allowed()
        return response

    def _described(self, request: Request, parts: list[str]) -> Response | None:
        """What the server says of itself at a path; None if that leads nowhere."""
        discovery = Discovery(self.options.missing)
        document: Obj | None = None
        match parts:
            case ["version"]:
                return answers.json(200, VERSION, pretty=True)
            case ["api" | "apis" as root] if "as=APIGroupDiscoveryList" in request.headers.get("accept", ""):
                return answers.json(200, discovery.aggregated(core=root == "api"), media_type=AGGREGATED_TYPE)
            case ["openapi", "v2"]:
                return Response(openapi.V2, 200, answers.headers(), openapi.V2_TYPE)
            case ["openapi", "v3"]:
                document = openapi.index(self.options.missing)
            case ["openapi", "v3", *path]:
                document = openapi.document("/".join(path), self.options.missing)
            case ["api"]:
                document = discovery.api_versions(request.url.netloc)
            case ["apis"]:
                document = discovery.group_list()
            case ["apis", name]:
                document = discovery.group(name)
            case ["api", "v1"]:
                document = discovery.resource_list("", "v1")
            case ["apis", group, version] if discovery.has_group_version(group, version):
                document = discovery.resource_list(group, version)
        return None if document is None else answers.json(200, document)

    async def _review(self, request: Request, user: User, target: Target) -> Response:
        """Answers a question; nothing is stored."""
        if request.method != "POST" or target.name:
            raise errors.method_not_allowed()
        kind = target.resource.kind
        self._access.check(user, "create", target)
        given = bodies.decoded(await bodies.read(request), bodies.content_type(request), kind)
        if kind == "SelfSubjectRulesReview":
            spec = given.get("spec") if isinstance(given, dict) else None
            namespace = str(spec.get("namespace") or "") if isinstance(spec, dict) else ""
            rules = self._access.authorizer.rules_of(user, namespace) if self.options.rbac else _EVERYTHING
            answer = reviews.rules_review(given, rules)
        elif kind == "TokenReview":
            answer = reviews.token_review(given, self._access.authenticator)
        elif kind == "SelfSubjectReview":
            answer = reviews.self_review(user)
        else:
            answer = reviews.access_review(given, kind, user, self._access.judge, target.namespace or "")
        manager = actor_of(user, request.query_params, request.headers).manager
        answer = reviews.with_manager(answer, given, manager, self.store.clock.now())
        return answers.json(201, answer, pretty=True)

    async def _serve(self, request: Request, user: User, target: Target) -> Any:
        query = request.query_params
        verb = verb_of(request.method, target, query)
        if verb is None and target.resource.custom:
            raise errors.verb_not_supported(target.resource, _VERBS.get(request.method, ""))
        if verb is None:
            raise errors.method_not_allowed()
        self._access.check(user, verb, target)
        if verb in ("get", "list", "watch"):
            return self._read(request, target, verb)
        writer = Writer(self.store.acting_as(actor_of(user, query, request.headers)), self._rng)
        return await self._write(request, target, verb, writer)

    def _read(self, request: Request, target: Target, verb: str) -> Any:
        query, resource = request.query_params, target.resource
        if target.subresource == "log":
            return pod_log(self.store, self._logs, target, query)
        accept = request.headers.get("accept", "")
        form = forms.negotiated(accept, query.get("includeObject", ""), resource, self.store.clock)
        if verb == "list":
            return reading.list_objects(self.store, target, query, form)
        if verb == "watch":
            return self._watches.open(target, query, form)
        obj = self.store.get(resource, target.namespace, target.name)
        if target.subresource == "scale":
            told = scale.scale_of(resource, obj)
            return answers.json(200, form.scale(told) if isinstance(form, forms.AsTable) else told)
        return answers.json(200, form.single(obj))

    async def _write(self, request: Request, target: Target, verb: str, writer: Writer) -> Response:
        query, body, media_type = request.query_params, await bodies.read(request), bodies.content_type(request)
        if verb in ("delete", "deletecollection"):
            given = bodies.decoded(body, media_type, "DeleteOptions") if body.strip() else {}
            return self._delete(target, query, DeleteOptions(query, given), writer)
        if verb == "patch":
            written = writer.patch(target, query, self._patch_of(target, body, media_type), media_type)
            return answers.json(written.code, written.object, warnings=written.warnings)
        if target.subresource == "eviction":
            eviction = bodies.decoded(body, media_type, "Eviction")
            return answers.json(201, writer.evict(target, query, eviction), pretty=True)
        if target.resource is SERVICEACCOUNTS and target.subresource == "token":
            asked = bodies.decoded(body, media_type, "TokenRequest")
            authenticator, namespace = self._access.authenticator, target.namespace or ""
            return answers.json(201, reviews.token_request(asked, authenticator, namespace, target.name))
        write = writer.create if verb == "create" else writer.update
        written = write(target, query, bodies.decoded(body, media_type, target.resource.kind))
        return answers.json(written.code, written.object, warnings=written.warnings)

    @staticmethod
    def _patch_of(target: Target, body: bytes, media_type: str) -> Any:
        """An applied configuration may be YAML, every other patch is JSON; of another type it is not read."""
        if media_type == bodies.APPLY:
            return bodies.decoded(body, media_type, target.resource.kind)
        return bodies.decoded_patch(body, media_type) if media_type in writes.PATCHES else None

    def _delete(self, target: Target, query: Mapping[str, str], options: DeleteOptions, writer: Writer) -> Response:
        if target.name:
            code, answer = writer.delete(target, options)
            return answers.json(code, answer, pretty=answer.get("kind") == "Status")
        deleted = writer.delete_collection(target, query, options)
        page = listing.Page(target.resource, deleted, self.store.resource_version)
        content = b"".join(page.encoded(forms.plain(target.resource)))
        return Response(content, headers=answers.headers(), media_type="application/json")


_EVERYTHING = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


def _split(parts: list[str]) -> tuple[str, str, list[str]]:
    """Group, version and the rest of an API path; empty for other paths."""
    if parts[:2] == ["api", "v1"]:
        return "", "v1", parts[2:]
    if parts[:1] == ["apis"] and len(parts) >= 3:
        return parts[1], parts[2], parts[3:]
    return "", "", []
