"""Every setting that is read from the environment: one table, strictly parsed.

`read(environ)` gives the values or raises SettingError, whose text is one sentence that names the setting. A setting
marked `secret` may also be given as `<NAME>_FILE`, the path of a file that holds it, and its value is never repeated in
an error. docs/configuration.md says the same for readers; a test keeps the two together.
"""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

BASE_DIR = Path(__file__).resolve().parent.parent

PREFIX = "RESTARTSCOPE_"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
# Kubernetes sets these in every pod beside a Service called restartscope…; they are no settings of ours.
SERVICE_LINKS = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT(_|$)")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SettingError(ValueError):
    """A setting that cannot be used; the text is a sentence for whoever set it."""


class ClusterSource(NamedTuple):
    """A cluster to watch: the name it is shown under, and where its address and credentials come from."""

    name: str
    source: str  # "kubeconfig", "in-cluster", or FILE[#context]


@dataclass(frozen=True)
class Setting:
    """One row of the table. `parse` turns text into the value and raises ValueError("must be …") when it cannot."""

    name: str
    default: str  # as it would be written in the environment; "" where the reason says what happens
    unit: str
    reason: str
    parse: Callable[[str], Any]
    secret: bool = False


def parse_switch(text: str) -> bool:
    known = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
    if text.lower() not in known:
        raise ValueError("must be on or off (true, false, 1 and 0 are understood too)")
    return known[text.lower()]


def parse_list(text: str) -> tuple[str, ...]:
    """Comma-separated words; empty text is the empty list, an empty word between commas is refused."""
    if not text.strip():
        return ()
    words = tuple(word.strip() for word in text.split(","))
    if not all(words):
        raise ValueError("must be a comma-separated list without empty places")
    return words


def parse_hosts(text: str) -> tuple[str, ...]:
    hosts = parse_list(text)
    for host in hosts:
        if "/" in host or " " in host:
            raise ValueError(f"must be a list of host names without scheme or path, and {host!r} is none")
    return hosts


def parse_origins(text: str) -> tuple[str, ...]:
    origins = parse_list(text)
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query or parts.fragment:
            raise ValueError(f"must be a list of origins like https://dashboard.example.org, and {origin!r} is none")
    return origins


def parse_namespaces(text: str) -> tuple[str, ...]:
    namespaces = parse_list(text)
    for namespace in namespaces:
        if not DNS_LABEL.fullmatch(namespace):
            raise ValueError(f"must be a list of namespaces, and {namespace!r} cannot be the name of one")
    if len(set(namespaces)) != len(namespaces):
        raise ValueError("must name each namespace once")
    return namespaces


def parse_clusters(text: str) -> tuple[ClusterSource, ...]:
    clusters = []
    for entry in parse_list(text):
        name, equals, source = (part.strip() for part in entry.partition("="))
        if not equals or not source:
            raise ValueError(
                f"must be a list of name=source, source being kubeconfig, in-cluster or FILE[#context], not {entry!r}"
            )
        if not DNS_LABEL.fullmatch(name):
            raise ValueError(f"must name clusters by lower-case letters, digits and dashes, not {name!r}")
        clusters.append(ClusterSource(name, source))
    if len({cluster.name for cluster in clusters}) != len(clusters):
        raise ValueError("must give each cluster a name of its own")
    return tuple(clusters)


