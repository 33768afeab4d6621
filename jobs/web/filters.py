"""What a list is narrowed to, read from the address, and written back into addresses."""

from collections.abc import Iterator

from django.http import QueryDict

from jobs.store.pages.jobs import SORTS, Cursor, JobFilter, cursor_from
from jobs.web.errors import BadRequestError

FIELDS = ("state", "kind", "namespace", "cluster", "exit")
MAX_VALUES = 50  # of one field
MAX_TEXT = 300
MAX_IDS = 100


def job_filter(query: QueryDict) -> JobFilter:
    """Raises BadRequestError. Unknown parameters are left alone: they may be another page's."""
    chosen = {name: _values(query, name) for name in FIELDS if name != "exit"}
    codes = tuple(_code(text) for text in _values(query, "exit"))
    text = query.get("q", "").strip()
    if len(text) > MAX_TEXT or "\x00" in text:
        raise BadRequestError(f"`q` is a text of at most {MAX_TEXT} characters.")
    return JobFilter(**chosen, exit=codes, q=text)


def _values(query: QueryDict, name: str) -> tuple[str, ...]:
    values = tuple(dict.fromkeys(value for value in query.getlist(name) if value))
    if len(values) > MAX_VALUES or any(len(value) > MAX_TEXT or "\x00" in value for value in values):
        raise BadRequestError(f"`{name}` takes at most {MAX_VALUES} values of at most {MAX_TEXT} characters.")
    return values


def _code(text: str) -> int:
    try:
        code = int(text)
    except ValueError:
        code = 2**31
    if not -(2**31) <= code < 2**31:
        raise BadRequestError("`exit` is an exit code, such as 137.")
    return code


def sort_from(query: QueryDict) -> str:
    """The name of an order. Raises BadRequestError."""
    sort = query.get("sort") or "recent"
    if sort not in SORTS:
        raise BadRequestError(f"`sort` is one of {', '.join(SORTS)}.")
    return sort


def cursor(query: QueryDict) -> Cursor | None:
    """Where the page begins. Raises BadRequestError."""
    text = query.get("after")
    if not text:
        return None
    try:
        return cursor_from(text)
    except ValueError:
        raise BadRequestError(
            "`after` is not what a page of this list gave out. Start again at its first page."
        ) from None


def ids_from(query: QueryDict) -> list[int]:
    """Ids of rows that a page shows. Raises BadRequestError."""
    texts = [text for text in query.get("ids", "").split(",") if text]
    if len(texts) > MAX_IDS or not all(text.isascii() and text.isdigit() and len(text) < 19 for text in texts):
        raise BadRequestError(f"`ids` are at most {MAX_IDS} numbers with commas between them.")
    return [int(text) for text in texts]


def pairs(chosen: JobFilter) -> Iterator[tuple[str, str]]:
    """The filter as parameters of an address."""
    for name in FIELDS:
        for value in getattr(chosen, name):
            yield name, str(value)
    if chosen.q:
        yield "q", chosen.q


def query_string(chosen: JobFilter, sort: str = "recent", **more: str) -> str:
    """``?state=Running&q=…``, or ``?`` for everything in the default order."""
    query = QueryDict(mutable=True)
    for name, value in pairs(chosen):
        query.appendlist(name, value)
    if sort != "recent":
        query["sort"] = sort
    for name, value in more.items():
        if value:
            query[name] = value
    return "?" + query.urlencode()


def toggled(chosen: JobFilter, name: str, value: str) -> JobFilter:
    """The filter with one value of a field added, or taken away where it is chosen."""
    have = getattr(chosen, name)
    word: str | int = int(value) if name == "exit" else value
    values = tuple(v for v in have if v != word) if word in have else (*have, word)
    return JobFilter(**{**chosen.__dict__, name: values})
