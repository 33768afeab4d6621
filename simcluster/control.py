"""The control API under /sim/, for tests and demonstrations: faults, compaction, clock. Loopback only.

GET  /sim/state                                   versions, objects, open watches, clock, possible acts
POST /sim/compact        {"to": 120} | {"keep_seconds": 60} | {}
POST /sim/watches/end    {"mode": "close" | "abort", "resource": "pods"}       (mode abort: the connection is cut)
POST /sim/watches/stall  {"on": true}
POST /sim/faults         {"code": 429, "count": 3, "retry_after": 1, "resource": "pods"}; {"count": 0} forgets them
POST /sim/forbidden      {"resources": ["pods", "tfjobs.kubeflow.org:watch,list"]}
POST /sim/missing        {"resources": ["mpijobs.kubeflow.org"]}
POST /sim/clock          {"speed": 10} | {"jump": 60}
POST /sim/act            {"act": "lose_node", "name": "las1"}, what the cluster's controllers can be made to do
GET  /sim/truth          what really happened, as the recordings' truth.json (?scenario=NAME)
GET  /sim/audit          who wrote what (?after=VERSION)
"""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse

from simcluster.audit import AuditLog
from simcluster.clock import LoopClock, rfc3339_micro
from simcluster.errors import ApiError
from simcluster.options import Fault, Options, parse_forbidden, parse_missing, parse_resource
from simcluster.requests import number
from simcluster.resources import REGISTRY, Resource
from simcluster.store import Store
from simcluster.truth import TruthLog
from simcluster.watching import WatchHub

Obj = dict[str, Any]


class Acts(Protocol):
    """What a cluster's controllers can be made to do. Raises ValueError, TypeError or ApiError for what they cannot."""

    @property
    def acts(self) -> list[str]:
        """Their names."""
        ...

    def act(self, name: str, /, **params: Any) -> Any: ...


class Control:
    def __init__(
        self, store: Store, options: Options, hub: WatchHub, *, audit: AuditLog, truth: TruthLog, acts: Acts | None
    ) -> None:
        self._store = store
        self._options = options
        self._hub = hub
        self._audit = audit
        self._truth = truth
        self._acts = acts
        self._actions = {
            "compact": self._compact,
            "watches/end": self._end_watches,
            "watches/stall": self._stall,
            "faults": self._set_faults,
            "forbidden": self._set_forbidden,
            "missing": self._set_missing,
            "clock": self._set_clock,
            "act": self._act,
        }
        self._reports: dict[str, Callable[[Mapping[str, str]], Obj]] = {
            "state": lambda query: self._state(),
            "truth": lambda query: self._truth.told(query.get("scenario", "")),
            "audit": lambda query: {"entries": self._audit.entries(number(query, "after") or 0)},
        }

    async def handle(self, request: Request) -> JSONResponse:
        """Answers 400 with {"error": ...} to what it cannot do, 403 to whoever is not on this machine."""
        if not _is_local(request):
            return JSONResponse({"error": "the control API is for this machine alone"}, 403)
        action = request.path_params["action"]
        known = self._reports if request.method == "GET" else self._actions
        if action not in known:
            return JSONResponse({"error": f"no such action: {request.method} {action}"}, 404)
        try:
            if request.method == "GET":
                return JSONResponse(self._reports[action](request.query_params))
            text = await request.body()
            body = msgspec.json.decode(text) if text.strip() else {}
            if not isinstance(body, dict):
                raise ValueError("the body must be an object")
            return JSONResponse(self._actions[action](body))
        except (ValueError, TypeError, LookupError, ApiError, msgspec.DecodeError) as error:
            return JSONResponse({"error": str(error)}, 400)

    def _state(self) -> Obj:
        clock = self._store.clock
        return {
            "resource_version": self._store.resource_version,
            "objects": {r.qualified: self._store.count(r) for r in REGISTRY if self._store.count(r)},
            "watches": [watcher.resource.qualified for watcher in self._hub],
            "stalled": self._hub.stalled,
            "now": rfc3339_micro(clock.now()),
            "speed": clock.speed if isinstance(clock, LoopClock) else None,
            "acts": self._acts.acts if self._acts is not None else [],
        }

    def _compact(self, body: Obj) -> Obj:
        version, keep = body.get("to"), body.get("keep_seconds")
        return {"compacted": self._store.compact(_whole(version, "to"), _real(keep, "keep_seconds"))}

    def _end_watches(self, body: Obj) -> Obj:
        mode = body.get("mode", "close")
        if mode not in ("close", "abort"):
            raise ValueError(f"mode must be close or abort, not {mode!r}")
        return {"ended": self._hub.end_all(mode, _resource(body))}

    def _stall(self, body: Obj) -> Obj:
        self._hub.stall(body.get("on", True) is True)
        return {"stalled": self._hub.stalled}

    def _set_faults(self, body: Obj) -> Obj:
        count = _whole(body.get("count", 1), "count") or 0
        code = _whole(body.get("code", 429), "code") or 0
        if code != 429 and not 500 <= code <= 599:
            raise ValueError(f"code must be 429 or 500 to 599, not {code}")
        if count == 0:
            self._options.faults.clear()
        else:
            retry_after = _whole(body.get("retry_after", 1), "retry_after") or 0
            self._options.faults.append(Fault(code, count, retry_after, _resource(body)))
        return {"faults": [{"code": fault.code, "count": fault.count} for fault in self._options.faults]}

    def _set_forbidden(self, body: Obj) -> Obj:
        self._options.forbidden = parse_forbidden(_names(body))
        return {"forbidden": [resource.qualified for resource in self._options.forbidden]}

    def _set_missing(self, body: Obj) -> Obj:
        """Watches of a resource that goes are ended, as when its CRD is deleted."""
        missing = parse_missing(_names(body))
        for resource in missing - self._options.missing:
            self._hub.end_all("close", resource)
        self._options.missing = missing
        return {"missing": sorted(resource.qualified for resource in missing)}

    def _act(self, body: Obj) -> Obj:
        """Has the cluster do something by its name; the answer tells what it returned, if that is JSON."""
        if self._acts is None:
            raise ValueError("there are no controllers to act")
        name = body.get("act")
        if not isinstance(name, str):
            raise ValueError("act must be a name")
        result = self._acts.act(name, **{key: value for key, value in body.items() if key != "act"})
        return {"act": name, "result": result if isinstance(result, (dict, list, str, int, float, bool)) else None}

    def _set_clock(self, body: Obj) -> Obj:
        clock = self._store.clock
        if not isinstance(clock, LoopClock):
            raise ValueError("this clock is driven by hand")
        speed, jump = _real(body.get("speed"), "speed"), _real(body.get("jump"), "jump")
        if speed is not None:
            clock.set_speed(speed)
        if jump is not None:
            clock.jump(jump)
        return {"now": rfc3339_micro(clock.now()), "speed": clock.speed}


def _is_local(request: Request) -> bool:
    host = request.client.host if request.client else ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _resource(body: Obj) -> Resource | None:
    name = body.get("resource")
    return parse_resource(str(name)) if name is not None else None


def _names(body: Obj) -> list[str]:
    names = body.get("resources", [])
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("resources must be a list of names")
    return names


def _whole(value: Any, name: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"{name} must be a whole number, 0 or more")


def _real(value: Any, name: str) -> float | None:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise ValueError(f"{name} must be a number")
