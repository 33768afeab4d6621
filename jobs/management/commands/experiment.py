"""``manage.py experiment``: list, run and clean up experiments from a shell or from CI.

``run --wait`` needs neither worker nor broker: it carries the run on itself, and follows the cluster if nobody does.
"""

import getpass
import json
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from jobs.domain.kinds import KINDS
from jobs.experiments import clusters, runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment, Values
from jobs.experiments.launch import Launch, NotLaunched, launch
from jobs.experiments.models import ExperimentRun, RunState
from jobs.experiments.parameters import check, defaults_in
from jobs.experiments.report import described, line, told
from jobs.experiments.verdict import Overall
from jobs.experiments.writes import Away, Refused, cluster_writer
from jobs.ingest.client import ConnectionSettingError
from jobs.management.interrupts import handling
from jobs.models import Stream
from jobs.sessions import Busy, configured, run_session
from jobs.store.leftover import NOT_CONFIGURED

AS_EXPECTED, DIFFERENT, USAGE, CANNOT_TELL, NOT_LAUNCHED = 0, 1, 2, 3, 4
STATUSES = """exit status of run: 0 as expected (or launched, without --wait); 1 different; 2 wrong arguments;
3 cannot tell, because something was not watched or the run was stopped; 4 not launched, or not followed to its end.
clean: 0 if everything is gone, 4 if not."""
LOOK_EVERY = 1.0  # seconds
WATCH_SECONDS = 60.0  # that a launch waits for its own watcher to look


