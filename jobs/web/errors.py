"""What goes wrong with a request: one shape for JSON, a page that leads on for people."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from jobs.web.context import frame


class BadRequestError(Exception):
    """The request cannot be understood; the text is a sentence for whoever sent it."""


class BadFilterError(BadRequestError):
    """A word of a filter cannot be understood."""


def api_error(status: int, code: str, message: str) -> JsonResponse:
    """``{"error": {"code", "message"}}``."""
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)


def wants_json(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def error_page(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    """A page that says what is wrong and leads on; JSON below /api/."""
    if wants_json(request):
        codes = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 413: "too-long"}
        return api_error(status, codes.get(status, "error"), message)
    shown = frame(request, "") | {"title": title, "message": message, "status": status}
    return render(request, "jobs/error.html", shown, status=status)
