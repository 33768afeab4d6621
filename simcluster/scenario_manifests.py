"""Manifests of the recorded scenarios, beyond those of the experiments."""

from collections.abc import Sequence
from typing import Any

from simcluster.manifests import by_pod, pytorchjob, replica, seed_experiment, shell, sleeping, tfjob, training_job

Obj = dict[str, Any]


# PyTorchJobs


def failing_master_pytorchjob(namespace: str = "pt-exitcode-master", name: str = "pytest") -> Obj:
    """The master exits 137 under ExitCode, over and over, beside two workers that run."""
    replicas = {
        "Master": replica("pytorch", shell(f"{sleeping(7)}; exit 137"), 1, "ExitCode"),
        "Worker": replica("pytorch", shell(sleeping(60)), 2, "ExitCode"),
    }
    return pytorchjob(name, namespace, replicas, backoffLimit=2)


def in_place_pytorchjob(namespace: str = "pt-onfailure-one-worker", name: str = "pytest") -> Obj:
    """Worker 0 fails under OnFailure until backoffLimit 3 fails the job."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(6)}; exit 1", sleeping(80)))
    replicas = {
        "Master": replica("pytorch", shell(sleeping(80)), 1, "OnFailure"),
        "Worker": replica("pytorch", worker, 3, "OnFailure"),
    }
    return pytorchjob(name, namespace, replicas, backoffLimit=3)


def normal_pytorchjob(namespace: str = "pt-normal", name: str = "pytest") -> Obj:
    """Nothing fails."""
    replicas = {
        "Master": replica("pytorch", shell(sleeping(20)), 1, "OnFailure"),
        "Worker": replica("pytorch", shell(sleeping(20)), 3, "OnFailure"),
    }
    return pytorchjob(name, namespace, replicas, backoffLimit=3)


def deadline_pytorchjob(namespace: str = "active-deadline", name: str = "pytest") -> Obj:
    """Worker 0 fails in place; the job is over after 20 s whatever it does."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(3)}; exit 1", sleeping(60)))
    replicas = {
        "Master": replica("pytorch", shell(sleeping(60)), 1, "OnFailure"),
        "Worker": replica("pytorch", worker, 1, "OnFailure"),
    }
    return pytorchjob(name, namespace, replicas, activeDeadlineSeconds=20)


def sidecar_pytorchjob(namespace: str, policy: str, seconds: int, name: str = "side") -> Obj:
    """A master with a sidecar that exits 3 after 5 s."""
    master = replica("pytorch", shell(sleeping(seconds)), 1, policy)
    sidecar = {
        "command": ["sh", "-c", "sleep 5; exit 3"],
        "image": "busybox:latest",
        "imagePullPolicy": "IfNotPresent",
        "name": "metrics",
    }
    master["template"]["spec"]["containers"].append(sidecar)
    return pytorchjob(name, namespace, {"Master": master})


def lost_node_pytorchjob(namespace: str = "node-lost", name: str = "lost") -> Obj:
    """A master on one node, a worker on another that it leaves 8 s after its loss."""
    replicas = {kind: replica("pytorch", shell(sleeping(150)), 1, "ExitCode") for kind in ("Master", "Worker")}
    for kind, node in (("Master", "las1"), ("Worker", "las2")):
        replicas[kind]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    replicas["Worker"]["template"]["spec"]["tolerations"] = [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 8}
        for key in ("not-ready", "unreachable")
    ]
    return pytorchjob(name, namespace, replicas)


def priority_class(name: str, value: int) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def prioritised_pytorchjob(priority: str, seconds: int, name: str, namespace: str = "preempted") -> Obj:
    """Two workers of 900m each on one node, of which one is enough for the gang."""
    worker = replica("pytorch", shell(sleeping(seconds)), 2, "ExitCode", cpu="900m")
    worker["template"]["spec"] |= {"nodeSelector": {"kubernetes.io/hostname": "las1"}, "priorityClassName": priority}
    policy = {"minAvailable": 1, "priorityClass": priority}
    return pytorchjob(name, namespace, {"Worker": worker}, schedulingPolicy=policy)


# TFJobs


def failing_ps_tfjob(namespace: str = "tf-ps-fails", name: str = "tftest") -> Obj:
    """The PS, policy Always, fails in place until backoffLimit 3 fails the job."""
    replicas = {
        "PS": replica("tensorflow", shell(f"{sleeping(8)}; exit 1"), 1, "Always"),
        "Worker": replica("tensorflow", shell(sleeping(70)), 3, "ExitCode"),
    }
    return tfjob(name, namespace, replicas, backoffLimit=3)


def workers_tfjob(namespace: str, name: str, command: Sequence[str], count: int = 2, **policy: Any) -> Obj:
    """A TFJob of workers alone, under ExitCode."""
    return tfjob(name, namespace, {"Worker": replica("tensorflow", command, count, "ExitCode")}, **policy)


