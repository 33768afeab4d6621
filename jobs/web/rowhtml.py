"""The rows of the job list as HTML, written by hand: the template engine takes longer for 50 of them than all the rest
of the page. Everything that is put in is escaped here.
"""

from collections.abc import Iterable

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from jobs.numbers import number
from jobs.templatetags.restartscope import when
from jobs.web.rows import Chip, Row, Strip


def rows_html(rows: Iterable[Row], *, several_clusters: bool) -> SafeString:
    """Table rows, one after the other."""
    return mark_safe("".join([_row(row, several_clusters) for row in rows]))  # noqa: S308 - its parts are escaped


def _row(row: Row, several_clusters: bool) -> str:
    job = row.job
    name, namespace = escape(job.name), escape(job.namespace)
    hides = " hides" if job.hidden_restarts else ""
    cluster = f" · <bdi>{escape(job.cluster.name)}</bdi>" if several_clusters else ""
    was = f'<span class="was">{escape(row.was)}</span>' if row.was else ""
    lasted = f'<span class="where">{escape(row.lasted)}</span>' if row.lasted else ""
    gone = ' class="gone"' if row.gone else ""
    return (
        f'<tr id="job-{job.id}" data-seq="{job.seq}" data-last="{row.signature}"{gone}>'
        f'<td><span class="state" data-state="{escape(row.shown)}">{escape(row.shown)}</span>{was}</td>'
        f'<th scope="row"><a href="{escape(row.url)}" title="{name}"><bdi>{name}</bdi></a>'
        f'<span class="where" title="{namespace}">{escape(job.kind)} · <bdi>{namespace}</bdi>{cluster}</span></th>'
        f'<td class="number true{hides}"><span data-value="true">{row.true_text}</span></td>'
        f'<td class="number" data-value="kubectl">{number(job.kubectl_restarts)}</td>'
        f'<td class="number{hides}" data-value="hidden">{number(job.hidden_restarts)}</td>'
        f'<td class="chips">{"".join([_chip(chip) for chip in row.chips])}{_more(row)}</td>'
        f'<td class="life">{_strip(row.strip)}</td>'
        f'<td data-value="podgroup">{escape(job.podgroup_phase or "–")}</td>'
        f'<td class="time">{when(job.created_at, "ago") or "–"}{lasted}</td>'
        f'<td class="time">{when(job.last_restart_at, "ago") or "–"}</td></tr>\n'
    )


def _chip(chip: Chip) -> str:
    times = f" <small>×{number(chip.times)}</small>" if chip.times > 1 else ""
    return f'<span class="chip{" ok" if chip.code == 0 else ""}">{escape(chip.text)}{times}</span>'


def _more(row: Row) -> str:
    if not row.more_chips:
        return ""
    return f'<span class="chip more" title="{escape(row.more_title)}">+{number(row.more_chips)}</span>'


def _strip(strip: Strip) -> str:
    """All ticks are one path: hundreds of elements a row are slow to write and to draw."""
    ending = f'<rect class="{strip.ending}" x="122" y="0" width="8" height="14" rx="2"/>' if strip.ending else ""
    ticks = "".join([f"M{x:.2f} 0h{width:.2f}v14h-{width:.2f}z" for x, width in strip.ticks])
    path = f'<path class="tick" d="{ticks}"/>' if ticks else ""
    label = escape(strip.label)
    return (
        f'<svg class="strip" width="130" height="14" viewBox="0 0 130 14" preserveAspectRatio="none" role="img"'
        f' aria-label="{label}">'
        f'<rect class="{"life" if strip.started else "waiting"}" x="0.5" y="0.5" width="129" height="13" rx="2"/>'
        f"{ending}{path}</svg>"
    )
