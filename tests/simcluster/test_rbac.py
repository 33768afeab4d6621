"""Rights from roles and bindings, tokens, reviews, impersonation."""

from collections.abc import Callable
from typing import Any

import pytest

from simcluster import rbac
from simcluster.authentication import ADMIN, Authenticator, User, service_account
from simcluster.options import Options
from simcluster.rbac import Attributes, Authorizer
from simcluster.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, SERVICEACCOUNTS
from tests.simcluster.simserver import SimServer, tfjob
from tests.simcluster.simulation import Simulation

Obj = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
SSAR = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WEAK = service_account("wire", "weak")


def rules(*verbs: str, **more: Any) -> list[Obj]:
    return [{"apiGroups": ["kubeflow.org"], "resources": ["tfjobs"], "verbs": list(verbs), **more}]


def bind(kind: str, role: str, *subjects: Obj) -> Obj:
    return {"metadata": {"name": "b"}, "roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


ACCOUNT = {"kind": "ServiceAccount", "name": "weak", "namespace": "wire"}
WATCH = Attributes("watch", "kubeflow.org", "tfjobs")


@pytest.fixture
def world() -> Any:
    simulation = Simulation(namespaces=("wire", "other"))
    return simulation.store


def test_a_cluster_role_holds_everywhere(world: Any) -> None:
    judge = Authorizer(world)
    assert judge.allowed(WEAK, WATCH) == (False, "")
    world.create(CLUSTERROLES, {"metadata": {"name": "r"}, "rules": rules("watch")})
    world.create(CLUSTERROLEBINDINGS, bind("ClusterRole", "r", ACCOUNT))
    allowed, reason = judge.allowed(WEAK, WATCH)
    assert (allowed, reason) == (
        True,
        'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "weak/wire"',
    )
    assert judge.allowed(WEAK, Attributes("delete", "kubeflow.org", "tfjobs"))[0] is False
    assert judge.allowed(service_account("other", "weak"), WATCH)[0] is False
    assert judge.allowed(ADMIN, Attributes("delete", "kubeflow.org", "tfjobs"))[0]


def test_a_role_holds_in_its_namespace(world: Any) -> None:
    world.create(ROLES, {"metadata": {"name": "r"}, "rules": rules("get", resourceNames=["a"])}, "wire")
    world.create(ROLEBINDINGS, bind("Role", "r", {"kind": "Group", "name": "system:serviceaccounts:wire"}), "wire")
    judge = Authorizer(world)

    def may(namespace: str, name: str) -> bool:
        return judge.allowed(WEAK, Attributes("get", "kubeflow.org", "tfjobs", namespace=namespace, name=name))[0]

    assert (may("wire", "a"), may("wire", "b"), may("other", "a"), may("", "a")) == (True, False, False, False)


@pytest.mark.parametrize(
    ("rule", "wanted", "allowed"),
    [
        ({"resources": ["*"]}, Attributes("get", "", "pods", "log"), True),
        ({"resources": ["pods"]}, Attributes("get", "", "pods", "log"), False),
        ({"resources": ["pods/log"]}, Attributes("get", "", "pods", "log"), True),
        ({"resources": ["*/log"]}, Attributes("get", "", "pods", "log"), True),
        ({"resources": ["*/log"]}, Attributes("get", "", "pods"), False),
        ({"apiGroups": ["*"], "resources": ["tfjobs"]}, Attributes("get", "kubeflow.org", "tfjobs"), True),
        ({"nonResourceURLs": ["/api/*"]}, Attributes("get", path="/api/v1"), True),
        ({"nonResourceURLs": ["/api/*"]}, Attributes("get", path="/version"), False),
        ({"nonResourceURLs": ["*"]}, Attributes("get", "", "pods"), False),
        ({"resources": None, "verbs": None}, Attributes("get", "", "pods"), False),
    ],
)
def test_rules(world: Any, rule: Obj, wanted: Attributes, allowed: bool) -> None:
    world.create(CLUSTERROLES, {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "verbs": ["get"], **rule}]})
    world.create(CLUSTERROLEBINDINGS, bind("ClusterRole", "r", {"kind": "User", "name": "me"}))
    assert Authorizer(world).allowed(User("me"), wanted)[0] is allowed


def test_tokens_expire_and_die_with_their_account() -> None:
    import random

    simulation = Simulation(namespaces=("wire",))
    store = simulation.store
    tokens = Authenticator(store, random.Random(1))
    tokens.admin_token = "secret"
    assert tokens.user_of("Bearer secret") == ADMIN
    account = store.create(SERVICEACCOUNTS, {"metadata": {"name": "weak"}}, "wire")
    token, _ = tokens.issue("wire", "weak", 3600)
    assert tokens.user_of_token(token) == service_account("wire", "weak", account["metadata"]["uid"])
    head, payload, signature = token.split(".")
    for forged in (f"{head}.{payload}.x", f"{head}.e30.{signature}", "", "a.b.c", token + "x", "\u00e9.\u00e9"):
        assert tokens.user_of_token(forged) is None
    simulation.run(3599)
    assert tokens.user_of_token(token) is not None
    simulation.run(2)
    assert tokens.user_of_token(token) is None
    token, _ = tokens.issue("wire", "weak")
    store.delete(SERVICEACCOUNTS, "wire", "weak")
    store.create(SERVICEACCOUNTS, {"metadata": {"name": "weak"}}, "wire")
    assert tokens.user_of_token(token) is None  # another account of the same name


