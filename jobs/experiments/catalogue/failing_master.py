"""A master that fails under ExitCode: the condition Restarting is long enough to be seen."""

from jobs.experiments import checks_pods, checks_restarts, common_steps, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import failing, shell, sleeping

FAILING = "master-0"


def objects(values: Values, place: Place) -> list[Object]:
    master = shell(failing(values["fails_after"], values["code"]))
    worker = shell(sleeping(values["runs_for"]))
    replicas = {
        "Master": manifests.replica("PyTorchJob", master, 1, "ExitCode", values),
        "Worker": manifests.replica("PyTorchJob", worker, values["workers"], "ExitCode", values),
    }
    return [manifests.training_job("PyTorchJob", place, replicas, values, backoffLimit=values["backoff_limit"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, more = values["fails_after"], values["backoff_limit"] + 1
    return checklist(
        {**values, "more": more},
        step(
            "fails",
            (
                "The master exits {code} after about {fails_after} s.",
                "master 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, values["code"], after),
            end_by(after),
        ),
        step(
            "restarting",
            ("The job itself says Restarting.", "作业自身的状况变为 Restarting。"),
            checks_restarts.condition_restarting(),
            end_by(after),
        ),
        step(
            "recreated",
            ("The master's pod is created again {more} times.", "master 的 Pod 被重新创建 {more} 次。"),
            checks_pods.recreated(FAILING, times=more),
            end_by(after, more),
        ),
        common_steps.kubectl_shows_none(FAILING, more, after),
        common_steps.backoff_passed(FAILING, values["backoff_limit"], after),
    )


def seconds(values: Values) -> float:
    return 12 + (values["backoff_limit"] + 1) * (values["fails_after"] + 6)


EXPERIMENT = Experiment(
    name="failing-master",
    title=Text("ExitCode, the master fails", "ExitCode：master 失败"),
    shows=Text(
        "A failing master keeps the job Restarting for seconds, unlike a failing worker.",
        "master 失败时，作业会持续数秒处于 Restarting；worker 失败时则不然。",
    ),
    happens=Text(
        "The master exits {code} every {fails_after} s; its pod is created anew each time. The workers run on.",
        "master 每运行 {fails_after} 秒就以退出码 {code} 退出，每次都重新创建它的 Pod。各 worker 照常运行。",
    ),
    explanation=Text(
        "A PyTorchJob says Running while its master is active, so it is the master that decides how long Restarting is "
        "seen: from its failure until the new pod runs. A worker's failure may never show, because the operator sets "
        "Running again in the same look at the job, in an order left to chance.\n\n"
        "As with every ExitCode replica, restartCount stays 0 and backoffLimit never ends the job.",
        "PyTorchJob 在 master 活动期间状态为 Running，所以 Restarting 可见多久由 master 决定：从它失败到新的 Pod "
        "运行为止。"
        "worker 的失败则可能完全看不到，因为 operator 在同一次检查中又写回了 Running，而先后顺序是随机的。\n\n"
        "与所有 ExitCode 副本一样，restartCount 始终为 0，backoffLimit 不会结束作业。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.CODE, default=137, minimum=128),
        fields.changed(fields.FAILS_AFTER, default=7),
        fields.changed(fields.WORKERS, default=2),
        fields.changed(fields.BACKOFF_LIMIT, default=2, minimum=1),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
    recordings=("pt-exitcode-master",),
)
