"""Logging: one record is one line, whatever a cluster wrote into it, and no line holds a credential."""

import logging
import re
import time
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError

URL_PASSWORD = re.compile(r"(\w://[^/\s:@]*):[^@\s/]+@")
BEARER_TOKEN = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def without_secrets(text: str) -> str:
    """Passwords in URLs and bearer tokens are replaced by three stars."""
    return BEARER_TOKEN.sub(r"\1***", URL_PASSWORD.sub(r"\1:***@", text))


class OneLineFormatter(logging.Formatter):
    """UTC time, level, process, logger and message; a traceback follows on the same line with its breaks escaped."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return CONTROL.sub(_escaped, without_secrets(super().format(record)))


def _escaped(match: re.Match[str]) -> str:
    return "\\n" if match.group() == "\n" else f"\\x{ord(match.group()):02x}"


class WithoutTicks(logging.Filter):
    """Leaves out that the task which beat asks for every other second was received and done."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.INFO or "carry_experiments_on" not in record.getMessage()


class RefusedRequests(logging.Filter):
    """A request that Django refuses is told in one short line with its path.

    Its traceback would tell of Django's own lines alone, as often as a stranger likes.
    """

    FAULTS = (SuspiciousOperation, BadRequest, MultiPartParserError)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], self.FAULTS):
            record.exc_info = record.exc_text = None
            message, path = record.getMessage(), getattr(getattr(record, "request", None), "path", "")
            record.msg, record.args = message if path in message else f"{message.rstrip('.')}: {path}", ()
        return True


def config(level: str) -> dict[str, Any]:
    """The dictConfig of every process: all records go to standard error."""
    quiet = {name: {"level": "WARNING"} for name in ("urllib3", "kubernetes", "asyncio", "celery.redirected")}
    # Health checks and event streams would fill the access log; a proxy in front keeps a better one.
    quiet["uvicorn.access"] = {"level": "WARNING"}
    servers = {name: {"level": level, "handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": OneLineFormatter}},
        "filters": {"ticks": {"()": WithoutTicks}, "refused": {"()": RefusedRequests}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["ticks", "refused"]},
        },
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": quiet | servers | {"django": {"level": level, "handlers": [], "propagate": True}},
    }
