"""Manifests of the experiments that the simulated cluster runs: the recorded ones and the demo's."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from simcluster.controllers.plan import ANNOTATION

Obj = dict[str, Any]

IMAGE = "busybox:1.37.0-glibc"
TRAPS = 'trap "exit 143" TERM; trap "exit 130" INT; '


def shell(script: str) -> list[str]:
    """A command that, like the recorded programs, ends at SIGTERM with 143."""
    return ["sh", "-c", TRAPS + script]


def sleeping(seconds: int) -> str:
    return f"sleep {seconds} & wait $!"


def by_pod(pattern: str, script: str, others: str) -> str:
    """One script for the pods whose name fits the pattern, another for the rest."""
    return f"case $POD_NAME in {pattern}) {script};; *) {others};; esac"


def replica(
    container: str,
    command: Sequence[str],
    replicas: int,
    restart_policy: str,
    *,
    cpu: str = "20m",
    memory: str = "50Mi",
    plan: Obj | None = None,
) -> Obj:
    """One entry of tfReplicaSpecs and the like. `plan`: what the containers do, see controllers.plan."""
    spec: Obj = {
        "containers": [
            {
                "command": list(command),
                "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "image": IMAGE,
                "imagePullPolicy": "IfNotPresent",
                "name": container,
                "resources": {"limits": {"cpu": cpu, "memory": memory}},
            }
        ],
        "terminationGracePeriodSeconds": 5,
    }
    template: Obj = {"spec": spec}
    if plan is not None:
        template["metadata"] = {"annotations": {ANNOTATION: json.dumps(plan)}}
    return {"replicas": replicas, "restartPolicy": restart_policy, "template": template}


def tfjob(name: str, namespace: str, replicas: Obj, **policy: Any) -> Obj:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": policy, "tfReplicaSpecs": replicas},
    }


def pytorchjob(name: str, namespace: str, replicas: Obj, **policy: Any) -> Obj:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": replicas, "runPolicy": policy},
    }


def training_job(kind: str, name: str, namespace: str, replicas: Obj, **policy: Any) -> Obj:
    """A job of any of the six kinds; `policy` is its runPolicy."""
    field = {"XGBoostJob": "xgbReplicaSpecs", "TFJob": "tfReplicaSpecs"}.get(kind)
    field = field or f"{kind.removesuffix('Job').lower()}ReplicaSpecs"
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": policy, field: replicas},
    }


def seed_experiment(
    namespace: str = "seed-exitcode-138",
    name: str = "tftest",
    *,
    failing_after: int = 10,
    code: int = 138,
    others_run: int = 30,
    ps_runs: int = 30,
) -> Obj:
    """The reference experiment: PS 1 (Always), Worker 3 (ExitCode), backoffLimit 3; worker 0 exits with `code` after
    `failing_after` seconds, over and over. As recorded the others run 30 s."""
    failing = f"{sleeping(failing_after)}; exit {code}"
    worker = shell(by_pod("*-worker-0", failing, sleeping(others_run)))
    replicas = {
        "PS": replica("tensorflow", shell(sleeping(ps_runs)), 1, "Always"),
        "Worker": replica("tensorflow", worker, 3, "ExitCode"),
    }
    return tfjob(name, namespace, replicas, backoffLimit=3)


def demo_seed_experiment(namespace: str = "demo", name: str = "tftest", lasting: int = 24 * 3600) -> Obj:
    """The seed experiment for a demonstration: the other workers and the PS run on for `lasting` seconds."""
    return seed_experiment(namespace, name, others_run=lasting, ps_runs=lasting)


def normal_tfjob(namespace: str = "tf-normal", name: str = "tftest") -> Obj:
    """Nothing fails; the PS, policy Always, ends and is restarted in place."""
    replicas = {
        "PS": replica("tensorflow", shell(sleeping(20)), 1, "Always"),
        "Worker": replica("tensorflow", shell(sleeping(15)), 3, "OnFailure"),
    }
    return tfjob(name, namespace, replicas, backoffLimit=3)


def in_place_tfjob(namespace: str = "tf-onfailure-one-worker", name: str = "tftest") -> Obj:
    """Worker 0 fails under OnFailure until backoffLimit 3 fails the job."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(6)}; exit 1", sleeping(110)))
    replicas = {
        "PS": replica("tensorflow", shell(sleeping(120)), 1, "Always"),
        "Worker": replica("tensorflow", worker, 3, "OnFailure"),
    }
    return tfjob(name, namespace, replicas, backoffLimit=3)


def failing_worker_pytorchjob(namespace: str = "pt-exitcode-worker", name: str = "pytest") -> Obj:
    """Worker 0 exits 255 under ExitCode, beside a master that runs."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(8)}; exit 255", sleeping(60)))
    replicas = {
        "Master": replica("pytorch", shell(sleeping(60)), 1, "ExitCode"),
        "Worker": replica("pytorch", worker, 2, "ExitCode"),
    }
    return pytorchjob(name, namespace, replicas, backoffLimit=2)


def lasting_pytorchjob(namespace: str, name: str = "pytest", seconds: int = 50, policy: str = "ExitCode") -> Obj:
    """A master and two workers that run for `seconds` and succeed."""
    replicas = {
        "Master": replica("pytorch", shell(sleeping(seconds)), 1, policy),
        "Worker": replica("pytorch", shell(sleeping(seconds)), 2, policy),
    }
    return pytorchjob(name, namespace, replicas)


def oom_pytorchjob(namespace: str = "oom-killed", name: str = "oom") -> Obj:
    """A master that fills its memory limit under ExitCode, over and over."""
    command = ["sh", "-c", "sleep 3; tail /dev/zero"]
    replicas = {"Master": replica("pytorch", command, 1, "ExitCode", memory="16Mi")}
    return pytorchjob(name, namespace, replicas, backoffLimit=1)


def too_big_tfjob(namespace: str = "gang-waits", name: str = "big") -> Obj:
    """A gang that asks for more cpu than the default node has: its PodGroup stays Pending."""
    replicas = {"Worker": replica("tensorflow", shell(sleeping(20)), 2, "ExitCode", cpu="1600m")}
    return tfjob(name, namespace, replicas)


EXPERIMENTS: dict[str, Callable[[], Obj]] = {
    "seed": demo_seed_experiment,
    "seed-exitcode-138": seed_experiment,
    "tf-normal": normal_tfjob,
    "tf-onfailure-one-worker": in_place_tfjob,
    "pt-exitcode-worker": failing_worker_pytorchjob,
    "oom-killed": oom_pytorchjob,
    "gang-waits": too_big_tfjob,
}
