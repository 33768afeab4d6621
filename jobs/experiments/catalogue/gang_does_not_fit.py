"""A gang that asks for more than the cluster has: no pod is ever created."""

from jobs.experiments import checks_jobs, fields, manifests
from jobs.experiments.checklist import checklist, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping


def objects(values: Values, place: Place) -> list[Object]:
    worker = manifests.replica("TFJob", shell(sleeping(10)), values["workers"], "ExitCode", values)
    return [manifests.training_job("TFJob", place, {"Worker": worker}, values)]


def steps(values: Values) -> tuple[Step, ...]:
    return checklist(
        values,
        step(
            "created",
            ("After {waits} s the job still says Created.", "{waits} 秒后作业仍显示 Created。"),
            checks_jobs.says("Created", values["waits"]),
            values["waits"] + 10,
        ),
        step(
            "pending",
            (
                "For {waits} s the PodGroup stays Pending, and there is no pod.",
                "{waits} 秒内 PodGroup 一直为 Pending，没有任何 Pod。",
            ),
            checks_jobs.pending_for(values["waits"]),
            values["waits"] + 10,
        ),
    )


EXPERIMENT = Experiment(
    name="gang-does-not-fit",
    title=Text("A gang that does not fit", "资源不足的整组调度"),
    shows=Text(
        "A job that waits for room has no pods at all: `kubectl get pods` shows nothing.",
        "等待资源的作业根本没有 Pod：`kubectl get pods` 什么也看不到。",
    ),
    happens=Text(
        "{workers} workers ask for {cpu} thousandths of a core each, more than any node has. Volcano does not admit "
        "the PodGroup.",
        "{workers} 个 worker 各申请 {cpu} 个千分之一核，超过任何节点所有。Volcano 不会批准这个 PodGroup。",
    ),
    explanation=Text(
        "With a gang scheduler the operator creates a PodGroup first and pods only once it is past Pending. Volcano "
        "admits a group when the cluster could hold all of its minimum at once. Until then the operator looks at no "
        "pod and the job's conditions stand still at Created: why it waits is told by the PodGroup alone.\n\n"
        "Nothing runs here, so it costs nothing but an object.",
        "使用整组调度时，operator 先创建 PodGroup，待其越过 Pending 之后才创建 Pod。"
        "只有集群能够同时容纳整组的最小需求时，Volcano 才会批准。"
        "在此之前，operator 不会检查任何 Pod，作业的状况停留在 Created：只有 PodGroup 说明它为何等待。\n\n"
        "这里没有任何东西在运行，除了一个对象之外不占用资源。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.WORKERS, default=2),
        fields.WAITS,
        *(
            fields.changed(each, default=1_000_000, minimum=1000, maximum=100_000_000) if each is fields.CPU else each
            for each in fields.PODS
        ),
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: values["waits"] + 2,
    recordings=("gang-waits",),
    fits=False,
)