def parse_directory(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError(f"must be an absolute path, not {text!r}: every process would take a relative one differently")
    if path.exists() and not path.is_dir():
        raise ValueError(f"must be a folder, and {text!r} is none")
    return path


def parse_level(text: str) -> str:
    if text.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
    return text.upper()


def parse_database_url(text: str) -> str:
    scheme = text.partition(":")[0]
    if scheme not in ("sqlite", "postgres", "postgresql") or "//" not in text:
        raise ValueError("must be sqlite:///<absolute path> or postgresql://user:password@host:port/name")
    if scheme == "sqlite" and not text.partition("sqlite:///")[2]:
        raise ValueError("must name the file: sqlite:///<absolute path>")
    try:
        _ = urlsplit(text).port
    except ValueError:
        raise ValueError("must have a number as its port") from None
    return text


def parse_redis_url(text: str) -> str:
    parts = urlsplit(text)
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("must have a number as its port") from None
    if parts.scheme == "unix" and parts.path.startswith("/"):
        return text
    if parts.scheme in ("redis", "rediss") and parts.hostname:
        if parts.path.strip("/") and not parts.path.strip("/").isdigit():
            raise ValueError("must end in the number of a database, like redis://127.0.0.1:6379/0")
        return text
    raise ValueError("must be redis://host:port/0, rediss://host:port/0 or unix:///path/of/socket")


def parse_secret_key(text: str) -> str:
    if text and len(text) < 32:
        raise ValueError("must be at least 32 characters of random text")
    return text


SETTINGS = (
    Setting(
        "RESTARTSCOPE_DATA_DIR",
        str(BASE_DIR / "var"),
        "absolute path",
        "Holds the SQLite database and the generated secret key when those are not given; else it is never touched.",
        parse_directory,
    ),
    Setting(
        "DATABASE_URL",
        "",
        "URL",
        "SQLite needs no server; PostgreSQL when several machines share it. "
        "Empty means restartscope.sqlite3 in the data folder.",
        lambda text: parse_database_url(text) if text else "",
        secret=True,
    ),
    Setting(
        "REDIS_URL",
        "redis://127.0.0.1:6379/0",
        "URL",
        "Carries Celery's queues and the news of changes to open pages; a unix:// URL needs no port.",
        parse_redis_url,
        secret=True,
    ),
    Setting(
        "RESTARTSCOPE_SECRET_KEY",
        "",
        "32 characters or more",
        "Signs sessions and forms. Empty means a random key, made once in the data folder and readable by its owner.",
        parse_secret_key,
        secret=True,
    ),
    Setting(
        "RESTARTSCOPE_DEBUG",
        "off",
        "on or off",
        "Shows tracebacks in the browser and reads static files anew for each request; for developers alone.",
        parse_switch,
    ),
    Setting(
        "RESTARTSCOPE_ALLOWED_HOSTS",
        ",".join(LOOPBACK_NAMES),
        "comma-separated host names",
        "The names browsers may call this site by; others are answered 400, which keeps forged links out. "
        "The names of loopback are always allowed: health checks use them.",
        parse_hosts,
    ),
    Setting(
        "RESTARTSCOPE_CSRF_TRUSTED_ORIGINS",
        "",
        "comma-separated origins",
        "Needed for forms when a proxy in front ends TLS, for example https://dashboard.example.org.",
        parse_origins,
    ),
    Setting(
        "RESTARTSCOPE_CLUSTERS",
        "default=kubeconfig",
        "comma-separated name=source",
        "What is watched. A source is kubeconfig (the user's own), FILE[#context], or in-cluster (a pod's account).",
        parse_clusters,
    ),
    Setting(
        "RESTARTSCOPE_NAMESPACES",
        "",
        "comma-separated namespaces",
        "Empty means all of them, which needs a ClusterRole; with namespaced rights name the namespaces.",
        parse_namespaces,
    ),
    Setting(
        "RESTARTSCOPE_READ_ONLY",
        "on",
        "on or off",
        "While on, nothing is ever written to a cluster; experiments can be launched only when it is off.",
        parse_switch,
    ),
    Setting(
        "RESTARTSCOPE_DEMO_SIGN_IN",
        "off",
        "on or off",
        "For demonstrations: whoever comes from this very machine is signed in as `demo` and may launch experiments. "
        "Requests from elsewhere, or through a proxy, are not.",
        parse_switch,
    ),
    Setting(
        "RESTARTSCOPE_POD_LOGS",
        "on",
        "on or off",
        "Whether the last lines of a container's log may be fetched and shown; off where logs hold secrets.",
        parse_switch,
    ),
    Setting(
        "RESTARTSCOPE_STREAMING_LISTS",
        "off",
        "on or off",
        "Asks the API server to stream its lists (sendInitialEvents, Kubernetes 1.32 on), which saves it memory.",
        parse_switch,
    ),
    Setting(
        "RESTARTSCOPE_LOG_LEVEL",
        "INFO",
        "DEBUG, INFO, WARNING or ERROR",
        "The least level that is written to standard error.",
        parse_level,
    ),
)


def names() -> set[str]:
    """Every variable that is understood, the _FILE variants of secrets included."""
    return {setting.name for setting in SETTINGS} | {f"{setting.name}_FILE" for setting in SETTINGS if setting.secret}


def _text_of(setting: Setting, environ: Mapping[str, str]) -> str | None:
    """The text given for a setting, from the variable itself or from the file that it names; None if not given."""
    text = environ.get(setting.name)
    file_name = f"{setting.name}_FILE"
    if not setting.secret or file_name not in environ:
        return text
    if text is not None:
        raise SettingError(f"{setting.name} and {file_name} are both set: keep one of them.")
    try:
        return Path(environ[file_name]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SettingError(f"{file_name} names {environ[file_name]!r}, which cannot be read: {reason}.") from None


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = names()
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and not SERVICE_LINKS.search(name):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f": is {near[0]} meant?" if near else "; docs/configuration.md lists them."
            raise SettingError(f"{name} is no setting{hint}")


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """The value of each setting by its name.

    Raises SettingError for a value that cannot be used, and for a variable with our prefix that is no setting: a
    misspelt setting would otherwise be a setting silently left at its default.
    """
    _refuse_unknown(environ)
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        text = _text_of(setting, environ)
        try:
            values[setting.name] = setting.parse(setting.default if text is None else text.strip())
        except ValueError as error:
            raise SettingError(f"{setting.name} {error}.") from None
    if not values["DATABASE_URL"]:
        values["DATABASE_URL"] = f"sqlite:///{values['RESTARTSCOPE_DATA_DIR']}/restartscope.sqlite3"
    return values


def read_or_exit(environ: Mapping[str, str]) -> dict[str, Any]:
    """`read`, but a wrong setting ends the process: one sentence on standard error and exit status 2."""
    try:
        return read(environ)
    except SettingError as error:
        exit_with(error)


def exit_with(error: SettingError) -> NoReturn:
    """A traceback would bury the sentence, whichever program (manage.py, celery, uvicorn) imports the settings."""
    sys.stderr.write(f"restartscope: {error}\n")
    raise SystemExit(2)
