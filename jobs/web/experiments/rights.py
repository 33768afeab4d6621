"""Who may press the buttons, and what everybody else is told."""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from jobs.experiments.launch import read_only
from jobs.web.accounts import may_launch
from jobs.web.errors import error_page


def rights(request: HttpRequest) -> dict[str, Any]:
    """Whether buttons are shown, and one sentence that says why not."""
    why = ""
    if settings.RESTARTSCOPE_READ_ONLY:
        why = read_only()
    elif not request.user.is_authenticated:
        why = _("Sign in to launch experiments.")
    elif not may_launch(request):
        why = _("Your account may not launch experiments. Ask an administrator for the permission.")
    return {"may": not why, "why_not": why, "read_only": settings.RESTARTSCOPE_READ_ONLY}


def refused_person(request: HttpRequest) -> HttpResponse | None:
    """Where whoever asks is sent who may not launch; None if they may."""
    if settings.RESTARTSCOPE_READ_ONLY:
        return error_page(request, 403, _("This site only reads"), read_only())
    if not request.user.is_authenticated:
        return redirect_to_login(reverse("jobs:experiments"))
    if not may_launch(request):
        return error_page(request, 403, _("Not allowed"), rights(request)["why_not"])
    return None
