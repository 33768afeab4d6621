"""Manifests of the experiments that the simulated cluster runs: the recorded ones and the demo's."""

import json
from collections.abc import Sequence
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
