"""A worker of a TFJob is evicted, as a drained node does: the whole job fails."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import deaf, shell, sleeping

EVICTED = "worker-1"


def objects(values: Values, place: Place) -> list[Object]:
    command = (shell if values["heeds_sigterm"] else deaf)(sleeping(values["runs_for"]))
    worker = manifests.replica("TFJob", command, values["workers"], values["policy"], values)
    return [manifests.training_job("TFJob", place, {"Worker": worker}, values)]


def steps(values: Values) -> tuple[Step, ...]:
    by = START + values["acts_after"] + SETTLE
    return checklist(
        values,
        step("runs", ("Worker 1 runs.", "worker 1 正在运行。"), checks_pods.runs_again(EVICTED, nth=0), START),
        step(
            "evicted",
            ("Worker 1 ends because it was evicted.", "worker 1 因被驱逐而结束。"),
            checks_pods.ends_by(EVICTED, ("evicted-api",)),
            by,
        ),
        step(
            "failed",
            (
                "The job is Failed, whatever the policy says: here it is {policy}.",
                "作业 Failed，无论策略如何规定；此处为 {policy}。",
            ),
            checks_jobs.job_ends("Failed", "pod-deleted"),
            by,
        ),
        step("no-restart", ("Nothing has restarted.", "没有任何重启。"), checks_restarts.restarts_at_end(0), by),
    )


def acts(values: Values) -> tuple[Act, ...]:
    text = Text("Evict worker 1", "驱逐 worker 1")
    return (Act("evict", text, ActKind.EVICT_POD, "runs", values["acts_after"], pod=EVICTED),)


EXPERIMENT = Experiment(
    name="eviction",
    title=Text("Eviction of a TFJob's worker", "驱逐 TFJob 的 worker"),
    shows=Text(
        "Draining a node fails a TFJob: no restart policy saves it.",
        "腾空节点会使 TFJob 失败：任何重启策略都救不了它。",
    ),
    happens=Text(
        "{acts_after} s after worker 1 has come to run it is evicted through the API, as `kubectl drain` does. The "
        "job fails.",
        "worker 1 运行 {acts_after} 秒后，通过 API 将它驱逐，与 `kubectl drain` 相同。作业随之失败。",
    ),
    explanation=Text(
        "An eviction deletes the pod. While its container is being ended, the pod is Running with a "
        "deletionTimestamp, and the operator takes such a pod for a failed one at once, before there is an exit code. "
        "A TFJob then fails under every policy; a PyTorchJob would create the pod anew.\n\n"
        "A program that ends at SIGTERM may be over before the operator looks. Then the pod is in phase Failed, and "
        "the "
        "usual policy applies: a race. The scripts here ignore SIGTERM unless you say otherwise, so the operator has "
        "the grace period to see the deletion.",
        "驱逐会删除 Pod。在容器结束之前，Pod 处于 Running 并带有 deletionTimestamp；operator 立即把这样的 Pod "
        "视为失败，此时还没有退出码。"
        "于是 TFJob 在任何策略下都会失败；而 PyTorchJob 会重新创建这个 Pod。\n\n"
        "收到 SIGTERM 就结束的程序，可能在 operator 查看之前已经结束。此时 Pod 处于 Failed "
        "阶段，按通常的策略处理：这是一场竞争。"
        "除非另行设置，这里的脚本会忽略 SIGTERM，operator 在整个宽限期内都能看到删除。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.POLICY,
        fields.ACTS_AFTER,
        fields.HEEDS_SIGTERM,
        fields.changed(fields.WORKERS, default=2, minimum=2),
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, minimum=60),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    seconds=lambda values: 20 + values["acts_after"],
    recordings=("evict-exitcode", "evict-onfailure"),
)
