"""Who may launch experiments: Django's accounts, and the demonstration's visitor."""

import ipaddress
import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.contrib.auth.views import LoginView, LogoutView
from django.db import Error as DatabaseFault
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from dashboard.env import LOOPBACK_NAMES
from jobs.web.context import frame
from jobs.web.errors import error_page

log = logging.getLogger(__name__)

PERMISSION = "jobs.launch_experiment"
DEMO = "demo"
# A proxy on this machine makes everybody look local; it says so in one of these.
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")


class SignIn(LoginView):
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **more)
        except DatabaseFault as error:
            log.error("nobody can sign in: %s", error)
            message = _("The database of this site does not answer. Try again in a minute; its log says more.")
            return error_page(request, 503, _("Nobody can sign in just now"), message)

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | frame(self.request, "sign-in")


class SignOut(LogoutView):
    http_method_names = ["post", "options"]


def may_launch(request: HttpRequest) -> bool:
    """Whether whoever asks may launch, stop and clean up here."""
    return not settings.RESTARTSCOPE_READ_ONLY and request.user.has_perm(PERMISSION)


def is_local(request: HttpRequest) -> bool:
    """Whether a request comes from this very machine, called by one of its own names and through no proxy."""
    if any(name in request.META for name in FORWARDED):
        return False
    host = request.META.get("HTTP_HOST", "").rpartition(":")
    name = host[0] if host[0] and host[2].isdigit() else request.META.get("HTTP_HOST", "")
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR") or "")
    except ValueError:
        return False
    return address.is_loopback and name in LOOPBACK_NAMES


def demo_user() -> User:
    """The demonstration's visitor; made, with the permission and no password, when the first one comes."""
    user, made = User.objects.get_or_create(username=DEMO)
    if made or not user.has_perm(PERMISSION):
        user.set_unusable_password()
        user.save()
        app, _, codename = PERMISSION.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        user = User.objects.get(pk=user.pk)  # permissions are remembered by the object
    return user


class DemoSignInMiddleware:
    """Signs a local visitor in as ``demo`` where the setting says so, as soon as somebody asks who it is."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if settings.RESTARTSCOPE_DEMO_SIGN_IN and is_local(request):
            own = request.user
            request.user = SimpleLazyObject(lambda: own if own.is_authenticated else demo_user())  # type: ignore[assignment]
        return self.get_response(request)
