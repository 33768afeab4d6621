"""``manage.py report``: the machine-readable answer, and the same as a table."""

import json
import sys
import time
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from jobs.domain.report import rfc3339
from jobs.store.reports import FilterError, ReportFilter, reports

COLUMNS = ("NAMESPACE", "KIND", "NAME", "STATE", "RESTARTS", "KUBECTL", "HIDDEN", "EXIT CODES")


class Command(BaseCommand):
    help = "Print the true restart counts of the jobs that are known."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", choices=("json", "table"), help="default: table on a terminal, else json")
        for name in ("cluster", "namespace", "kind", "name", "uid", "state"):
            parser.add_argument(f"--{name}", help=f"only jobs of this {name}")
        parser.add_argument("--exit-code", metavar="N", help="only jobs in which a container ended with this code")
        parser.add_argument(
            "--since", metavar="TIME", help="only jobs seen after this RFC 3339 time, or 2h, 30m, 7d ago"
        )
        parser.add_argument("--until", metavar="TIME", help="only jobs created before this time")

    def handle(self, **options: Any) -> None:
        try:
            wanted = ReportFilter.parse(options, time.time())
        except FilterError as error:
            self.stderr.write(str(error))
            sys.exit(2)
        call_command("migrate", verbosity=0, interactive=False)  # a database that is still empty has nothing to report
        jobs = reports(wanted)
        if (options["output"] or ("table" if self.stdout.isatty() else "json")) == "json":
            self.stdout.write(json.dumps({"generated_at": rfc3339(time.time()), "jobs": list(jobs)}, indent=1))
        else:
            self._table(list(jobs))

    def _table(self, jobs: list[dict[str, Any]]) -> None:
        if not jobs:
            self.stdout.write("No jobs. Run `manage.py watch`, or `manage.py replay` with a recording.")
            return
        rows = [COLUMNS, *(_row(job) for job in jobs)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
        for row in rows:
            self.stdout.write("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    codes: dict[str, int] = {}
    for replica in job["replicas"]:
        for pod in replica["pods"]:
            if pod["was_restart"] and pod["exit_code"] is not None:
                codes[str(pod["exit_code"])] = codes.get(str(pod["exit_code"]), 0) + 1
    count = f"{job['true_restarts']}"
    return (
        job["namespace"],
        job["kind"],
        _printable(job["name"]),
        job["state"] if job["present"] else f"{job['state']} (gone)",
        f"at least {count}" if job["at_least"] else count,
        str(job["kubectl_restarts"]),
        str(job["hidden_restarts"]),
        ", ".join(f"{code} x{number}" if number > 1 else code for code, number in codes.items()),
    )


def _printable(text: str) -> str:
    """Cluster text may hold control characters; a terminal must not obey them."""
    return "".join(c if c.isprintable() else "?" for c in text)
