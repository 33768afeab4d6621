"""Launching: everything that is asked before, and creating so that nothing is left behind unknown.

The run and its objects are written down before the first is sent; each is sent with the run's label. Whoever dies in
between leaves a run in state ``launching``, which ``jobs.experiments.runs`` undoes by that label.
"""

import logging
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from jobs.domain.kinds import kind_of
from jobs.experiments import clusters
from jobs.experiments.audit import note
from jobs.experiments.clean import clean
from jobs.experiments.experiment import Experiment, Object, Place, Values
from jobs.experiments.labels import labelled, uid_of
from jobs.experiments.models import OPEN_STATES, ExperimentObject, ExperimentRun, RunState, Trouble
from jobs.experiments.parameters import refusal_field
from jobs.experiments.verdict import latest
from jobs.experiments.writes import Away, Cause, Refused, Writer, cluster_writer

log = logging.getLogger(__name__)

RUNS = 10  # at the same time, of everybody
RUNS_EACH = 5  # of one person
LOCK = 0x52455355  # PostgreSQL advisory lock: two launches at once do not both take the last place
# The operator makes Services named after the pods, and what is added to the name has to fit into their 63 characters.
NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
CUSTOM_SECONDS = 3600.0  # that a manifest of somebody's own is followed
SPARE_SECONDS = 60.0  # beyond the moment at which the verdict is final by itself
GENERAL = ""  # a problem that concerns no field
CLUSTER, NAMESPACE, JOB_NAME, MANIFEST = "cluster", "namespace", "name", "manifest"

Problems = dict[str, list[str]]  # by the field that they concern: sentences in the reader's language


class NotLaunched(Exception):
    """``problems``: what is wrong, by field; ``refused``: in the API server's own words."""

    def __init__(self, problems: Problems, refused: Problems | None = None) -> None:
        super().__init__("; ".join(text for texts in (problems | (refused or {})).values() for text in texts))
        self.problems = problems
        self.refused = refused or {}


@dataclass(frozen=True)
class Launch:
    """What is to be launched. ``experiment`` None: ``manifests`` of somebody's own.

    ``id``: the run's, made with the form, so that a form that is sent twice is one run and shows what is sent.
    """

    experiment: Experiment | None
    values: Values
    cluster: str
    namespace: str
    name: str
    id: uuid.UUID
    who: str
    clean_up: bool = True
    manifests: tuple[Object, ...] = field(default=())

    @property
    def title(self) -> str:
        return self.experiment.name if self.experiment else ""

    def rendered(self) -> list[Object]:
        """The objects without what the run adds to them."""
        if self.experiment is None:
            return list(self.manifests)
        return self.experiment.objects(self.values, Place(self.namespace, self.name))

    def objects(self) -> list[Object]:
        """The objects as they are sent."""
        return [labelled(manifest, str(self.id), self.title, self.who) for manifest in self.rendered()]


def check(wanted: Launch) -> None:
    """Everything that can be said without the cluster. Raises ``NotLaunched``."""
    problems: Problems = {}
    if settings.RESTARTSCOPE_READ_ONLY:
        raise NotLaunched({GENERAL: [read_only()]})
    if clusters.cluster_named(wanted.cluster) is None:
        problems[CLUSTER] = [_("No cluster of this name is configured.")]
    if not NAME.fullmatch(wanted.name):
        problems[JOB_NAME] = [
            _(
                "A name has at most 40 lower-case letters, digits and dashes, begins with a letter and does not end in "
                "a dash."
            )
        ]
    if not clusters.DNS_LABEL.fullmatch(wanted.namespace):
        problems[NAMESPACE] = [_("A namespace has at most 63 lower-case letters, digits and dashes.")]
    if problems:
        raise NotLaunched(problems)


def read_only() -> str:
    return _(
        "Experiments cannot be launched here: this site only reads. Whoever runs it can set RESTARTSCOPE_READ_ONLY=off "
        "and grant the rights in deploy/rbac-experiments.yaml."
    )


def dry_run(wanted: Launch, writer: Writer) -> None:
    """Has the cluster admit everything without keeping it. Raises ``NotLaunched`` and ``Away``."""
    _check_place(wanted, writer)
    for manifest in wanted.objects():
        try:
            # A slip of somebody's own is told; what an experiment sends is known, and older CRDs may lack some of it.
            writer.create(manifest, wanted.namespace, dry_run=True, strict=wanted.experiment is None)
        except Refused as refusal:
            raise NotLaunched({}, _told(wanted, refusal)) from refusal


def launch(wanted: Launch) -> ExperimentRun:
    """The run, launched now, or the one that was launched under its id already. Raises ``NotLaunched``."""
    check(wanted)
    known = _known(wanted)
    if known is not None:
        return known
    _check_limits(wanted)
    source = clusters.cluster_named(wanted.cluster)
    assert source is not None
    try:
        with cluster_writer(source) as writer:
            run, is_new = _admitted(wanted, writer)
            return _create_all(run, writer, wanted) if is_new else run
    except Away as away:
        note(None, wanted.who, "launch", f"{wanted.namespace}/{wanted.name}", str(away))
        raise NotLaunched({CLUSTER: [_("The cluster does not answer: %(why)s") % {"why": away}]}) from away


def _admitted(wanted: Launch, writer: Writer) -> tuple[ExperimentRun, bool]:
    """The run that may be created now, and whether it is new. Raises ``NotLaunched`` and ``Away``."""
    try:
        dry_run(wanted, writer)
        return _written_down(wanted)
    except NotLaunched:
        known = _known(wanted)  # the first of a double click has taken the name meanwhile
        if known is None:
            raise
        return known, False


def _known(wanted: Launch) -> ExperimentRun | None:
    return ExperimentRun.objects.filter(id=wanted.id).first()


