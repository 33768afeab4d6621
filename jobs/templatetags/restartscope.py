"""Tags of the pages: times that the browser tells in the reader's zone, durations, ends of runs."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from jobs.numbers import number
from jobs.web import formats
from jobs.web.streamwords import stream_words

register = template.Library()
register.filter("number", number)
register.filter("duration", formats.duration)
register.filter("lasted", formats.lasted)
register.filter("lasted_note", formats.lasted_note)
register.filter("measured", formats.measured)
register.filter("exit_text", formats.exit_text)
register.filter("stream_words", stream_words)


@register.simple_tag
def when(epoch: float | None, form: str = "clock") -> SafeString | str:
    """A ``<time>`` in UTC that the browser localises. Forms: ``clock``, ``exact`` (milliseconds), ``ago``, ``age``."""
    moment = formats.utc(epoch) if epoch is not None else None
    if moment is None:
        return ""
    if form == "exact":
        text = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d} UTC"
    else:
        text = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return format_html('<time datetime="{}" data-form="{}">{}</time>', moment.isoformat(), form, text)


@register.filter
def bar(value: float) -> str:
    """A coordinate of an SVG: two digits, never localised."""
    return f"{value:.2f}"


@register.filter
def cpu(millicores: int) -> str:
    """Thousandths of a core as Kubernetes writes them: ``80m``, ``2``."""
    return f"{millicores}m" if millicores % 1000 else str(millicores // 1000)


@register.filter
def ticks(text: str) -> SafeString:
    """What stands between backticks as code."""
    parts = str(text).split("`")
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", p) if n % 2 else p,) for n, p in enumerate(parts))
    )
