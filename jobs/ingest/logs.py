"""The last lines that a container wrote, asked for while its pod is still there."""

from dataclasses import dataclass

from jobs.ingest.decode import decode_status
from jobs.ingest.transport import Stop, Transport, TransportError

LINES = 50
KEPT_BYTES = 16 << 10  # of the end: that is where a traceback stands
ASKED_BYTES = 256 << 10  # fifty long lines; the server cuts at the end of it
TIMEOUT = 5.0  # seconds: the pod is gone a median of 1.5 s after its container ended


@dataclass(frozen=True, slots=True)
class LogRequest:
    """One run of a pod's main container. ``previous``: a newer run has begun since."""

    job_uid: str
    namespace: str
    pod: str
    pod_uid: str
    container: str
    container_id: str
    previous: bool = False


@dataclass(frozen=True, slots=True)
class LogTail:
    """What came of a request: the text, or one sentence that says why there is none."""

    request: LogRequest
    text: str
    problem: str
    forbidden: bool = False


def fetch_tail(transport: Transport, request: LogRequest, stop: Stop) -> LogTail:
    """The end of the log. Never raises: a pod that is gone by now is what happens to the slow."""
    path = f"/api/v1/namespaces/{request.namespace}/pods/{request.pod}/log"
    query = {"container": request.container, "tailLines": str(LINES), "limitBytes": str(ASKED_BYTES)}
    if request.previous:
        query["previous"] = "true"
    try:
        with transport.open(path, query, timeout=TIMEOUT, stop=stop) as answer:
            body = answer.read(ASKED_BYTES * 2)
            status = answer.status
    except TransportError as error:
        return LogTail(request, "", error.sentence)
    if status == 200:
        return LogTail(request, _printable(body[-KEPT_BYTES:]), "")
    message = decode_status(body).message or f"the API server answered {status}"
    return LogTail(request, "", message, forbidden=status == 403)


def _printable(data: bytes) -> str:
    """Text without what a terminal or a database would take for a command; lines and tabs stay."""
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
