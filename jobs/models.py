"""What is kept. Times are epoch seconds (UTC, double precision: microseconds), null where not known.

The append path (``jobs/store``) is the only writer of these tables. It allocates ids itself under the append lock and
writes whole batches, so no model has signals or a custom ``save``. ``seq`` is the number of the append that wrote a row
last: a reader that knows everything up to N asks for ``seq > N``.
"""

from django.db import models


class Time(models.FloatField):
    """Epoch seconds, UTC."""


class Cluster(models.Model):
    """A cluster. ``observed_until``: the last moment at which a stream was alive; null for a replayed cluster."""

    name = models.CharField(max_length=63, unique=True)
    observed_until = Time(null=True)

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """Who may write for a cluster. The epoch rises with each holder; an append with an older epoch is refused."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True)
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=200, default="")
    expires_at = Time(default=0)

    def __str__(self) -> str:
        return f"{self.cluster_id} epoch {self.epoch}"


class Stream(models.Model):
    """One list/watch stream and its cursor: the resourceVersion of what is stored, not of what was read."""

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    resource = models.CharField(max_length=120)
    namespace = models.CharField(max_length=63, default="", blank=True)
    selector = models.CharField(max_length=200, default="", blank=True)
    resource_version = models.CharField(max_length=40, default="", blank=True)
    state = models.CharField(max_length=20, default="")  # watching, listing, backing off, forbidden, not installed, ...
    detail = models.TextField(default="", blank=True)  # one sentence: what is wrong and how to mend it
    state_since = Time(null=True)
    listed_at = Time(null=True)
    last_event_at = Time(null=True)
    alive_at = Time(null=True)
    gap_open = models.BooleanField(default=False)  # the jobs it concerns are marked: not watched since alive_at, still
    per_minute = models.FloatField(default=0)  # events of the minute before last_event_at, older ones fading out
    events = models.BigIntegerField(default=0)  # watch lines read
    changes = models.BigIntegerField(default=0)  # observations stored
    unchanged = models.BigIntegerField(default=0)  # writes that changed nothing that is kept
    skipped = models.JSONField(default=dict)  # reason -> how many could not be read

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "resource", "namespace", "selector"], name="stream_key")
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.namespace} {self.selector}"


class Gap(models.Model):
    """An interval in which a stream was not watched."""

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    resource = models.CharField(max_length=120)
    namespace = models.CharField(max_length=63, default="", blank=True)
    start = Time(null=True)
    end = Time()
    reason = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.resource} {self.start}..{self.end}"


class Job(models.Model):
    """A job (one UID) as the list reads it. ``record``: the reducer's state but for what has rows of its own."""

    id = models.BigIntegerField(primary_key=True)
    cluster = models.ForeignKey(Cluster, models.CASCADE)
    uid = models.CharField(max_length=64)
    api_group = models.CharField(max_length=120)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    state = models.CharField(max_length=16)
    present = models.BooleanField()
    true_restarts = models.IntegerField()
    kubectl_restarts = models.IntegerField()
    hidden_restarts = models.IntegerField()
    at_least = models.BooleanField()
    created_at = Time(null=True)
    finished_at = Time(null=True)
    deleted_at = Time(null=True)
    last_observed_at = Time(null=True)
    last_restart_at = Time(null=True)
    restarting_since = Time(null=True)  # not null: Restarting now
    podgroup_phase = models.CharField(max_length=20, default="", blank=True)
    replicas = models.IntegerField(default=0)
    # the end that failed the job, null and "" where no single end did
    fail_at = Time(null=True)
    fail_code = models.IntegerField(null=True)
    fail_cause = models.CharField(max_length=20, default="", blank=True)
    fail_reason = models.CharField(max_length=120, default="", blank=True)
    fail_pod_uid = models.CharField(max_length=64, default="", blank=True)
    fail_node = models.CharField(max_length=253, default="", blank=True)
    fail_image = models.CharField(max_length=500, default="", blank=True)
    search = models.TextField(default="{}")  # JSON, field -> values by which it is found (jobs.domain.marks)
    record = models.TextField()
    seq = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "uid"], name="job_uid")]
        indexes = [
            models.Index(fields=["seq"], name="job_seq"),
            models.Index(fields=["-last_restart_at", "-id"], name="job_last_restart"),
            models.Index(fields=["cluster", "namespace", "kind", "name"], name="job_name"),
            models.Index(fields=["fail_code", "fail_at"], name="job_failed", condition=models.Q(fail_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Incarnation(models.Model):
    """One pod UID of a replica. ``record``: the reducer's state of it."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, models.CASCADE, db_index=False)
    uid = models.CharField(max_length=64)
    name = models.CharField(max_length=253)
    replica_type = models.CharField(max_length=63)
    replica_index = models.IntegerField()
    job_index = models.IntegerField(default=0)
    created_at = Time(null=True)
    ended_at = Time(null=True)
    node = models.CharField(max_length=253, default="", blank=True)
    record = models.TextField()
    seq = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "uid"], name="incarnation_uid")]
        indexes = [
            models.Index(fields=["job", "seq"], name="incarnation_job_seq"),
            models.Index(fields=["job", "replica_type", "replica_index", "job_index"], name="incarnation_replica"),
            models.Index(fields=["uid"], name="incarnation_pod"),
        ]

    def __str__(self) -> str:
        return self.name


class Restart(models.Model):
    """One true restart: what ended, why, and when the replica ran again.

    ``number`` 0: the pod was deleted and created again; n > 0: the n-th restart in place of the main container.
    ``counts`` is False where the recreation turned out to be explained (suspension, scale down).
    """

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, models.CASCADE, db_index=False)
    pod_uid = models.CharField(max_length=64)
    number = models.IntegerField()
    counts = models.BooleanField()
    at = Time(null=True)  # end of what ran before; null where only the count is known
    running_again_at = Time(null=True)
    replica_type = models.CharField(max_length=63)
    replica_index = models.IntegerField()
    job_index = models.IntegerField(default=0)
    exit_code = models.IntegerField(null=True)
    reason = models.CharField(max_length=120, default="", blank=True)
    cause_code = models.CharField(max_length=20)
    cause = models.CharField(max_length=300)
    node = models.CharField(max_length=253, default="", blank=True)
    image = models.CharField(max_length=500, default="", blank=True)
    seq = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "pod_uid", "number"], name="restart_key")]
        indexes = [models.Index(fields=["job", "at"], name="restart_job_at")]

    def __str__(self) -> str:
        return f"{self.replica_type} {self.replica_index} at {self.at}"


class Span(models.Model):
    """A phase of a lane: ``state`` (the job's state), ``restarting`` (condition Restarting=True), ``podgroup``."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, models.CASCADE, db_index=False)
    lane = models.CharField(max_length=16)
    number = models.IntegerField()
    value = models.CharField(max_length=40)
    detail = models.JSONField(default=dict)
    start = Time(null=True)
    end = Time(null=True)  # null while open
    seq = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "lane", "number"], name="span_key")]

    def __str__(self) -> str:
        return f"{self.lane} {self.value}"


class LogTail(models.Model):
    """The last lines of one run of a pod's main container, or why there are none."""

    job = models.ForeignKey(Job, models.CASCADE, db_index=False)
    pod_uid = models.CharField(max_length=64)
    container_id = models.CharField(max_length=256)
    text = models.TextField(default="", blank=True)
    problem = models.TextField(default="", blank=True)
    fetched_at = Time()
    seq = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "pod_uid", "container_id"], name="log_tail_key")]

    def __str__(self) -> str:
        return f"log of {self.pod_uid}"


