"""``manage.py replay PATH...``: read recordings into the database."""

import sys
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from jobs import models, notify
from jobs.replay import Replay, ReplayError, recordings


def positive(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def speed(text: str) -> float:
    value = float(text)
    if not 1 <= value <= 1000:
        raise ValueError
    return value


class Command(BaseCommand):
    help = "Read recordings (watch.jsonl, .gz or their folders) through the path of a live watcher."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a recording, or a folder that holds one")
        parser.add_argument("--cluster", default="replay", help="name of the cluster to write to (default: replay)")
        parser.add_argument("--until", type=positive, metavar="N", help="only the first N lines of each path")
        parser.add_argument(
            "--start-late", type=positive, default=0, metavar="N", help="begin watching after the first N lines"
        )
        parser.add_argument("--speed", type=speed, metavar="1..1000", help="play live, so many times real time")

    def handle(self, *, paths: list[str], cluster: str, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        try:
            sources = recordings(paths, options["until"], options["start_late"])
            if options["start_late"] and models.Cluster.objects.filter(name=cluster).exists():
                raise ReplayError(f"--start-late needs a cluster name not used before; {cluster} exists.")
        except ReplayError as error:
            self.stderr.write(str(error))
            sys.exit(2)
        replay = Replay(cluster, published=notify.publish if options["speed"] else None)
        lines = replay.play(sources, options["speed"])
        counts = replay.counts
        self.stderr.write(
            f"{lines} lines: {counts.changed} changes stored, {counts.unchanged} changed nothing, "
            f"{counts.duplicate} known already."
        )
        for source in sources:
            for reason, number in source.skipped.items():
                self.stderr.write(f"{source.path}: {number} lines skipped: {reason}")
        unknown: dict[str, int] = {}
        for source in sources:
            for resource, number in source.unknown.items():
                unknown[resource] = unknown.get(resource, 0) + number
        for name, number in [*sorted(unknown.items()), *sorted(counts.homeless.items())]:
            self.stderr.write(f"not used: {name} x {number}")
