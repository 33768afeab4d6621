"""What is kept of the experiments that were launched. Times are epoch seconds, this site's clock.

Not written by the append path: a launch and the task that carries a run on write here, at most one of them at a time to
each run (``ExperimentRun.claimed_until``).
"""

import uuid

from django.db import models


class RunState(models.TextChoices):
    LAUNCHING = "launching"  # its objects are being created
    RUNNING = "running"
    STOPPING = "stopping"  # somebody asked for its end
    FINISHED = "finished"  # judged
    FAILED = "failed"  # could not be launched, or not be followed to its end; ``trouble`` says why
    STOPPED = "stopped"


OPEN_STATES = (RunState.LAUNCHING, RunState.RUNNING, RunState.STOPPING)


class Trouble(models.TextChoices):
    """What is or was wrong with a run (``jobs.experiments.words`` has the sentences)."""

    REFUSED = "refused"  # by the API server, while it was launched
    LAUNCH_DIED = "launch died"
    UNKNOWN_EXPERIMENT = "unknown experiment"
    OVER_TIME = "over time"
    AWAY = "away"  # an act waits for the cluster
    CLEAN_AWAY = "clean away"  # the clean-up does
    CLEAN_REFUSED = "clean refused"
    PODS_REFUSED = "pods refused"  # of a manifest of somebody's own; other runs have a step that says so
    NO_CLUSTER = "no cluster"  # not configured any more


class ExperimentRun(models.Model):
    """One launch. ``id``: made with the form that asked for it, so that a double click is one run."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    experiment = models.CharField(max_length=63, default="", blank=True)  # "": a manifest of somebody's own
    values = models.JSONField(default=dict)
    cluster = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    who = models.CharField(max_length=150)
    state = models.CharField(max_length=16, choices=RunState.choices, default=RunState.LAUNCHING)
    trouble = models.CharField(max_length=24, choices=Trouble.choices, default="", blank=True)
    detail = models.TextField(default="", blank=True)  # of the trouble, in the cluster's words
    clean_up = models.BooleanField(default=True)  # remove its objects at its end
    clean_up_asked = models.BooleanField(default=False)  # somebody asked for it meanwhile
    created_at = models.FloatField()
    launched_at = models.FloatField(null=True)  # when all its objects had been created
    deadline = models.FloatField()
    ended_at = models.FloatField(null=True)
    cleaned_at = models.FloatField(null=True)
    looked_at = models.FloatField(null=True)  # when it was last judged
    acts = models.JSONField(default=list)  # jobs.experiments.acts.Record, as dicts
    verdict = models.JSONField(null=True)  # jobs.experiments.runs.told
    claimed_until = models.FloatField(default=0)
    claim = models.CharField(max_length=36, default="", blank=True)

    class Meta:
        permissions = [("launch_experiment", "Can launch, stop and clean up experiments")]
        indexes = [
            models.Index(fields=["-created_at"], name="run_newest"),
            models.Index(fields=["state"], name="run_state"),
        ]

    def __str__(self) -> str:
        return f"{self.experiment or 'custom'} {self.namespace}/{self.name}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


class ExperimentObject(models.Model):
    """An object of a run: written down before it is sent (``uid`` ""), and again once the cluster has it.

    ``position``: which of the experiment's objects it is; one that is created again has a row of its own.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(ExperimentRun, models.CASCADE, related_name="created")
    position = models.IntegerField()
    act = models.CharField(max_length=63, default="", blank=True)  # the act that created it, "" for the launch
    api_version = models.CharField(max_length=120)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, default="", blank=True)
    manifest = models.JSONField()
    created_at = models.FloatField(null=True)
    deleted_at = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position", "act"], name="run_object")]
        indexes = [models.Index(fields=["uid"], name="run_object_uid")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ExperimentAction(models.Model):
    """A line of the audit list: who did what to which object, and what came of it."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(ExperimentRun, models.SET_NULL, null=True, related_name="actions")
    at = models.FloatField()
    who = models.CharField(max_length=150)
    what = models.CharField(max_length=40)
    object = models.CharField(max_length=400, default="", blank=True)
    result = models.TextField(default="", blank=True)

    class Meta:
        indexes = [models.Index(fields=["-at", "-id"], name="action_newest")]

    def __str__(self) -> str:
        return f"{self.who} {self.what} {self.object}"