class Command(BaseCommand):
    help = "List, run and clean up experiments."

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, epilog=STATUSES, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="the catalogue, or with --runs what was launched")
        listing.add_argument("--runs", action="store_true", help="the runs, newest first")
        run = actions.add_parser("run", help="launch one, and with --wait follow it to its verdict")
        run.add_argument("name", help="as `list` shows it")
        run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter (repeatable)")
        run.add_argument("--cluster", help="a name of RESTARTSCOPE_CLUSTERS; default: the first")
        run.add_argument("--namespace", help="default: one in which such jobs may be created")
        run.add_argument("--job-name", help="default: the experiment's name and four characters")
        run.add_argument("--keep", action="store_true", help="leave the jobs where they are at the end")
        run.add_argument("--wait", action="store_true", help="until there is a verdict; the exit status tells it")
        clean = actions.add_parser("clean", help="remove what runs created: by label and UID, nothing else")
        clean.add_argument("run", nargs="*", help="ids of runs; default: all that are over")
        clean.add_argument("--all", action="store_true", help="those under way, too; they are stopped")
        for each in (listing, run, clean):
            each.add_argument("--output", choices=("json", "text"), help="default: text on a terminal, else json")

    def handle(self, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        self.as_json = (options["output"] or ("text" if self.stdout.isatty() else "json")) == "json"
        action = {"list": self._list, "run": self._run, "clean": self._clean}[options["action"]]
        status = action(options)
        if status:
            sys.exit(status)

    # --- list

    def _list(self, options: dict[str, Any]) -> int:
        if options["runs"]:
            self._tell({"runs": [told(run) for run in ExperimentRun.objects.order_by("-created_at")[:200]]}, "runs")
        else:
            self._tell({"experiments": [described(one) for one in experiments().values()]}, "experiments")
        return AS_EXPECTED

    # --- run

    def _run(self, options: dict[str, Any]) -> int:
        experiment = experiments().get(options["name"])
        if experiment is None:
            return self._wrong(f"There is no experiment {options['name']}; there are {', '.join(experiments())}.")
        values, problems = self._values(experiment, options["set"])
        if problems:
            return self._wrong(*problems)
        try:
            wanted = self._launch(experiment, values, options)
            with self._watched(wanted.cluster) if options["wait"] else _nothing():
                run = launch(wanted)
                return self._followed(run) if options["wait"] else self._launched(run)
        except NotLaunched as error:
            self.stderr.write("\n".join(sentences(error)))
            return NOT_LAUNCHED
        except (Away, Refused) as error:
            self.stderr.write(str(error))
            return NOT_LAUNCHED

    def _values(self, experiment: Experiment, given: list[str]) -> tuple[Values, list[str]]:
        raw = dict(text.partition("=")[::2] for text in given)
        checked = check(experiment, raw)
        return checked.values, [f"{name}: {text.en}" if name else text.en for name, text in checked.errors.items()]

    def _launch(self, experiment: Experiment, values: Values, options: dict[str, Any]) -> Launch:
        """Raises ``NotLaunched``, ``Away`` and ``Refused``."""
        known = [source.name for source in settings.RESTARTSCOPE_CLUSTERS]
        cluster = options["cluster"] or next(iter(known), "")
        namespace, level = place_for(cluster, experiment, options["namespace"])
        given = [text.partition("=")[0] for text in options["set"]]
        usual = {name: value for name, value in defaults_in(experiment, level).items() if name not in given}
        id_ = uuid.uuid4()
        return Launch(
            experiment,
            {**values, **usual},
            cluster,
            namespace,
            options["job_name"] or f"{experiment.name[:28].rstrip('-')}-{id_.hex[:4]}",
            id_,
            getpass.getuser(),
            not options["keep"],
        )

    @contextmanager
    def _watched(self, cluster: str) -> Iterator[None]:
        """Follow the cluster for as long as the block lasts, if nobody else does."""
        if clusters.is_watched(cluster) or clusters.cluster_named(cluster) is None:
            yield
            return
        stop, began = threading.Event(), time.time()
        watcher = threading.Thread(target=self._watch, args=(cluster, stop), daemon=True)
        watcher.start()
        while not sees(cluster, began) and watcher.is_alive() and time.time() < began + WATCH_SECONDS:
            time.sleep(0.1)
        try:
            yield
        finally:
            stop.set()
            watcher.join(10)

    def _watch(self, cluster: str, stop: threading.Event) -> None:
        try:
            run_session(configured(cluster), stop)
        except (Busy, ConnectionSettingError) as error:
            self.stderr.write(str(error))
        finally:
            connection.close()

    def _launched(self, run: ExperimentRun) -> int:
        self._tell(told(run))
        return NOT_LAUNCHED if run.state == RunState.FAILED else AS_EXPECTED

    def _followed(self, run: ExperimentRun) -> int:
        """Carry the run on until it is over and cleaned up; workers that are at it, too, do no harm.

        Whoever ends the command stops the run and has it cleaned up; a second time it ends at once.
        """
        with handling(signal.default_int_handler, signal.SIGTERM):  # a request to end, as CI sends it, is a Ctrl-C
            try:
                self._carry_on(run)
            except KeyboardInterrupt:
                self.stderr.write(
                    "Stopping the run and cleaning up. Once more ends this at once and leaves what is there."
                )
                runs.stop(run, getpass.getuser())
                run.refresh_from_db()
                self._carry_on(run)
        self._tell(told(run))
        if run.state == RunState.FAILED:
            return NOT_LAUNCHED
        overall = (run.verdict or {}).get("overall")
        if overall == Overall.AS_EXPECTED:
            return AS_EXPECTED
        return DIFFERENT if overall == Overall.DIFFERENT else CANNOT_TELL

    def _carry_on(self, run: ExperimentRun) -> None:
        shown: dict[str, str] = {}
        while run.is_open or (run.clean_up_asked and run.cleaned_at is None and not run.trouble):
            runs.carry_on(run.id)
            run.refresh_from_db()
            self._progress(run, shown)
            time.sleep(LOOK_EVERY)

    def _progress(self, run: ExperimentRun, shown: dict[str, str]) -> None:
        if self.as_json:
            return
        for step in (run.verdict or {}).get("steps", ()):
            if shown.get(step["key"]) != step["state"]:
                shown[step["key"]] = step["state"]
                if step["state"] != "waiting":
                    self.stdout.write(f"{step['state']:8} {step['text']['en']} {step['seen'].get('en', '')}")

    # --- clean

    def _clean(self, options: dict[str, Any]) -> int:
        wanted = ExperimentRun.objects.filter(cleaned_at=None)
        try:
            ids = [uuid.UUID(text) for text in options["run"]]
        except ValueError:
            return self._wrong("Runs are named by their ids, as `experiment list --runs` shows them.")
        unknown = set(ids) - set(ExperimentRun.objects.filter(id__in=ids).values_list("id", flat=True))
        if unknown:
            return self._wrong(*(f"No run {one} is kept; see `experiment list --runs`." for one in sorted(unknown)))
        if ids:
            wanted = wanted.filter(id__in=ids)
        chosen = [run for run in wanted if options["all"] or ids or not run.is_open]
        for run in chosen:
            runs.ask_for_clean_up(run, getpass.getuser())
            runs.carry_on(run.id)
            run.refresh_from_db()
        self._tell({"runs": [told(run) for run in chosen]}, "runs")
        return AS_EXPECTED if all(run.cleaned_at is not None for run in chosen) else NOT_LAUNCHED

    # --- answers

    def _wrong(self, *sentences: str) -> int:
        self.stderr.write("\n".join(sentences))
        return USAGE

    def _tell(self, answer: dict[str, Any], table: str = "") -> None:
        if self.as_json:
            self.stdout.write(json.dumps(answer, indent=1))
            return
        for row in answer[table] if table else [answer]:
            self.stdout.write(line(row))


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def sees(cluster: str, since: float) -> bool:
    """Whether every stream has begun since then: what is launched now is seen from its beginning.

    A watch that goes on from where an earlier one ended may bring nothing for a minute: that it was opened is enough.
    """
    streams = list(Stream.objects.filter(cluster__name=cluster).exclude(state=NOT_CONFIGURED))
    begun = [one.state not in ("", "listing") for one in streams]
    fresh = [max(one.alive_at or 0.0, one.state_since or 0.0) >= since for one in streams if one.state == "watching"]
    return bool(fresh) and all(begun) and all(fresh)


def place_for(cluster: str, experiment: Experiment, namespace: str | None) -> tuple[str, str | None]:
    """The namespace, else one in which the experiment's jobs may be created, and the pod security standard that it
    enforces, None where that may not be read. Raises ``NotLaunched``, ``Away`` and ``Refused``."""
    source = clusters.cluster_named(cluster)
    if source is None:
        known = ", ".join(one.name for one in settings.RESTARTSCOPE_CLUSTERS)
        raise NotLaunched({"cluster": [f"No cluster {cluster} in RESTARTSCOPE_CLUSTERS; there: {known}."]})
    kinds = [kind for kind in KINDS if kind.kind in experiment.kinds]
    with cluster_writer(source) as writer:
        chosen = namespace or clusters.usual(clusters.namespaces_for(cluster, kinds, writer))
        return chosen, clusters.pod_security([chosen], writer).get(chosen)


def sentences(error: NotLaunched) -> list[str]:
    """What is wrong, a line each; the field in front where one is named."""
    found = [*error.problems.items(), *error.refused.items()]
    return [f"{field}: {text}" if field else text for field, texts in found for text in texts]
