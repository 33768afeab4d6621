"""An image that cannot be pulled: waiting for ever, without a restart and without a failure."""

from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping

MISSING = "busybox:no-such-tag"


def objects(values: Values, place: Place) -> list[Object]:
    worker = manifests.replica("TFJob", shell(sleeping(10)), values["workers"], "ExitCode", values)
    return [manifests.training_job("TFJob", place, {"Worker": worker}, values)]


def steps(values: Values) -> tuple[Step, ...]:
    return checklist(
        values,
        step(
            "pods",
            ("{workers} pods are created.", "创建 {workers} 个 Pod。"),
            checks_jobs.pods_created(values["workers"]),
            START,
        ),
        step(
            "pull",
            ("The image of worker 0 cannot be pulled.", "无法拉取 worker 0 的镜像。"),
            checks_pods.cannot_pull("worker-0"),
            START,
        ),
        step(
            "waits",
            (
                "{waits} s later worker 0 has neither run nor ended: nothing restarts it, nothing fails it.",
                "{waits} 秒后，worker 0 既没有运行也没有结束：既没有重启，也没有失败。",
            ),
            checks_pods.waits_for("worker-0", values["waits"]),
            START + values["waits"],
        ),
    )


EXPERIMENT = Experiment(
    name="missing-image",
    title=Text("An image that does not exist", "不存在的镜像"),
    shows=Text(
        "A pod that cannot pull its image waits for ever: no restart policy and no backoffLimit concerns it.",
        "无法拉取镜像的 Pod 会一直等待：任何重启策略和 backoffLimit 都与它无关。",
    ),
    happens=Text(
        "The workers' image is {image}. The kubelet tries to pull it again and again, and the pods stay Pending.",
        "worker 的镜像是 {image}。kubelet 一再尝试拉取，Pod 一直处于 Pending。",
    ),
    explanation=Text(
        "ErrImagePull and ImagePullBackOff are states of a waiting container. None of its runs has ended, so there is "
        "no exit code, no failure and nothing to restart. The gang's other pods wait for this one.\n\n"
        "Only activeDeadlineSeconds ends such a job by itself.",
        "ErrImagePull 和 ImagePullBackOff 是等待中容器的状态。"
        "容器从未运行结束，因此没有退出码，没有失败，也没有什么可重启。"
        "同组的其他 Pod 都在等它。\n\n"
        "能让这样的作业自行结束的，只有 activeDeadlineSeconds。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.WORKERS, default=2),
        fields.WAITS,
        *(fields.changed(each, default=MISSING, help=None) if each is fields.IMAGE else each for each in fields.PODS),
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: values["waits"] + 10,
    recordings=("bad-image",),
)