@pytest.fixture
def guarded(start_server: Callable[..., SimServer]) -> SimServer:
    server = start_server(Options(token="admin", rbac=True))
    server.call(rbac.bootstrap, server.store)
    server.call(server.store.create, SERVICEACCOUNTS, {"metadata": {"name": "weak"}}, "wire")
    return server


def token_of(server: SimServer, name: str = "weak") -> str:
    path = f"/api/v1/namespaces/wire/serviceaccounts/{name}/token"
    answer = server.request("POST", path, {"spec": {"expirationSeconds": 7200}}, Authorization="Bearer admin")
    assert answer.status == 201
    return str(answer.json()["status"]["token"])


def test_everybody_needs_a_token_and_a_right(guarded: SimServer) -> None:
    weak = f"Bearer {token_of(guarded)}"
    assert guarded.get(JOBS, Authorization="Bearer admin").status == 200
    anonymous = guarded.get(JOBS)
    assert (anonymous.status, 'User "system:anonymous"' in anonymous.json()["message"]) == (403, True)
    assert guarded.get("/version").status == 200
    assert guarded.get("/apis").status == 403
    assert guarded.get("/apis", Authorization=weak).status == 200
    assert guarded.get(JOBS, Authorization="Bearer wrong").status == 401
    assert guarded.get(JOBS, Authorization="Basic x").status == 401
    refused = guarded.get(JOBS, Authorization=weak)
    assert refused.json()["message"] == (
        'tfjobs.kubeflow.org is forbidden: User "system:serviceaccount:wire:weak" cannot list resource "tfjobs" '
        'in API group "kubeflow.org" in the namespace "wire"'
    )
    role = {"metadata": {"name": "r", "namespace": "wire"}, "rules": rules("get", "list")}
    binding = bind("Role", "r", ACCOUNT)
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/wire"
    assert guarded.request("POST", f"{path}/roles", role, Authorization="Bearer admin").status == 201
    assert guarded.request("POST", f"{path}/rolebindings", binding, Authorization="Bearer admin").status == 201
    assert guarded.get(JOBS, Authorization=weak).status == 200
    assert guarded.get(f"{JOBS}?watch=1", Authorization=weak).status == 403
    assert guarded.request("POST", JOBS, tfjob(), Authorization=weak).status == 403
    log = guarded.get("/api/v1/namespaces/wire/pods/p/log", Authorization=weak).json()["message"]
    assert 'cannot get resource "pods/log"' in log


def review(server: SimServer, path: str, spec: Obj, token: str) -> Any:
    return server.request("POST", path, {"spec": spec}, Authorization=f"Bearer {token}")


def test_reviews(guarded: SimServer) -> None:
    weak = token_of(guarded)
    wanted = {"resourceAttributes": {"verb": "list", "resource": "pods"}}
    assert review(guarded, SSAR, wanted, weak).json()["status"] == {"allowed": False}
    assert review(guarded, SSAR, wanted, "admin").json()["status"] == {"allowed": True}
    path = {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
    assert review(guarded, SSAR, path, weak).json()["status"]["allowed"] is True
    other = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert review(guarded, other, {**wanted, "user": "kubernetes-admin"}, weak).status == 403
    asked = {**wanted, "user": "somebody", "groups": ["system:masters"]}
    assert review(guarded, other, asked, "admin").json()["status"] == {"allowed": True}
    listed = review(guarded, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"namespace": "wire"}, weak)
    assert {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            "verbs": ["create"]} in listed.json()["status"]["resourceRules"]  # fmt: skip
    tokens = "/apis/authentication.k8s.io/v1/tokenreviews"
    told = review(guarded, tokens, {"token": weak}, "admin").json()["status"]
    assert (told["authenticated"], told["user"]["username"]) == (True, "system:serviceaccount:wire:weak")
    assert "authenticated" not in review(guarded, tokens, {"token": "x"}, "admin").json()["status"]
    who = guarded.request(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, Authorization=f"Bearer {weak}"
    ).json()
    assert "system:serviceaccounts:wire" in who["status"]["userInfo"]["groups"]


@pytest.mark.parametrize("spec", [None, {}, 5, {"resourceAttributes": {}, "nonResourceAttributes": {}}])
def test_reviews_that_ask_nothing(shared_server: SimServer, spec: Any) -> None:
    assert shared_server.request("POST", SSAR, {"spec": spec}).status == 400
    assert shared_server.request("POST", SSAR, b"{").status == 400
    assert shared_server.get(SSAR).status == 405


def test_impersonation(guarded: SimServer) -> None:
    as_weak = {"Impersonate_User": "system:serviceaccount:wire:weak"}
    assert guarded.get(JOBS, Authorization="Bearer admin", **as_weak).status == 403
    weak = f"Bearer {token_of(guarded)}"
    refused = guarded.get(JOBS, Authorization=weak, Impersonate_User="kubernetes-admin")
    assert 'cannot impersonate resource "users"' in refused.json()["message"]
    masters = {"Impersonate_User": "me", "Impersonate_Group": "system:masters"}
    assert guarded.get(JOBS, Authorization="Bearer admin", **masters).status == 200


def test_a_token_of_no_account(guarded: SimServer) -> None:
    path = "/api/v1/namespaces/wire/serviceaccounts/absent/token"
    assert guarded.request("POST", path, {"spec": {}}, Authorization="Bearer admin").status == 404
    path = "/api/v1/namespaces/wire/serviceaccounts/weak/token"
    wrong = {"spec": {"expirationSeconds": "x"}}
    assert guarded.request("POST", path, wrong, Authorization="Bearer admin").status == 400
