"""A command that does not exist: StartError with 128, which ExitCode retries for ever."""

from jobs.experiments import checks_pods, common_steps, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Parameter, ParameterKind, Place, Step, Text, Values

FAILING = "worker-0"
TAKES = 4  # seconds from a pod's creation to its failure
COMMAND = Parameter(
    "command",
    Text("Command", "命令"),
    ParameterKind.TEXT,
    "/no/such/binary",
    help=Text("One that the image has not got.", "镜像中不存在的命令。"),
)


def objects(values: Values, place: Place) -> list[Object]:
    worker = manifests.replica("TFJob", [values["command"]], values["workers"], "ExitCode", values)
    return [manifests.training_job("TFJob", place, {"Worker": worker}, values)]


def steps(values: Values) -> tuple[Step, ...]:
    times = values["restarts"]
    return checklist(
        values,
        step(
            "start-error",
            ("Worker 0's container never starts: StartError.", "worker 0 的容器从未启动：StartError。"),
            checks_pods.ends_by(FAILING, ("start-error",)),
            end_by(TAKES),
        ),
        step(
            "recreated",
            ("Its pod is created again {restarts} times.", "它的 Pod 被重新创建 {restarts} 次。"),
            checks_pods.recreated(FAILING, times=times),
            end_by(TAKES, times),
        ),
        step(
            "never-ran",
            ("None of its pods ever ran.", "它的 Pod 从未运行过。"),
            checks_pods.never_ran(FAILING, pods=times),
            end_by(TAKES, times),
        ),
        common_steps.kubectl_shows_none(FAILING, times, TAKES),
    )


EXPERIMENT = Experiment(
    name="start-error",
    title=Text("A command that does not exist", "不存在的命令"),
    shows=Text(
        "A typing error in the command is retried for ever under ExitCode.",
        "命令中的笔误，在 ExitCode 下会被无休止地重试。",
    ),
    happens=Text(
        "The workers' command is {command}, which the image has not got. Each pod fails before it runs and is "
        "created again.",
        "worker 的命令是镜像中不存在的 {command}。每个 Pod 在运行之前就失败，随后被重新创建。",
    ),
    explanation=Text(
        "When the container runtime cannot start the command, the kubelet reports exit code 128 with reason "
        "StartError. The user guide calls 128 permanent; the operator's test is 128 or more, so it retries.\n\n"
        "The pod goes from Pending to Failed without ever Running, so the job never says Running, and its Restarting "
        "stays.",
        "容器运行时无法启动命令时，kubelet 报告退出码 128，原因为 StartError。用户指南称 128 为永久错误；而 operator "
        "的判断是不小于 128，所以会重试。\n\n"
        "Pod 从 Pending 直接变为 Failed，从未 Running，因此作业从不显示 Running，它的 Restarting 会一直保留。",
    ),
    kinds=("TFJob",),
    parameters=(
        COMMAND,
        fields.changed(fields.RESTARTS, default=2),
        fields.changed(fields.WORKERS, default=2),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 10 + values["restarts"] * 9,
    recordings=("bad-command",),
)
