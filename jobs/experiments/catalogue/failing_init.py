"""An init container that fails under ExitCode: retried for ever, whatever its code (restart facts, section 10)."""

from jobs.experiments import checks_pods, common_steps, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FAILING = "worker-0"
INIT = "fetch"


def objects(values: Values, place: Place) -> list[Object]:
    fetch = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, "exit 0"))
    worker = manifests.replica(
        "TFJob",
        shell(sleeping(values["runs_for"])),
        values["workers"],
        "ExitCode",
        values,
        before=[manifests.container(INIT, fetch, values)],
    )
    return [manifests.training_job("TFJob", place, {"Worker": worker}, values, backoffLimit=values["backoff_limit"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, more = values["fails_after"], values["backoff_limit"] + 1
    return checklist(
        {**values, "more": more},
        step(
            "init",
            (
                "Worker 0 ends because its init container exited {code}.",
                "worker 0 因 init 容器以退出码 {code} 退出而结束。",
            ),
            checks_pods.ends_by(FAILING, ("init",)),
            end_by(after),
        ),
        step(
            "recreated",
            ("Its pod is created again, though {code} is below 128.", "它的 Pod 被重新创建，尽管 {code} 小于 128。"),
            checks_pods.recreated(FAILING),
            end_by(after),
        ),
        step(
            "never-ran",
            ("The main container never ran.", "主容器从未运行。"),
            checks_pods.never_ran(FAILING, pods=more),
            end_by(after, more),
        ),
        common_steps.backoff_passed(FAILING, values["backoff_limit"], after),
    )


def seconds(values: Values) -> float:
    return 15 + (values["backoff_limit"] + 1) * (values["fails_after"] + 7)


EXPERIMENT = Experiment(
    name="failing-init",
    title=Text("A failing init container", "init 容器失败"),
    shows=Text(
        "An init container's exit code is not looked at: even a permanent error is retried for ever.",
        "operator 不看 init 容器的退出码：即使是永久错误，也会被无休止地重试。",
    ),
    happens=Text(
        "Worker 0's init container exits {code} after {fails_after} s. Its pod is deleted and created again, over "
        "and over; its "
        "main container never starts.",
        "worker 0 的 init 容器运行 {fails_after} 秒后以退出码 {code} 退出。它的 Pod "
        "被删除并重新创建，如此反复；主容器从未启动。",
    ),
    explanation=Text(
        "Under ExitCode the operator asks for the exit code of the main container. When an init container fails, the "
        "main one has none, and the operator takes the value 48879 in its place. That is above 128, so the pod is "
        "deleted and created again.\n\n"
        "A download that fails with 1 because the file is not there any more thus becomes an endless loop, and the "
        "job says Running as long as another worker runs.",
        "在 ExitCode 下，operator 查询主容器的退出码。init 容器失败时，主容器没有退出码，operator 便以 48879 代替。"
        "它大于 128，于是 Pod 被删除并重新创建。\n\n"
        "因此，一次因文件已不存在而以 1 失败的下载会变成无尽的循环，而只要有别的 worker 在运行，作业就显示 Running。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, default=1, minimum=1, maximum=127),
        fields.changed(fields.FAILS_AFTER, default=3, maximum=60),
        fields.changed(fields.WORKERS, default=2, minimum=2),
        fields.changed(fields.BACKOFF_LIMIT, default=2, minimum=1),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
)