def failing_worker_tfjob(namespace: str, name: str, seconds: int, others_run: int, **policy: Any) -> Obj:
    """Worker 0 of two exits 138 after `seconds`, over and over, under ExitCode."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(seconds)}; exit 138", sleeping(others_run)))
    return workers_tfjob(namespace, name, worker, **policy)


def exit_sweep(code: int) -> Obj:
    """Worker 0 exits with `code` after 4 s; no traps are set, so SIGTERM is ignored."""
    script = by_pod("*-worker-0", f"sleep 4; exit {code}", sleeping(25))
    return workers_tfjob(f"exit-sweep-{code}", f"exit-{code}", ["sh", "-c", script])


def runaway_tfjob(namespace: str = "runaway", name: str = "runaway") -> Obj:
    """Worker 0 dies at once, over and over."""
    script = by_pod("*-worker-0", "exit 138", sleeping(200))
    return workers_tfjob(namespace, name, ["sh", "-c", script])


def bad_command_tfjob(namespace: str = "bad-command", name: str = "tftest") -> Obj:
    """A command that does not exist: StartError, 128, for ever."""
    return workers_tfjob(namespace, name, ["/no/such/binary"])


def bad_image_tfjob(namespace: str = "bad-image", name: str = "tftest") -> Obj:
    """An image that does not exist."""
    job = workers_tfjob(namespace, name, shell(sleeping(20)))
    for container in job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]:
        container["image"] = "busybox:no-such-tag"
    return job


def completing_worker_tfjob(namespace: str = "completed-pod-deleted", name: str = "tftest") -> Obj:
    """Worker 1 ends long before worker 0."""
    worker = shell(by_pod("*-worker-1", sleeping(8), sleeping(45)))
    replicas = {
        "PS": replica("tensorflow", shell(sleeping(80)), 1, "Always"),
        "Worker": replica("tensorflow", worker, 2, "OnFailure"),
    }
    return tfjob(name, namespace, replicas)


def evictable_tfjob(namespace: str, policy: str, name: str = "evictme") -> Obj:
    """Two workers that run for 45 s."""
    return tfjob(name, namespace, {"Worker": replica("tensorflow", shell(sleeping(45)), 2, policy)})


def scheduler_plugins_tfjob(namespace: str = "sp-exitcode", name: str = "tftest") -> Obj:
    """The seed experiment as it was run under scheduler-plugins."""
    return seed_experiment(namespace, name, failing_after=8, others_run=60, ps_runs=70)


# Jobs whose containers count their attempts


def counting(what: str) -> str:
    """The beginning of a script that leaves the number of the attempt, from 0 on, in $i."""
    return f"f=/c/{what}-$POD_NAME; i=$(cat $f 2>/dev/null || echo 0); echo $((i+1)) > $f; "


def with_attempts(worker: Obj) -> Obj:
    """A replica with the volume on which its containers count, mounted at /c."""
    spec = worker["template"]["spec"]
    spec["volumes"] = [{"hostPath": {"path": "/var/lib/attempts", "type": "DirectoryOrCreate"}, "name": "c"}]
    for container in spec["containers"]:
        container["volumeMounts"] = [{"mountPath": "/c", "name": "c"}]
    return worker


def mixed_codes_tfjob(namespace: str = "mixed-codes", name: str = "mixed") -> Obj:
    """137, 143 and 138 on worker 0, 139 on worker 1, then success."""
    ends = {
        "*-worker-0-0": f"{sleeping(4)}; exit 137",
        "*-worker-0-1": f"{sleeping(3)}; exit 143",
        "*-worker-1-0": f"{sleeping(9)}; exit 139",
        "*-worker-0-2": f"{sleeping(5)}; exit 138",
        "*": sleeping(20),
    }
    branches = " ".join(f"{pattern}) {script};;" for pattern, script in ends.items())
    script = shell(f"{counting('mixed-codes')}case $POD_NAME-$i in {branches} esac")
    return tfjob(name, namespace, {"Worker": with_attempts(replica("tensorflow", script, 3, "ExitCode"))})


def wave_pytorchjob(namespace: str = "wave-60", name: str = "wave", workers: int = 60) -> Obj:
    """Worker 17 exits 139 first, the others 134 within seconds; the second attempts succeed."""
    script = (
        f"{counting('wave-60')}ix=${{POD_NAME##*-}}; "
        f"if [ $i = 0 ] && [ $ix = 17 ]; then {sleeping(40)}; exit 139; fi; "
        f"if [ $i = 0 ]; then sleep $((44 + ix % 7)) & wait $!; exit 134; fi; {sleeping(30)}"
    )
    worker = replica("pytorch", shell(script), workers, "ExitCode", cpu="5m", memory="20Mi")
    return pytorchjob(name, namespace, {"Worker": with_attempts(worker)})


# Other kinds


def failing_worker_xgboostjob(namespace: str = "xgboost-exitcode", name: str = "xgb") -> Obj:
    """Worker 0 exits 137 under ExitCode beside a master."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(7)}; exit 137", sleeping(45)))
    replicas = {
        "Master": replica("xgboost", shell(sleeping(45)), 1, "ExitCode"),
        "Worker": replica("xgboost", worker, 2, "ExitCode"),
    }
    return training_job("XGBoostJob", name, namespace, replicas)


def failing_worker_mpijob(namespace: str = "mpi-worker-fails", name: str = "mpi") -> Obj:
    """A launcher and two workers, of which one fails; on the recorded cluster the launcher never fits."""
    worker = shell(by_pod("*-worker-0", f"{sleeping(8)}; exit 1", sleeping(60)))
    replicas = {
        "Launcher": replica("mpi", shell(sleeping(40)), 1, "OnFailure"),
        "Worker": replica("mpi", worker, 2, "OnFailure"),
    }
    job = training_job("MPIJob", name, namespace, replicas)
    return {**job, "spec": {**job["spec"], "slotsPerWorker": 1}}


def volcano_job(namespace: str = "volcano-job", name: str = "vj") -> Obj:
    """A Volcano Job that starts all over whenever its pod 0 fails."""
    script = by_pod("*-0", f"{sleeping(6)}; exit 3", sleeping(40))
    template = {"metadata": {}, **replica("tensorflow", shell(script), 1, "Never")["template"]}
    template["spec"]["restartPolicy"] = "Never"
    task = {"minAvailable": 2, "name": "main", "replicas": 2, "template": template}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "maxRetry": 5,
            "minAvailable": 2,
            "policies": [{"action": "RestartJob", "event": "PodFailed"}],
            "queue": "default",
            "schedulerName": "volcano",
            "tasks": [task],
        },
    }
