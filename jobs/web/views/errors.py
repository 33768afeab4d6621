"""What Django itself finds wrong, in the same shapes as our own answers."""

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from jobs.accounts.throttle import TooManyAttempts
from jobs.web.errors import api_error, error_page, wants_json
from jobs.web.formats import duration

TOO_MUCH = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, TOO_MUCH):
        return error_page(request, 413, _("Too long"), _("This is longer than what this site takes: send less."))
    if isinstance(exception, TooManyAttempts):
        return _too_many_attempts(request, exception.wait)
    return error_page(request, 400, _("Bad request"), _("This request cannot be understood."))


def _too_many_attempts(request: HttpRequest, wait: int) -> HttpResponse:
    message = _("Somebody at your address has tried too often to sign in. Wait %(time)s, then sign in again.")
    answer = error_page(request, 429, _("Too many attempts"), message % {"time": duration(wait)})
    answer["Retry-After"] = str(wait)
    return answer


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A request that would change something without the token that our own forms carry."""
    if wants_json(request):
        answer = api_error(405, "method-not-allowed", _("This address answers GET only."))
        answer["Allow"] = "GET, HEAD"
        return answer
    return error_page(
        request,
        403,
        _("Not sent"),
        _("This form is too old, or does not come from this site. Reload its page and send it again, with cookies."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 404, _("Page not found"), _("There is no page at this address."))
