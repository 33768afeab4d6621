"""``manage.py watch``: follow a cluster in the foreground, a line for each change."""

import os
import signal
import sys
import threading
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import Error

from jobs.describe import describe
from jobs.domain.facts import Observation
from jobs.ingest.client import ConnectionSettingError
from jobs.management.interrupts import handling
from jobs.sessions import Busy, UnknownCluster, configured, run_session

RETRY_SECONDS = 5.0  # after a database error


class Command(BaseCommand):
    help = "Follow a cluster in the foreground, without Celery, and print a line for each change."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", help="name in RESTARTSCOPE_CLUSTERS (default: the first)")
        parser.add_argument("--seconds", type=float, help="stop after so many seconds (default: at Ctrl-C)")
        parser.add_argument("--quiet", action="store_true", help="no line for each change")

    def handle(self, *, cluster: str | None, seconds: float | None, quiet: bool, **_: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        stop = threading.Event()
        try:
            with handling(lambda *_: stop.set(), signal.SIGINT, signal.SIGTERM):
                self._watch(cluster, stop, seconds, quiet=quiet)
        except (Busy, UnknownCluster, ConnectionSettingError) as error:
            self.stderr.write(str(error))
            sys.exit(2)
        except BrokenPipeError:  # whoever read the lines, `head` perhaps, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _watch(self, cluster: str | None, stop: threading.Event, seconds: float | None, *, quiet: bool) -> None:
        source = configured(cluster)
        while not stop.is_set():
            try:
                run_session(source, stop, seconds=seconds, on_change=None if quiet else self._print)
                return
            except Error as error:
                self.stderr.write(f"The database refused an append: {error}; trying again in {RETRY_SECONDS:.0f} s.")
                stop.wait(RETRY_SECONDS)

    def _print(self, observation: Observation) -> None:
        self.stdout.write(describe(observation))
        self.stdout.flush()
