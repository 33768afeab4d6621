"""Who asks: bearer tokens of the administrator and of service accounts."""

import base64
import binascii
import hashlib
import hmac
import json
import random
from dataclasses import dataclass
from typing import Any

from simcluster import errors
from simcluster.clock import rfc3339
from simcluster.resources import SERVICEACCOUNTS
from simcluster.store import Store

Obj = dict[str, Any]
MASTERS, AUTHENTICATED, UNAUTHENTICATED = "system:masters", "system:authenticated", "system:unauthenticated"
DEFAULT_SECONDS = 3600
_SHORTEST = 600


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    def described(self) -> Obj:
        """The user as reviews show it."""
        uid = {"uid": self.uid} if self.uid else {}
        return {"username": self.name, **uid, "groups": list(self.groups)}


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


class Authenticator:
    """`admin_token` is the administrator's; service accounts get theirs from `issue`. Tokens look like JWTs."""

    def __init__(self, store: Store, rng: random.Random, admin: User = ADMIN) -> None:
        self._store = store
        self._key = rng.randbytes(32)
        self._admin = admin
        self.admin_token = ""

    def user_of(self, authorization: str) -> User:
        """The user of an Authorization header; anonymous without one. Raises ApiError 401."""
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        user = self.user_of_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise errors.unauthorized()
        return user

    def user_of_token(self, token: str) -> User | None:
        """The user whose token this is; None if it is nobody's, has expired or its account is gone."""
        if self.admin_token and hmac.compare_digest(token.encode(), self.admin_token.encode()):
            return self._admin
        claims = self._verified(token)
        if claims is None or claims["exp"] <= self._store.clock.now():
            return None
        account = self._store.find(SERVICEACCOUNTS, claims["namespace"], claims["name"])
        if account is None or account["metadata"]["uid"] != claims["uid"]:
            return None
        return service_account(claims["namespace"], claims["name"], claims["uid"])

    def issue(self, namespace: str, name: str, seconds: int = DEFAULT_SECONDS) -> tuple[str, str]:
        """A token of a service account and when it expires. Raises ApiError 404."""
        account = self._store.get(SERVICEACCOUNTS, namespace, name)
        expires = int(self._store.clock.now()) + max(seconds, _SHORTEST)
        claims = {"namespace": namespace, "name": name, "uid": account["metadata"]["uid"], "exp": expires}
        signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
        return f"{signed}.{self._signature(signed)}", rfc3339(expires)

    def _verified(self, token: str) -> Obj | None:
        signed, _, signature = token.rpartition(".")
        if not signed or not hmac.compare_digest(signature.encode(), self._signature(signed).encode()):
            return None
        payload = signed.rpartition(".")[2]
        try:
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (binascii.Error, ValueError):
            return None
        return claims if isinstance(claims, dict) else None

    def _signature(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def service_account(namespace: str, name: str, uid: str = "") -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def _encoded(value: Obj) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")
