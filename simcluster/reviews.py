"""Questions about rights and identities: access reviews, token reviews, tokens of service accounts."""

from collections.abc import Callable
from typing import Any

from simcluster import fields
from simcluster.authentication import DEFAULT_SECONDS, Authenticator, User
from simcluster.clock import rfc3339
from simcluster.errors import bad_request
from simcluster.rbac import Attributes
from simcluster.schemas.schema import ANY

Obj = dict[str, Any]
Judge = Callable[[User, Attributes], tuple[bool, str]]
AUTHORIZATION, AUTHENTICATION = "authorization.k8s.io/v1", "authentication.k8s.io/v1"


def access_review(review: Obj, kind: str, user: User, judge: Judge, namespace: str = "") -> Obj:
    """SelfSubjectAccessReview of `user`; SubjectAccessReview and LocalSubjectAccessReview of whom the spec names."""
    spec = _spec(review, kind)
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if isinstance(resource, dict) == isinstance(path, dict):
        raise bad_request(
            f'{kind}.{AUTHORIZATION.partition("/")[0]} "" is invalid: spec.resourceAttributes: Invalid value: null: '
            "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        )
    if kind != "SelfSubjectAccessReview":
        groups = [str(name) for name in spec.get("groups") or []] if isinstance(spec.get("groups"), list) else []
        user = User(str(spec.get("user") or ""), tuple(groups))
    if isinstance(resource, dict):
        verb, group, plural, subresource, inside, name = (
            str(resource.get(key) or "") for key in ("verb", "group", "resource", "subresource", "namespace", "name")
        )
        wanted = Attributes(verb, group, plural, subresource, inside or namespace, name)
    else:
        assert isinstance(path, dict)
        wanted = Attributes(str(path.get("verb") or ""), path=str(path.get("path") or ""))
    allowed, reason = judge(user, wanted)
    status: Obj = {"allowed": allowed, **({"reason": reason} if reason else {})}
    return {"kind": kind, "apiVersion": AUTHORIZATION, "metadata": {}, "spec": _ordered(spec), "status": status}


def rules_review(review: Obj, rules: list[Obj]) -> Obj:
    """SelfSubjectRulesReview."""
    spec = _spec(review, "SelfSubjectRulesReview")
    if not spec.get("namespace"):
        raise bad_request("no namespace on request")
    on_resources = [rule for rule in rules if rule.get("resources")]
    on_paths = [rule for rule in rules if rule.get("nonResourceURLs")]
    status = {"resourceRules": on_resources, "nonResourceRules": on_paths, "incomplete": False}
    return _answer("SelfSubjectRulesReview", AUTHORIZATION, {"spec": {}}, status)


def token_review(review: Obj, authenticator: Authenticator) -> Obj:
    spec = _spec(review, "TokenReview")
    token = spec.get("token")
    user = authenticator.user_of_token(token) if isinstance(token, str) and token else None
    if user is None:
        status: Obj = {"user": {}, "error": "[invalid bearer token]"}
    else:
        status = {"authenticated": True, "user": user.described()}
    return _answer("TokenReview", AUTHENTICATION, {"spec": spec}, status)


def self_review(user: User) -> Obj:
    """SelfSubjectReview, which `kubectl auth whoami` asks."""
    return _answer("SelfSubjectReview", AUTHENTICATION, {}, {"userInfo": user.described()})


def token_request(request: Obj, authenticator: Authenticator, namespace: str, name: str) -> Obj:
    """The token of a service account, as `kubectl create token` asks for it. Raises ApiError 404, 400."""
    spec = _spec(request, "TokenRequest")
    seconds = spec.get("expirationSeconds", DEFAULT_SECONDS)
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise bad_request("TokenRequest: spec.expirationSeconds must be a number")
    token, expires = authenticator.issue(namespace, name, seconds)
    given = {"audiences": spec.get("audiences") or ["https://kubernetes.default.svc"], "expirationSeconds": seconds}
    answer = _answer("TokenRequest", AUTHENTICATION, {"spec": given}, {"token": token, "expirationTimestamp": expires})
    answer["metadata"] = {"name": name, "namespace": namespace}
    return answer


def with_manager(answer: Obj, given: Obj, manager: str, now: float) -> Obj:
    """The answer with managedFields, which the server keeps even for what it does not store."""
    changed, _ = fields.compare(ANY, {"spec": {}}, {"spec": given.get("spec") or {}})
    if not changed:
        return answer
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": answer["apiVersion"],
        "time": rfc3339(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": changed,
    }
    return {**answer, "metadata": {**answer["metadata"], "managedFields": [entry]}}


def _spec(review: Any, kind: str) -> Obj:
    spec = review.get("spec") if isinstance(review, dict) else None
    if not isinstance(spec, dict):
        raise bad_request(f"{kind}: spec must be an object")
    return spec


_ORDER = ("namespace", "verb", "group", "version", "resource", "subresource", "name", "path")


def _ordered(spec: Obj) -> Obj:
    """Attributes in the order the server prints them."""
    return {
        key: {name: value[name] for name in _ORDER if value.get(name)} if isinstance(value, dict) else value
        for key, value in spec.items()
    }


def _answer(kind: str, api_version: str, given: Obj, status: Obj) -> Obj:
    return {"kind": kind, "apiVersion": api_version, "metadata": {}, **given, "status": status}