def _check_place(wanted: Launch, writer: Writer) -> None:
    if wanted.experiment is not None and wanted.experiment.simulated_only is not None and not writer.is_simulated():
        raise NotLaunched({CLUSTER: [_("This experiment can be run on a simulated cluster only.")]})
    kinds = [kind for one in wanted.rendered() if (kind := kind_of(one.get("apiVersion"), one.get("kind")))]
    try:
        allowed = clusters.namespaces_for(wanted.cluster, dict.fromkeys(kinds), writer)
    except Refused as refusal:
        raise NotLaunched({}, {CLUSTER: [refusal.message]}) from refusal
    if wanted.namespace not in allowed:
        names = ", ".join(allowed[:10]) or _("none")
        text = _(
            "Jobs of this kind may not be created in %(namespace)s, or it is not there or not watched. Possible: "
            "%(names)s."
        )
        raise NotLaunched({NAMESPACE: [text % {"namespace": wanted.namespace, "names": names}]})


def _check_limits(wanted: Launch) -> None:
    """Raises ``NotLaunched`` where a place is lacking, or the name is taken by a run that is still open."""
    running = ExperimentRun.objects.filter(state__in=OPEN_STATES)
    if running.filter(cluster=wanted.cluster, namespace=wanted.namespace, name=wanted.name).exists():
        raise NotLaunched({JOB_NAME: [_("A run of this name is under way. Choose another name, or stop that run.")]})
    for limit, those in ((RUNS, running), (RUNS_EACH, running.filter(who=wanted.who))):
        if those.count() >= limit:
            text = _("%(n)s runs are under way, which is the most at a time. Stop one, or wait until one has ended.")
            raise NotLaunched({GENERAL: [text % {"n": limit}]})


def _written_down(wanted: Launch) -> tuple[ExperimentRun, bool]:
    """The run and its objects as rows, and whether they are new: a double click finds those of the first."""
    now = time.time()
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            _check_limits(wanted)
            run = ExperimentRun.objects.create(
                id=wanted.id,
                experiment=wanted.title,
                values=dict(wanted.values),
                cluster=wanted.cluster,
                namespace=wanted.namespace,
                name=wanted.name,
                who=wanted.who,
                clean_up=wanted.clean_up,
                created_at=now,
                deadline=now + patience(wanted),
            )
            ExperimentObject.objects.bulk_create(_rows(run, wanted.objects()))
    except IntegrityError:
        return ExperimentRun.objects.get(id=wanted.id), False
    return run, True


def patience(wanted: Launch) -> float:
    """Seconds after which a run is over, whatever has happened."""
    if wanted.experiment is None:
        return CUSTOM_SECONDS
    return max(latest(wanted.experiment, wanted.values), wanted.experiment.seconds(wanted.values)) + SPARE_SECONDS


def _rows(run: ExperimentRun, manifests: Sequence[Object]) -> Iterator[ExperimentObject]:
    for position, manifest in enumerate(manifests):
        yield ExperimentObject(
            run=run,
            position=position,
            api_version=manifest["apiVersion"],
            kind=manifest["kind"],
            name=manifest["metadata"]["name"],
            manifest=manifest,
        )


def _create_all(run: ExperimentRun, writer: Writer, wanted: Launch) -> ExperimentRun:
    began = time.time()
    for row in run.created.order_by("position"):
        try:
            _create(row, run, writer)
        except Refused as refusal:
            raise _undone(run, writer, refusal.message, _told(wanted, refusal)) from refusal
        except Away as away:
            raise _undone(run, writer, str(away), {CLUSTER: [str(away)]}) from away
    launching = ExperimentRun.objects.filter(id=run.id, state=RunState.LAUNCHING)
    launching.update(state=RunState.RUNNING, launched_at=began)  # unless it was given up meanwhile, and is undone
    run.refresh_from_db()
    return run


def _create(row: ExperimentObject, run: ExperimentRun, writer: Writer) -> None:
    row.uid = uid_of(writer.create(row.manifest, run.namespace))
    row.created_at = time.time()
    row.save(update_fields=["uid", "created_at"])
    note(run, run.who, "create", f"{row.kind} {run.namespace}/{row.name} {row.uid}")


def _undone(run: ExperimentRun, writer: Writer, why: str, refused: Problems) -> NotLaunched:
    """A launch that failed half-way: what was created goes at once, or as soon as the cluster answers again."""
    run.state, run.trouble, run.detail, run.ended_at = RunState.FAILED, Trouble.REFUSED, why, time.time()
    run.clean_up_asked = True
    run.save(update_fields=["state", "trouble", "detail", "ended_at", "clean_up_asked"])
    note(run, run.who, "launch", f"{run.namespace}/{run.name}", why)
    try:
        clean(run, writer, run.who)
    except (Away, Refused) as error:
        log.warning("run %s: what it created is removed later: %s", run.id, error)
    return NotLaunched({}, refused)


def _told(wanted: Launch, refusal: Refused) -> Problems:
    """The server's words by the field of the form that they concern; all of them where none is named."""
    if refusal.reason == "AlreadyExists":
        return {JOB_NAME: [refusal.message]}
    found: Problems = {}
    for cause in refusal.causes:
        found.setdefault(_field_of(wanted, cause), []).append(cause.message)
    found.pop(GENERAL, None)
    return found or {GENERAL: [refusal.message]}


def _field_of(wanted: Launch, cause: Cause) -> str:
    own: dict[str, str] = {"metadata.name": JOB_NAME, "metadata.namespace": NAMESPACE}
    if cause.field in own:
        return own[cause.field]
    if wanted.experiment is None:
        return MANIFEST
    return refusal_field(wanted.experiment, cause.field) or GENERAL if cause.field else GENERAL
