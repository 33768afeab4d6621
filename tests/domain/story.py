"""Event scripts: a situation told as watch events, in the notation of the cases, and the report that it leads to.

A line is one event: a sign (``+`` ADDED, ``~`` MODIFIED, ``x`` DELETED, ``=`` seen in a list, ``?`` missing from a
relist), an object, and what changed; what is not said of an object stays as it was. Objects: ``J`` the job (``J:2``
another job of the same name), ``PG`` its PodGroup, ``w0#a`` worker 0 with pod UID a (``m0`` master, ``p0`` ps, ``l0``
launcher, ``n0`` a Volcano task), ``E`` an Event. Each line takes a second; ``@10`` sets the clock to 10 s after the
beginning, and ``.`` lets a second pass.

Pods: ``R F S Pe`` phases; of the main container ``term(138,Error)`` (``term(138,Error,ran=5,at=9)``: finished at 9 s)
``last(138,Error)`` ``waiting(CrashLoopBackOff)`` ``running`` and ``rc=2``, its restartCount; ``bare``: no
containerStatuses; other containers ``init(fetch,7,rc=3)`` ``side(metrics,3,rc=2)`` ``side(metrics,back-off,3)``
(CrashLoopBackOff after 3); ``deleting``; ``held=FINALIZER``; ``reason=Evicted``;
``disrupted(EvictionByEvictionAPI)``; ``node=las2``; ``policy=Never``, the pod's own; ``unschedulable="why"``.
Job: ``Running=True`` and so on, conditions in order, ``says="message of the last one"``; ``suspend`` ``resume``;
``worker=2`` replicas; ``bare``: without a status; for Volcano ``phase=Restarting`` ``retry=1``;
``read=20``: it reached us 20 s after the beginning, and not at once. PodGroup: a phase, ``running=3``.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from jobs.domain import facts as f
from jobs.domain.cost import Cost, cost
from jobs.domain.findings import findings
from jobs.domain.kinds import KINDS, PODS, VOLCANO_PODGROUPS
from jobs.domain.reducer import new_job, not_watched, reduce, unobserved, watched_again
from jobs.domain.report import job_report
from jobs.domain.rollup import roll_up
from jobs.domain.state import Changes, JobState
from jobs.domain.totals import job_numbers

BEGIN = 1_800_000_000.0
SIGNS = {"+": f.ADDED, "~": f.MODIFIED, "x": f.DELETED, "=": f.LISTED, "?": f.VANISHED}
PHASES = {"R": "Running", "F": "Failed", "S": "Succeeded", "Pe": "Pending"}
TYPES = {"w": "worker", "m": "master", "p": "ps", "l": "launcher", "c": "chief", "n": "main"}
SPEC_NAMES = {
    "worker": "Worker",
    "master": "Master",
    "ps": "PS",
    "launcher": "Launcher",
    "chief": "Chief",
    "main": "main",
}
WORD = re.compile(r'(\w[\w-]*)\(([^)]*)\)|([\w-]+)=("[^"]*"|\S+)|(\S+)')


@dataclass
class Story:
    """The cluster that a script describes. ``policies``: restart policy by replica type."""

    kind: str = "PyTorchJob"
    policy: str = "ExitCode"
    policies: dict[str, str] = field(default_factory=dict)
    backoff_limit: int | None = None
    ttl: int | None = None
    workers: int = 3
    name: str = "job"
    deadline: int | None = None
    check_sums: bool = True  # compare the kept sums with those from scratch at each step: its cost grows with the job

    def __post_init__(self) -> None:
        self.now = BEGIN
        self.version = 100
        self.jobs: dict[str, JobState] = {}
        self.facts: dict[str, Any] = {}
        self.table = next(kind for kind in KINDS if kind.kind == self.kind)

    def run(self, script: str) -> "Story":
        """Play a script; the state stays for a following one."""
        for raw in script.strip().splitlines():
            line = raw.split("#!")[0].strip()
            if line == ".":
                self.now += 1
            elif line.startswith("@"):
                self.now = BEGIN + float(line[1:])
            elif line:
                self._event(SIGNS[line[0]], line[1:].strip())
                self.now += 1
        return self

    def gap(self, start: float, end: float) -> "Story":
        """Nobody watched pods between two moments of the script."""
        for job in self.jobs.values():
            unobserved(job, BEGIN + start, BEGIN + end, "pods")
        return self

    def away(self, since: float) -> "Story":
        """Nobody watches pods from a moment of the script on."""
        for job in self.jobs.values():
            not_watched(job, BEGIN + since, "pods")
        return self

    def back(self) -> "Story":
        """They are watched again."""
        for job in self.jobs.values():
            watched_again(job, "pods")
        return self

    def report(self, job: str = "J") -> dict[str, Any]:
        return job_report(self.jobs[_job_uid(job)])

    def told(self, now: float, job: str = "J") -> dict[str, str]:
        """The sentences of the job's findings by their code, ``now`` seconds after the beginning."""
        return {found.code: found.sentence for found in findings(self.jobs[_job_uid(job)], BEGIN + now)}

    def cost(self, now: float) -> Cost:
        return cost(self.jobs[_job_uid("J")], BEGIN + now)

    def ended(self, job: str = "J") -> tuple[str, str] | None:
        """Code and sentence of why the job is over."""
        said = self.report(job)["ended"]
        return (said["code"], said["sentence"]) if said else None

    def causes(self, name: str, job: str = "J") -> list[tuple[str | None, str | None]]:
        """(cause_code, cause) of each pod of a replica."""
        return [(pod["cause_code"], pod["cause"]) for pod in self.replica(name, job)["pods"]]

    def replica(self, name: str, job: str = "J") -> dict[str, Any]:
        """The report of one replica, ``w0``."""
        kind, index = TYPES[name[0]], int(name[1:])
        return next(r for r in self.report(job)["replicas"] if (r["type"], r["index"]) == (kind, index))

    def observe(self, observation: f.Observation, job_uid: str) -> None:
        state = self.jobs.get(job_uid)
        if state is None:
            state = self.jobs[job_uid] = new_job("test", job_uid, observation)
        reduce(state, observation)
        if self.check_sums:
            self._same_sums(state)

    @staticmethod
    def _same_sums(state: JobState) -> None:
        """The sums that are kept up to date equal those from scratch, at every step of every story."""
        kept = roll_up(state)
        assert kept.total == job_numbers(state)
        state.rollup, state.changes = None, Changes()
        fresh = roll_up(state)
        assert (kept.waits, kept.restarts, kept.last_restart_at) == (
            fresh.waits,
            fresh.restarts,
            fresh.last_restart_at,
        )
        assert kept.marks == fresh.marks
        state.rollup = kept

    def _event(self, verb: str, text: str) -> None:
        target, _, rest = text.partition(" ")
        words = [(m[1] or m[3] or m[5], m[2] if m[1] else m[4]) for m in WORD.finditer(rest)]
        owner = next((value for word, value in words if word == "of"), "J") or "J"
        if target.startswith("J"):
            owner, uid, resource = target, _job_uid(target), self.table.resource
            made: Any = self._job(target, words)
        elif target.startswith("PG"):
            uid, resource = f"uid-{target}", VOLCANO_PODGROUPS
            made = self._podgroup(target, _job_uid(owner), words)
        elif target.startswith("E"):
            uid, resource = f"uid-{target}", "events"
            made = self._said(_job_uid(owner), rest)
        else:
            uid, resource = f"uid-{target}", PODS
            made = self._pod(target, _job_uid(owner), words)
        self.version += 1
        name = self._name(target)
        read = next((BEGIN + float(value or 0) for word, value in words if word == "read"), self.now)
        observation = f.Observation(
            verb, resource, "ns", name, uid, self.version, read, None if verb == f.VANISHED else made
        )
        self.observe(observation, _job_uid(owner))

    def _name(self, target: str) -> str:
        if target.startswith("E"):
            return f"{self.name}.{target}"
        if "#" not in target:
            return self.name
        place = target.split("#", maxsplit=1)[0]
        return f"{self.name}-{TYPES[place[0]]}-{place[1:]}"

    def _job(self, target: str, words: list[tuple[str, str | None]]) -> f.JobFacts:
        old: f.JobFacts = self.facts.get(target) or self._new_job()
        generation = old.generation or 1
        conditions = {c.type: c for c in old.conditions}
        said: list[f.Condition] = []
        changes: dict[str, Any] = {}
        for word, value in words:
            if word in ("suspend", "resume"):
                changes["suspend"] = word == "suspend"
                generation += 1
            elif word in SPEC_NAMES:
                specs = [
                    s._replace(replicas=int(value or 0)) if s.type == SPEC_NAMES[word] else s for s in old.replicas
                ]
                changes["replicas"] = tuple(specs)
                generation += 1
            elif word == "phase":
                changes |= {"phase": value, "phase_at": float(int(self.now))}
            elif word == "retry":
                changes["retry_count"] = int(value or 0)
            elif word == "gen":
                generation = int(value or 1)
            elif word == "says" and said:
                said[-1] = said[-1]._replace(message=(value or "").strip('"'))
            elif word == "bare":
                changes |= {"has_status": False, "conditions": ()}
            elif word == "done":
                changes["completed_at"] = float(int(self.now))
            elif value in ("True", "False", "Unknown"):
                before = conditions.get(word)
                kept = before is not None and before.status == value
                at = before.transition_at if before is not None and kept else float(int(self.now))
                said.append(f.Condition(word, value, f"{self.kind}{word}", f"{self.kind} {word}", at))
        if said:
            changes["conditions"] = tuple(said)
        self.facts[target] = old._replace(generation=generation, **changes)
        return self.facts[target]

    def _new_job(self) -> f.JobFacts:
        policies = {"worker": self.policy, **self.policies}
        specs = tuple(
            f.ReplicaSpec(SPEC_NAMES[t], self.workers if t == "worker" else 1, p) for t, p in policies.items()
        )
        return f.JobFacts(
            self.table.api_version,
            self.kind,
            created_at=float(int(self.now)),
            generation=1,
            backoff_limit=self.backoff_limit,
            active_deadline=self.deadline,
            ttl=self.ttl,
            replicas=specs,
        )

    def _podgroup(self, target: str, job_uid: str, words: list[tuple[str, str | None]]) -> f.PodGroupFacts:
        new = f.PodGroupFacts("scheduling.volcano.sh/v1beta1", job_uid, self.kind, self.name, self.now, min_member=4)
        old: f.PodGroupFacts = self.facts.get(target) or new
        for word, value in words:
            old = old._replace(running=int(value or 0)) if word == "running" else old._replace(phase=word)
        self.facts[target] = old
        return old

    def _said(self, job_uid: str, text: str) -> f.EventFacts:
        reason, count, message = re.match(r"(\S+) x(\d+) ?(.*)", text).groups()  # type: ignore[union-attr]
        at = float(int(self.now))
        return f.EventFacts(self.kind, self.name, job_uid, reason, message, "Normal", "controller", int(count), at, at)

    def _pod(self, target: str, job_uid: str, words: list[tuple[str, str | None]]) -> f.PodFacts:
        old: f.PodFacts = self.facts.get(target) or self._new_pod(target, job_uid)
        containers = old.containers or self._new_pod(target, job_uid).containers
        main = containers[-1]
        others = list(containers[:-1])
        changes: dict[str, Any] = {}
        for word, value in words:
            if word in PHASES:
                changes["phase"] = PHASES[word]
                if word == "R" and main.state != "terminated":
                    main = main._replace(state="running", ready=True, running_since=self.now, waiting_reason=None)
            elif word in ("term", "last"):
                main = self._ended(main, word, value or "")
            elif word == "waiting":
                main = main._replace(state="waiting", waiting_reason=value, terminated=None)
            elif word == "running":
                main = main._replace(state="running", terminated=None, waiting_reason=None, running_since=self.now)
            elif word == "rc":
                main = main._replace(restart_count=int(value or 0))
            elif word in ("init", "side"):
                others = [o for o in others if o.name != (value or "").split(",")[0]]
                others.append(self._other(word, value or ""))
            else:
                changes |= self._pod_word(word, value)
        containers = () if any(word == "bare" for word, _ in words) else (*others, main)
        pod = old._replace(containers=containers, **changes)
        self.facts[target] = pod
        return pod

    def _pod_word(self, word: str, value: str | None) -> dict[str, Any]:
        if word == "deleting":
            return {"deletion_at": float(int(self.now)), "deletion_grace": 30}
        if word == "held":
            return {"finalizers": (value,)}
        if word == "unschedulable":
            return {"unschedulable": (value or "").strip('"'), "node": None}
        if word == "policy":
            return {"restart_policy": value}
        names = {"reason": "status_reason", "disrupted": "disruption", "node": "node", "ready": "ready_reason"}
        return {names[word]: value} if word in names else {}

    def _new_pod(self, target: str, job_uid: str) -> f.PodFacts:
        place = target.split("#", maxsplit=1)[0]
        replica = TYPES[place[0]]
        policy = {"worker": self.policy, **self.policies}.get(replica, self.policy)
        main = f.ContainerFacts(self.table.container or "main", state="waiting", waiting_reason="ContainerCreating")
        return f.PodFacts(
            job_uid,
            self.table.api_version,
            self.kind,
            self.name,
            self.table.operator,
            replica,
            int(place[1:]),
            created_at=float(int(self.now)),
            phase="Pending",
            node="las1",
            restart_policy="Never" if policy == "ExitCode" else policy,
            containers=(main,),
        )

    def _ended(self, main: f.ContainerFacts, word: str, value: str) -> f.ContainerFacts:
        code, *parts = [part.strip() for part in value.split(",")]
        named = {name: float(number) for name, is_named, number in (p.partition("=") for p in parts) if is_named}
        reason = next((part for part in parts if "=" not in part), "Error")
        at = BEGIN + named["at"] if "at" in named else float(int(self.now))
        began = at - named["ran"] if "ran" in named else None
        name = f"c-{at}" if named else f"c-{self.version}"
        end = f.Terminated(int(code), reason, started_at=began, finished_at=at, container_id=name)
        if word == "last":
            return main._replace(last_terminated=end)
        return main._replace(state="terminated", terminated=end, waiting_reason=None, ready=False)

    def _other(self, word: str, value: str) -> f.ContainerFacts:
        parts = value.split(",")
        count = next((int(p.partition("=")[2]) for p in parts if p.strip().startswith("rc=")), 0)
        code = next((int(p) for p in parts[1:] if p.strip().lstrip("-").isdigit()), None)
        end = None if code is None else f.Terminated(code, "Error" if code else "Completed", finished_at=self.now)
        other = f.ContainerFacts(parts[0], init=word == "init", state="running", restart_count=count)
        if any(p.strip() == "back-off" for p in parts):
            return other._replace(state="waiting", waiting_reason="CrashLoopBackOff", last_terminated=end)
        return other if end is None else other._replace(state="terminated", terminated=end)


def _job_uid(target: str) -> str:
    return f"uid-{target}"
