"""Routes of the app."""

from django.http import HttpRequest, HttpResponse
from django.urls import path


async def healthz(_request: HttpRequest) -> HttpResponse:
    """Stands in until the pages come."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [path("healthz", healthz, name="healthz")]
