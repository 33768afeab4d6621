"""Whose request it is and what they may do: tokens, impersonation, roles, and what a test forbids."""

import random
from collections.abc import Sequence

from starlette.datastructures import Headers, QueryParams

from simcluster import errors
from simcluster.actors import Actor
from simcluster.authentication import ADMIN, AUTHENTICATED, Authenticator, User, service_account
from simcluster.options import Options
from simcluster.rbac import Attributes, Authorizer
from simcluster.requests import Target
from simcluster.resources import NAMESPACES, by_plural
from simcluster.store import Store

_SERVICE_ACCOUNT = "system:serviceaccount:"


class Access:
    def __init__(self, store: Store, options: Options, rng: random.Random) -> None:
        self._options = options
        admin = ADMIN if options.rbac else User(options.user, (AUTHENTICATED,))
        self.authenticator = Authenticator(store, rng, admin)
        self.authorizer = Authorizer(store)

    def user_of(self, headers: Headers) -> User:
        """The user of a request, the impersonated one if it asks for that. Raises ApiError 401, 403."""
        user = self._authenticated(headers.get("authorization", ""))
        name = headers.get("impersonate-user", "")
        return self._impersonated(user, name, headers.getlist("impersonate-group")) if name else user

    def judge(self, user: User, wanted: Attributes) -> tuple[bool, str]:
        """Whether a user may do it, and why."""
        resource = by_plural(wanted.group, wanted.resource)
        if resource is not None and self._options.is_forbidden(resource, wanted.verb):
            return False, ""
        return self.authorizer.allowed(user, wanted) if self._options.rbac else (True, "")

    def check(self, user: User, verb: str, target: Target) -> None:
        """Raises ApiError 403."""
        resource = target.resource
        # A namespace lies in itself: a role within it may allow to read it.
        namespace = target.name or None if resource is NAMESPACES else target.namespace
        wanted = Attributes(verb, resource.group, resource.plural, target.subresource, namespace or "", target.name)
        if not self.judge(user, wanted)[0]:
            raise errors.forbidden(resource, user.name, verb, namespace, target.name, subresource=target.subresource)

    def check_path(self, user: User, path: str, verb: str) -> None:
        """Raises ApiError 403 for a path that is no resource."""
        if not self.judge(user, Attributes(verb, path=path))[0]:
            raise errors.forbidden_path(path, user.name, verb)

    def _authenticated(self, authorization: str) -> User:
        self.authenticator.admin_token = self._options.token
        if self._options.rbac:
            return self.authenticator.user_of(authorization)
        token = authorization.partition(" ")[2].strip()
        user = self.authenticator.user_of_token(token) if token else None
        if user is None and self._options.token:
            raise errors.unauthorized()
        return user or User(self._options.user, (AUTHENTICATED,))

    def _impersonated(self, user: User, name: str, groups: Sequence[str]) -> User:
        wanted = Attributes("impersonate", "", "users", name=name)
        if name.startswith(_SERVICE_ACCOUNT) and name.count(":") == 3:
            namespace, account = name.removeprefix(_SERVICE_ACCOUNT).split(":")
            wanted = Attributes("impersonate", "", "serviceaccounts", namespace=namespace, name=account)
            other = service_account(namespace, account)
        else:
            other = User(name, (AUTHENTICATED,))
        if self._options.rbac and not self.authorizer.allowed(user, wanted)[0]:
            raise errors.ApiError(
                403,
                "Forbidden",
                f'{wanted.resource} "{wanted.name}" is forbidden: User "{user.name}" cannot impersonate resource '
                f'"{wanted.resource}" in API group "" '
                + (f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"),
                {"name": wanted.name, "kind": wanted.resource},
            )
        return User(other.name, tuple(groups) or other.groups, other.uid)


def actor_of(user: User, query: QueryParams, headers: Headers) -> Actor:
    """Who the writes of a request are noted under."""
    agent = headers.get("user-agent", "") or "unknown"
    return Actor(user.name, query.get("fieldManager") or agent.partition("/")[0][:128], agent)
