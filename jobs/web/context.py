"""What every page's frame needs."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

THEMES = ("system", "light", "dark")


def frame(request: HttpRequest, page: str) -> dict[str, Any]:
    """``page``: the part of the navigation that is current."""
    theme = request.COOKIES.get("theme", "system")
    return {
        "page": page,
        "now": time.time(),
        "theme": theme if theme in THEMES else "system",
        "theme_names": {"system": _("Theme: system"), "light": _("Theme: light"), "dark": _("Theme: dark")},
        "messages_island": script_messages(),
        "demo_sign_in": settings.RESTARTSCOPE_DEMO_SIGN_IN,
    }


def script_messages() -> dict[str, str]:
    """The strings that the scripts show (static/js/messages.js), by their English text."""
    return {
        "1 job changed, show": _("1 job changed, show"),
        "{n} jobs changed, show": _("{n} jobs changed, show"),
        "Many jobs changed, show": _("Many jobs changed, show"),
        "{duration} ago": _("{duration} ago"),
        "live": _("live"),
        "reconnecting": _("reconnecting"),
        "stale since {time}": _("stale since {time}"),
        "no watcher reports": _("no watcher reports"),
        "delayed": _("delayed"),
        "the message broker does not answer; looking every second": _(
            "the message broker does not answer; looking every second"
        ),
        "The timeline could not be loaded. The tables below hold the same.": _(
            "The timeline could not be loaded. The tables below hold the same."
        ),
        "created": _("created"),
        "running": _("running"),
        "start took": _("start took"),
        "ended": _("ended"),
        "ran for": _("ran for"),
        "exit code": _("exit code"),
        "cause": _("cause"),
        "not counted": _("not counted"),
        "the job was suspended": _("the job was suspended"),
        "the job was scaled": _("the job was scaled"),
        "its spec was changed while nobody watched": _("its spec was changed while nobody watched"),
        "restarts in place": _("restarts in place"),
        "deleted": _("deleted"),
        "node": _("node"),
        "pod UID": _("pod UID"),
        "from": _("from"),
        "to": _("to"),
        "still open": _("still open"),
        "lasted": _("lasted"),
        "not measured": _("not measured"),
        "too short to measure": _("too short to measure"),
        "by the cluster's clock": _("by the cluster's clock"),
        "reason": _("reason"),
        "{n} of {m}": _("{n} of {m}"),
        "no phase yet": _("no phase yet"),
        "none seen": _("none seen"),
        "created at {time}": _("created at {time}"),
        "ran {duration}": _("ran {duration}"),
        "ended with {code}": _("ended with {code}"),
        "restarts": _("restarts"),
        "{n} restarts": _("{n} restarts"),
        "pods": _("pods"),
        "exit codes": _("exit codes"),
        "replicas": _("replicas"),
        "times": _("times"),
        "a press zooms in": _("a press zooms in"),
    }
