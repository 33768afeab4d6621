"""The reference experiment: what kubectl never shows of a replica that is recreated over and over."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, common_steps, fields, manifests
from jobs.experiments.checklist import START, checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FAILING = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(values["runs_for"])))
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(values["runs_for"])), 1, "Always", values),
        "Worker": manifests.replica("TFJob", worker, values["workers"], "ExitCode", values),
    }
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=values["backoff_limit"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, code, pods, more = values["fails_after"], values["code"], values["workers"] + 1, values["backoff_limit"] + 1
    return checklist(
        {**values, "pods": pods, "more": more},
        step(
            "podgroup",
            ("The PodGroup is admitted before the first pod is created.", "PodGroup 先获准，之后才创建第一个 Pod。"),
            checks_jobs.podgroup_first(),
            START,
        ),
        step("pods", ("{pods} pods are created.", "创建 {pods} 个 Pod。"), checks_jobs.pods_created(pods), START),
        step(
            "fails",
            (
                "Worker 0 exits {code} after about {fails_after} s.",
                "worker 0 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, code, after),
            end_by(after),
        ),
        step(
            "recreated",
            (
                "Its pod is deleted and created again under the same name, with another UID.",
                "它的 Pod 被删除，并以同一名称、另一个 UID 重新创建。",
            ),
            checks_pods.recreated(FAILING),
            end_by(after),
        ),
        step(
            "restarting",
            ("Restarting is shown.", "显示 Restarting。"),
            checks_restarts.restarting_shown(),
            end_by(after),
        ),
        step(
            "kubectl",
            (
                "kubectl's RESTARTS still says 0 after {more} restarts.",
                "重启 {more} 次后，kubectl 的 RESTARTS 仍为 0。",
            ),
            checks_pods.kubectl_shows(FAILING, 0, after_restarts=more),
            end_by(after, more),
        ),
        common_steps.backoff_passed(FAILING, values["backoff_limit"], after),
    )


def seconds(values: Values) -> float:
    return 10 + (values["backoff_limit"] + 1) * (values["fails_after"] + 6)


EXPERIMENT = Experiment(
    name="seed",
    title=Text("Restarts that kubectl does not show", "kubectl 看不到的重启"),
    shows=Text(
        "Under restart policy ExitCode a worker restarts for ever, while kubectl's RESTARTS says 0 and backoffLimit "
        "does not count.",
        "在 ExitCode 重启策略下，一个 worker 无休止地重启，而 kubectl 的 RESTARTS 始终为 0，backoffLimit 也不起作用。",
    ),
    happens=Text(
        "Worker 0 exits with {code}, {fails_after} s after each start. The operator deletes its pod and creates it "
        "anew, "
        "over and over; the PS and the other workers run on.",
        "worker 0 每次启动 {fails_after} 秒后以退出码 {code} 退出。operator 删除它的 Pod 再重新创建，如此反复；PS "
        "和其余 worker 照常运行。",
    ),
    explanation=Text(
        "A replica with policy ExitCode gets pods with restartPolicy Never: the kubelet restarts nothing. When the "
        "main container exits with a code of 128 or more, the training operator deletes the pod and creates another "
        "one of the same name. Its restartCount begins at 0 again, and the old pod is gone: kubectl has nothing left "
        "to show.\n\n"
        "backoffLimit does not help: the operator adds up the restartCount of the pods that run, and that stays 0. So "
        "nothing ever ends this job.\n\n"
        "The condition Restarting lasts only until the operator looks at the job again, often less than a tenth of a "
        "second when other workers run. Whoever asks every few seconds never sees it.",
        "使用 ExitCode 策略的副本，其 Pod 的 restartPolicy 为 Never：kubelet 不会重启任何容器。主容器以不小于 128 "
        "的退出码退出时，"
        "训练 operator 会删除该 Pod，再创建一个同名的 Pod。新 Pod 的 restartCount 从 0 开始，旧 Pod "
        "已不复存在，kubectl "
        "无从显示。\n\n"
        "backoffLimit 也无济于事：operator 只累加正在运行的 Pod 的 restartCount，而它始终为 0。"
        "因此没有什么会让这个作业停下来。\n\n"
        "Restarting 状况只持续到 operator 下一次检查作业为止；有其他 worker 在运行时，往往不到十分之一秒。"
        "每隔几秒查询一次的人永远看不到它。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, minimum=128),
        fields.FAILS_AFTER,
        fields.changed(fields.WORKERS, minimum=2),
        fields.changed(fields.BACKOFF_LIMIT, minimum=1),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
    recordings=("seed-exitcode-138",),
)
