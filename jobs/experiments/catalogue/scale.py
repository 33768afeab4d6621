"""Scaled down and up again: the replica comes back, and that is no restart (restart facts, section 3)."""

from collections.abc import Mapping

from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping


def objects(values: Values, place: Place) -> list[Object]:
    command = shell(sleeping(values["runs_for"]))
    replicas = {
        "Master": manifests.replica("PyTorchJob", command, 1, "ExitCode", values),
        "Worker": manifests.replica("PyTorchJob", command, values["workers"], "ExitCode", values),
    }
    return [manifests.training_job("PyTorchJob", place, replicas, values)]


def _last(values: Values) -> str:
    return f"worker-{values['workers'] - 1}"


def steps(values: Values) -> tuple[Step, ...]:
    down = START + values["acts_after"] + 2 * SETTLE
    up = down + values["pause"] + START
    return checklist(
        {**values, "last": values["workers"] - 1},
        step(
            "runs",
            ("Worker {last} runs.", "worker {last} 正在运行。"),
            checks_pods.runs_again(_last(values), nth=0),
            START,
        ),
        step(
            "down",
            ("After the scale-down its pod is gone.", "缩容后它的 Pod 消失。"),
            checks_pods.leaves(_last(values)),
            down,
        ),
        step(
            "not-counted",
            ("After the scale-up it has a new pod, and that is no restart.", "扩容后它有了新的 Pod，这不算重启。"),
            checks_pods.not_counted(_last(values), "scaled"),
            up,
        ),
        step("again", ("The new pod runs.", "新的 Pod 开始运行。"), checks_pods.runs_again(_last(values)), up),
        step("goes-on", ("The job has not failed.", "作业没有失败。"), checks_jobs.job_survives(_last(values)), up),
    )


def acts(values: Values) -> tuple[Act, ...]:
    few, many = ({"replica_type": "Worker", "replicas": values[name]} for name in ("fewer", "workers"))
    return (
        Act("down", Text("Scale down", "缩容"), ActKind.SCALE, "runs", values["acts_after"], params=few),
        Act("up", Text("Scale up", "扩容"), ActKind.SCALE, "down", values["pause"], params=many),
    )


def inconsistent(values: Values) -> Mapping[str, Text]:
    if values["fewer"] < values["workers"]:
        return {}
    least = Text("This must be fewer than there are workers: {workers}.", "此项必须小于 worker 的数量：{workers}。")
    return {"fewer": least.filled(values)}


EXPERIMENT = Experiment(
    name="scale",
    title=Text("Scale down and up", "缩容与扩容"),
    shows=Text(
        "A replica that was scaled away and comes back has not restarted.",
        "因缩容而消失、又因扩容而回来的副本并没有重启。",
    ),
    happens=Text(
        "A PyTorchJob of {workers} workers is scaled down to {fewer}, and {pause} s later up again.",
        "一个有 {workers} 个 worker 的 PyTorchJob 缩容到 {fewer} 个，{pause} 秒后再扩容回来。",
    ),
    explanation=Text(
        "The operator deletes the pods whose index is beyond the new number of replicas. When the number rises again, "
        "they are created under their old names, with new UIDs. A count of UIDs alone would call that a restart.\n\n"
        "A PyTorchJob survives it. A TFJob does not: a pod that is Running with a deletionTimestamp counts as failed "
        "there and fails the job.",
        "operator 删除序号超出新副本数的 Pod。副本数再次增加时，它们以原来的名称、新的 UID 重新创建。仅凭 UID "
        "的个数计算，就会把这当成重启。\n\n"
        "PyTorchJob 能承受这一过程，TFJob 则不能：带有 deletionTimestamp 的 Running Pod 在 TFJob "
        "中算作失败，会使作业失败。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.WORKERS, minimum=2),
        fields.FEWER,
        fields.ACTS_AFTER,
        fields.PAUSE,
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, minimum=60),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    inconsistent=inconsistent,
    seconds=lambda values: 35 + values["acts_after"] + values["pause"],
)
