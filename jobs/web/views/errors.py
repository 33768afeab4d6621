"""What Django itself finds wrong, in the same shapes as our own answers."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from jobs.web.errors import error_page


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return error_page(request, 413, _("Too long"), _("This is longer than what this site takes: send less."))
    return error_page(request, 400, _("Bad request"), _("This request cannot be understood."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 404, _("Page not found"), _("There is no page at this address."))
