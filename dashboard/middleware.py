"""Middleware of the whole site. Both run inside the event loop: a middleware that is only synchronous would move every
request, and every open event stream, to a thread and back."""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

GetResponse = Callable[[HttpRequest], Any]

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeadersMiddleware:
    """Sets the headers that Django's own SecurityMiddleware does not; a view that set one already keeps its own."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._in_loop(request)
        return self._with_headers(self.get_response(request))

    async def _in_loop(self, request: HttpRequest) -> HttpResponseBase:
        return self._with_headers(await self.get_response(request))

    @staticmethod
    def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise for the event loop: its own middleware is synchronous and answers with a file object, which an ASGI
    server can send only by reading it first. Our files are small, so they are read here."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        found = self.find_file(request.path_info) if self.autorefresh else self.files.get(request.path_info)
        if found is None:
            return self.get_response(request)
        answer = found.get_response(request.method, request.META)
        body = b""
        if answer.file is not None:
            with answer.file:
                body = answer.file.read()
        whole = HttpResponse(body, status=int(answer.status), headers=dict(answer.headers))
        return self._ready(whole) if self.is_async else whole

    @staticmethod
    async def _ready(response: HttpResponse) -> HttpResponse:
        return response
