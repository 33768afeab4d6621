"""One REDIS_URL, in the words of each library that takes it."""

from urllib.parse import parse_qs, urlencode, urlsplit


def celery_url(redis_url: str) -> str:
    """Celery's form of a redis-py URL: `unix:///path?db=1` is `redis+socket:///path?virtual_host=1` there."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    query["virtual_host"] = query.pop("db", "0")
    credentials = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"redis+socket://{credentials}{parts.path}?{urlencode(query)}"
