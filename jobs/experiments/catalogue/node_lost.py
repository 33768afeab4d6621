"""The node of a worker falls silent: its pod is evicted, and cannot end before the node is back."""

from collections.abc import Mapping

from jobs.experiments import checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import (
    Act,
    ActKind,
    Experiment,
    Object,
    Parameter,
    ParameterKind,
    Place,
    Step,
    Text,
    Values,
)
from jobs.experiments.scripts import shell, sleeping

LOST = "worker-0"
GRACE = 50.0  # seconds until a silent node is given up
TAINTS = ("not-ready", "unreachable")
TOLERATION = Parameter(
    "toleration",
    Text("Stays on a lost node for (seconds)", "在失联节点上停留多少秒"),
    ParameterKind.SECONDS,
    8,
    0,
    300,
    help=Text(
        "tolerationSeconds of the worker; Kubernetes' default is 300.",
        "worker 的 tolerationSeconds；Kubernetes 的默认值为 300。",
    ),
)
SILENT = Parameter(
    "silent",
    Text("The node comes back after (seconds)", "多少秒后节点恢复"),
    ParameterKind.SECONDS,
    90,
    60,
    600,
    help=Text("Long enough for the worker to be evicted before.", "应足够长，使 worker 在此之前被驱逐。"),
)


def objects(values: Values, place: Place) -> list[Object]:
    command = shell(sleeping(values["runs_for"]))
    replicas = {kind: manifests.replica("PyTorchJob", command, 1, "ExitCode", values) for kind in ("Master", "Worker")}
    replicas["Worker"]["template"]["spec"]["tolerations"] = [
        {
            "key": f"node.kubernetes.io/{taint}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": values["toleration"],
        }
        for taint in TAINTS
    ]
    return [manifests.training_job("PyTorchJob", place, replicas, values)]


def steps(values: Values) -> tuple[Step, ...]:
    evicted = START + GRACE + values["toleration"] + SETTLE
    back = max(evicted, START + values["silent"] + 2 * SETTLE)
    return checklist(
        values,
        step("runs", ("Worker 0 runs.", "worker 0 正在运行。"), checks_pods.runs_again(LOST, nth=0), START),
        step(
            "lost",
            ("Worker 0 is lost with its node.", "worker 0 随节点一起丢失。"),
            checks_pods.ends_by(LOST, ("node-lost",)),
            back,
        ),
        step(
            "recreated",
            ("Its pod is created again once the old one is gone.", "旧 Pod 消失后，它的 Pod 被重新创建。"),
            checks_pods.recreated(LOST),
            back + SETTLE,
        ),
        step("again", ("The new pod runs.", "新的 Pod 开始运行。"), checks_pods.runs_again(LOST), back + 2 * SETTLE),
        step(
            "restarting",
            ("Restarting is shown.", "显示 Restarting。"),
            checks_restarts.restarting_shown(),
            back + SETTLE,
        ),
    )


def acts(values: Values) -> tuple[Act, ...]:
    return (
        Act(
            "lose",
            Text("Silence the node of worker 0", "使 worker 0 所在的节点失联"),
            ActKind.LOSE_NODE,
            "runs",
            1.0,
            pod=LOST,
        ),
        Act(
            "return",
            Text("Bring the node back", "恢复该节点"),
            ActKind.RETURN_NODE,
            "runs",
            1.0 + values["silent"],
            pod=LOST,
        ),
    )


def inconsistent(values: Values) -> Mapping[str, Text]:
    least = round(GRACE + values["toleration"] + 10)
    if values["silent"] >= least:
        return {}
    text = Text(
        "This must be at least {least}, or the node is back before the worker is evicted.",
        "此项至少应为 {least}，否则节点会在 worker 被驱逐之前恢复。",
    )
    return {"silent": text.filled({"least": least})}


EXPERIMENT = Experiment(
    name="node-lost",
    title=Text("A node is lost", "节点丢失"),
    shows=Text(
        "A worker on a silent node is neither running nor gone, while the job says Running.",
        "失联节点上的 worker 既没有运行也没有消失，作业却显示 Running。",
    ),
    happens=Text(
        "The kubelet of worker 0's node falls silent. After some 45 s the node is given up, {toleration} s later the "
        "pod is to go. It stays Terminating until the node is back after {silent} s; then it is created again. "
        "Whatever else runs on that node is hit, too.",
        "worker 0 所在节点的 kubelet 失联。约 45 秒后节点被判定失联，再过 {toleration} 秒，Pod 应当离开。它一直处于 "
        "Terminating，"
        "直到 {silent} 秒后节点恢复；随后被重新创建。该节点上的其他 Pod 也会受到影响。",
    ),
    explanation=Text(
        "Nobody can tell whether the containers on a silent node still run, so the API server keeps their pods until "
        "the kubelet confirms their end. Until then the operator cannot create the successor: the name is taken.\n\n"
        "The pod's end says exit 143 at last, but that was the deletion's doing: the cause is the lost node "
        "(DisruptionTarget, DeletionByTaintManager). One restart counts, while the operator's Events may say "
        "Restarting more than a dozen times.",
        "没有人知道失联节点上的容器是否还在运行，所以在 kubelet 确认它们结束之前，API server 会一直保留这些 Pod。"
        "在此之前，operator 无法创建后继的 Pod：名称仍被占用。\n\n"
        "Pod 最终以 143 结束，但那是删除造成的：真正的原因是节点丢失（DisruptionTarget，DeletionByTaintManager）。"
        "计为一次重启，而 operator 的 Event 可能十几次提到 Restarting。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        TOLERATION,
        SILENT,
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, minimum=150),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    inconsistent=inconsistent,
    seconds=lambda values: 30 + max(values["silent"], GRACE + values["toleration"]),
    recordings=("node-lost",),
    simulated_only=Text(
        "No API makes a real node fall silent; somebody would have to stop its kubelet.",
        "没有任何 API 能让真实的节点失联；那需要有人停止它的 kubelet。",
    ),
)
