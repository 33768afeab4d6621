"""Django's sign-in with the throttle in front, and its lines in the log."""

import ipaddress
import logging
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest

from jobs.accounts.throttle import count_attempt, forgive

log = logging.getLogger(__name__)

UNKNOWN = "an unknown address"


class ThrottleBackend:
    """Stands before the backend that knows passwords, so that every form that asks for one is throttled.

    It signs nobody in, and has no ``get_user``: sessions name the other one.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> None:
        """Raises ``TooManyAttempts``, which ends the attempt for all backends."""
        if username is not None and password is not None:
            address = address_of(request)
            count_attempt(username, address, f"{_shown(username)} from {address}")

    async def aauthenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        await sync_to_async(self.authenticate)(request, **credentials)


def address_of(request: HttpRequest | None) -> str:
    """Whom attempts are counted for: an IPv4 address, or the /64 of an IPv6 address, of which everybody has 2**64.

    Headers of proxies are the server's business: it knows whom to believe, and has put their word into REMOTE_ADDR.
    """
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR") or "" if request else "")
    except ValueError:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), 64), strict=False))


def _shown(name: str) -> str:
    """Names of accounts alone are logged: what else is typed there may be a password."""
    return repr(name) if User.objects.filter(username=name).exists() else "an unknown name"


def note_success(sender: Any, request: HttpRequest | None, user: User, **_: Any) -> None:
    address = address_of(request)
    forgive(user.get_username(), address)
    log.info("%r from %s has signed in", user.get_username(), address)


def note_failure(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    name = _shown(str(credentials.get("username", "")))
    log.warning("%s from %s has not signed in: name and password do not belong together", name, address_of(request))


def connect() -> None:
    """Listen to Django's signals; called once, when all apps are there."""
    user_logged_in.connect(note_success, dispatch_uid="jobs.accounts.success")
    user_login_failed.connect(note_failure, dispatch_uid="jobs.accounts.failure")
