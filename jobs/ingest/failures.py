"""What can go wrong with a list or a watch, in a few kinds, each with a sentence that says how to mend it."""

import json
from enum import Enum, auto

from jobs.ingest.decode import ApiStatus, decode_status
from jobs.ingest.messages import State
from jobs.ingest.streams import StreamSpec
from jobs.ingest.timing import Timing
from jobs.ingest.transport import Answer, Stalled, TransportError, Unreachable


class Kind(Enum):
    """What a list or a watch failed with; each kind has its state and its pause."""

    EXPIRED = auto()  # the version or the continue token is too old: list again
    THROTTLED = auto()
    SERVER_ERROR = auto()
    UNREACHABLE = auto()
    CUT = auto()
    STALLED = auto()
    UNAUTHORIZED = auto()
    FORBIDDEN = auto()
    NOT_INSTALLED = auto()
    REFUSED = auto()


STATES = {
    Kind.EXPIRED: State.LISTING,
    Kind.THROTTLED: State.THROTTLED,
    Kind.SERVER_ERROR: State.SERVER_ERROR,
    Kind.UNREACHABLE: State.UNREACHABLE,
    Kind.CUT: State.RECONNECTING,
    Kind.STALLED: State.RECONNECTING,
    Kind.UNAUTHORIZED: State.UNAUTHORIZED,
    Kind.FORBIDDEN: State.FORBIDDEN,
    Kind.NOT_INSTALLED: State.NOT_INSTALLED,
    Kind.REFUSED: State.REFUSED,
}
SLOW = frozenset((Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.NOT_INSTALLED, Kind.REFUSED))  # a person mends these


class Failure(Exception):
    """Ends one list or one watch. ``retry_after``: seconds that the server asked for, or None."""

    def __init__(self, kind: Kind, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.retry_after = retry_after


def of_transport(error: TransportError) -> Failure:
    """An answer that never came, or whose body broke off."""
    if isinstance(error, Unreachable):
        return Failure(Kind.UNREACHABLE, error.sentence)
    return Failure(Kind.STALLED if isinstance(error, Stalled) else Kind.CUT, error.sentence)


def of_answer(stream: StreamSpec, verb: str, answer: Answer, timing: Timing) -> Failure:
    """An HTTP answer that is not 200. A body that cannot be read changes nothing: the status is known."""
    try:
        status = decode_status(answer.read(timing.max_status))
    except TransportError:
        status = ApiStatus()
    header = answer.headers.get("Retry-After", "")
    retry_after = int(header) if header.isascii() and header.isdigit() and len(header) < 9 else status.retry_after
    return of_status(stream, verb, status._replace(code=answer.status, retry_after=retry_after))


def of_status(stream: StreamSpec, verb: str, status: ApiStatus) -> Failure:
    """A Status, from an HTTP answer or an ERROR event."""
    kind = _kind(status)
    retry_after = None if status.retry_after is None else float(max(0, status.retry_after))
    return Failure(kind, _sentence(kind, stream, verb, status), retry_after)


def _kind(status: ApiStatus) -> Kind:
    code, reason = status.code, status.reason
    if code == 410 or reason in ("Expired", "Gone"):
        return Kind.EXPIRED
    if code == 429 or reason == "TooManyRequests":
        return Kind.THROTTLED
    if code is None or code >= 500 or code < 300:
        return Kind.SERVER_ERROR
    return {401: Kind.UNAUTHORIZED, 403: Kind.FORBIDDEN, 404: Kind.NOT_INSTALLED}.get(code, Kind.REFUSED)


def _sentence(kind: Kind, stream: StreamSpec, verb: str, status: ApiStatus) -> str:
    what = f"{verb} {stream.key}"
    where = f"{stream.group}/{stream.version}" if stream.group else stream.version
    scope = f"a Role in namespace {stream.namespace}" if stream.namespace else "a ClusterRole"
    texts = {
        Kind.EXPIRED: f"The cluster no longer has what {stream.key} had last seen; it is listed again.",
        Kind.THROTTLED: f"The cluster has too much to do to {what}; it is asked again later.",
        Kind.UNAUTHORIZED: "The cluster does not accept our credentials: renew this connection's token or certificate.",
        Kind.FORBIDDEN: f"The cluster forbids to {what}: grant list and watch on {stream.plural} by {scope}.",
        Kind.NOT_INSTALLED: f"{stream.resource} is not installed in this cluster: {where} has no {stream.plural}.",
        Kind.REFUSED: f"The cluster refuses to {what} with status {status.code}.",
    }
    default = f"The cluster failed to {what}{f' with status {status.code}' if status.code else ''}; it is tried again."
    said = status.message if status.message and kind in (Kind.FORBIDDEN, Kind.REFUSED, Kind.SERVER_ERROR) else None
    return texts.get(kind, default) + (f" It says {json.dumps(said, ensure_ascii=False)}." if said else "")