class KubeObject(models.Model):
    """An object that was seen: the anchor of its observations."""

    id = models.BigIntegerField(primary_key=True)
    cluster = models.ForeignKey(Cluster, models.CASCADE, db_index=False)
    resource = models.CharField(max_length=120)
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    stream = models.ForeignKey(Stream, models.CASCADE, db_index=False)  # the stream that lists it
    job = models.ForeignKey(Job, models.CASCADE)
    present = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "resource", "uid"], name="object_uid")]
        indexes = [models.Index(fields=["stream"], condition=models.Q(present=True), name="object_present")]

    def __str__(self) -> str:
        return f"{self.resource} {self.namespace}/{self.name}"


class Observation(models.Model):
    """One change of one object: the facts as they were then, with both clocks. Append only."""

    id = models.BigAutoField(primary_key=True)
    object = models.ForeignKey(KubeObject, models.CASCADE, db_index=False)
    resource_version = models.BigIntegerField()
    verb = models.CharField(max_length=8)
    occurred_at = Time(null=True)  # the cluster's word, whole seconds
    observed_at = Time()  # ours
    facts = models.TextField()  # JSON, what is null left out

    class Meta:
        constraints = [models.UniqueConstraint(fields=["object", "resource_version"], name="observation_version")]

    def __str__(self) -> str:
        return f"{self.verb} {self.object_id} at {self.resource_version}"


class Sequence(models.Model):
    """The number of the last append, in one row (id 1)."""

    value = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.value)


# Django looks for an app's models here.
from jobs.accounts.models import SignInAttempts  # noqa: E402, F401
from jobs.experiments.models import ExperimentAction, ExperimentObject, ExperimentRun  # noqa: E402, F401
