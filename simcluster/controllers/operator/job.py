"""A training job as the operator reads it, with the operator's defaults, and the state of one reconciliation."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simcluster.clock import Clock, rfc3339
from simcluster.controllers.checks import policy_problem, template_problem
from simcluster.controllers.operator import conditions
from simcluster.controllers.recorder import EventRecorder
from simcluster.store import Store

if TYPE_CHECKING:
    from simcluster.controllers.operator.kinds import JobKind

Obj = dict[str, Any]

API_GROUP = "training.kubeflow.org"
LABEL_JOB_NAME = f"{API_GROUP}/job-name"
LABEL_OPERATOR_NAME = f"{API_GROUP}/operator-name"
LABEL_REPLICA_TYPE = f"{API_GROUP}/replica-type"
LABEL_REPLICA_INDEX = f"{API_GROUP}/replica-index"
LABEL_JOB_ROLE = f"{API_GROUP}/job-role"

RESTART_POLICIES = ("Always", "OnFailure", "Never", "ExitCode")


@dataclass(frozen=True)
class ReplicaSpec:
    replicas: int
    restart_policy: str  # Never, OnFailure, Always or ExitCode
    template: Obj


class Job:
    """Read access to a job object; defaults are filled in here, never in the object."""

    def __init__(self, kind: JobKind, obj: Obj, restricted_init: bool = False) -> None:
        """`restricted_init`: the operator's own init containers are made as "restricted" asks."""
        self.kind = kind
        self.object = obj
        self.restricted_init = restricted_init
        self.name: str = obj["metadata"]["name"]
        self.namespace: str = obj["metadata"]["namespace"]
        self.uid: str = obj["metadata"]["uid"]
        spec = obj.get("spec") or {}
        self.spec: Obj = spec
        self.policy: Obj = spec.get("runPolicy") or {}
        self.replicas = self._replica_specs(spec.get(kind.specs_field) or {})

    def _replica_specs(self, specs: Obj) -> dict[str, ReplicaSpec]:
        """By type, in canonical order and spelling (worker and WORKER are Worker)."""
        canonical = {name.lower(): name for name in self.kind.replica_types}
        known = {canonical[name.lower()]: value for name, value in specs.items() if name.lower() in canonical}
        return {name: self._replica_spec(known[name]) for name in self.kind.replica_types if name in known}

    def _replica_spec(self, spec: Obj) -> ReplicaSpec:
        replicas = spec.get("replicas")
        return ReplicaSpec(
            1 if replicas is None else replicas,
            spec.get("restartPolicy") or self.kind.default_restart_policy,
            spec.get("template") or {},
        )

    @property
    def total_replicas(self) -> int:
        return sum(spec.replicas for spec in self.replicas.values())

    @property
    def is_suspended(self) -> bool:
        return self.policy.get("suspend") is True

    @property
    def clean_pod_policy(self) -> str:
        return str(self.policy.get("cleanPodPolicy") or "None")

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL_JOB_NAME: self.name, LABEL_OPERATOR_NAME: self.kind.controller_name}

    @property
    def owner_reference(self) -> Obj:
        return {
            "apiVersion": self.kind.resource.api_version,
            "kind": self.kind.name,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    @property
    def has_master(self) -> bool:
        return any(kind in self.replicas for kind in self.kind.master_types)

    def is_master_role(self, replica_type: str, index: int) -> bool:
        """Whether the pod gets job-role=master: a master's, or worker 0's where there is no master."""
        if self.has_master:
            return replica_type in self.kind.master_types
        return replica_type == "Worker" and index == 0

    @property
    def problem(self) -> str:
        """Why this job cannot be run, as a sentence's end; "" if it can."""
        for name, spec in self.replicas.items():
            problem = template_problem(spec.template)
            if problem:
                return f"spec.{self.kind.specs_field}.{name}.{problem}"
            if spec.restart_policy not in RESTART_POLICIES:
                return f"spec.{self.kind.specs_field}.{name}.restartPolicy is not one of {', '.join(RESTART_POLICIES)}"
        if not self.replicas:
            return f"spec.{self.kind.specs_field} must name one of {', '.join(self.kind.replica_types)}"
        problem = policy_problem(self.policy)
        return f"spec.{problem}" if problem else ""

    def port(self, replica_type: str) -> int:
        """The port that the main container of a type names for the job's own traffic, else the kind's default."""
        for container in self.replicas[replica_type].template["spec"]["containers"]:
            for port in container.get("ports") or [] if container["name"] == self.kind.container else []:
                if port.get("name") == self.kind.port_name:
                    return int(port["containerPort"])
        return self.kind.port

    def replica_name(self, replica_type: str, index: int) -> str:
        return f"{self.name}-{replica_type.lower()}-{index}".replace("/", "-")


@dataclass
class Reconciliation:
    """What one reconciliation works on: the job as read, its pods, and the status that is being built."""

    job: Job
    pods: list[Obj]
    services: list[Obj]
    store: Store
    clock: Clock
    rng: random.Random
    recorder: EventRecorder
    status: Obj = field(default_factory=dict)
    before: Obj = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = self.job.object.get("status") or {}
        self.status = copy.deepcopy(self.before)

    @property
    def now(self) -> str:
        return rfc3339(self.clock.now())

    def tell(self, reason: str, message: str, kind: str = "Normal") -> None:
        self.recorder.event(self.job.object, kind, reason, message)

    def set_condition(self, condition: str, message: str, is_on: bool = True, reason: str = "") -> None:
        """Sets a condition; its reason is the kind and the condition's name, if no other is given."""
        reason = reason or f"{self.job.kind.name}{condition}"
        conditions.set_condition(self.status, condition, reason, message, self.now, is_on=is_on)

    def complete(self) -> None:
        """Sets completionTime, the first time."""
        self.status.setdefault("completionTime", self.now)

    def replica_status(self, replica_type: str) -> Obj:
        statuses: Obj = self.status.setdefault("replicaStatuses", {})
        found: Obj = statuses.setdefault(replica_type, {})
        return found

    def count(self, replica_type: str, what: str) -> int:
        """active, succeeded or failed pods of a type, as counted so far."""
        return int(self.replica_status(replica_type).get(what, 0))

    def in_random_order(self) -> list[tuple[str, ReplicaSpec]]:
        """The replica types as Go walks a map: in any order."""
        return self.rng.sample(list(self.job.replicas.items()), len(self.job.replicas))
