"""One worker that fails under OnFailure: restarted in place until backoffLimit fails the job."""

from jobs.experiments import checks_jobs, checks_pods, common_steps, fields, manifests
from jobs.experiments.checklist import START, checklist, in_place_by, in_place_seconds, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FAILING = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(values["runs_for"])))
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(values["runs_for"])), 1, "Always", values),
        "Worker": manifests.replica("TFJob", worker, values["workers"], "OnFailure", values),
    }
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=values["backoff_limit"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, limit = values["fails_after"], values["backoff_limit"]
    return checklist(
        values,
        step(
            "fails",
            (
                "Worker 0 exits {code} after about {fails_after} s.",
                "worker 0 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, values["code"], after),
            START + after,
        ),
        step(
            "in-place",
            ("The kubelet restarts it inside the same pod.", "kubelet 在同一个 Pod 中重启它。"),
            checks_pods.restarted_in_place(FAILING),
            in_place_by(after),
        ),
        step(
            "back-off",
            ("It waits longer before the second restart than before the first.", "第二次重启前的等待比第一次更长。"),
            checks_pods.back_off_grows(FAILING),
            in_place_by(after, 2),
        ),
        step(
            "kubectl",
            (
                "kubectl's RESTARTS shows each of them: {backoff_limit}.",
                "kubectl 的 RESTARTS 显示了每一次：{backoff_limit}。",
            ),
            checks_pods.kubectl_shows(FAILING, limit, after_restarts=limit),
            in_place_by(after, limit),
        ),
        common_steps.failed_at_limit(limit, after),
        step(
            "pods-removed",
            ("Its pods are removed.", "它的 Pod 被移除。"),
            checks_jobs.pods_after_end(0),
            in_place_by(after, limit + 1),
        ),
    )


def seconds(values: Values) -> float:
    return 15 + in_place_seconds(values["fails_after"], values["backoff_limit"])


EXPERIMENT = Experiment(
    name="onfailure-one-worker",
    title=Text("OnFailure, one worker fails", "OnFailure：一个 worker 失败"),
    shows=Text(
        "Restarts in place: kubectl shows them, and backoffLimit ends the job.",
        "原地重启：kubectl 看得到，backoffLimit 会结束作业。",
    ),
    happens=Text(
        "Worker 0 exits {code} every {fails_after} s. The kubelet restarts its container, later each time, until the "
        "job fails at {backoff_limit} restarts.",
        "worker 0 每运行 {fails_after} 秒就以退出码 {code} 退出。kubelet 重启它的容器，等待一次比一次长，"
        "直到重启 {backoff_limit} 次时作业失败。",
    ),
    explanation=Text(
        "Under OnFailure and Always the pod stays: same UID, same node, and an emptyDir keeps its files, so a script "
        "can count its attempts there. restartCount rises, and kubectl shows it.\n\n"
        "The kubelet waits 10 s before the second restart, then 20 s, 40 s and so on up to 5 minutes "
        "(CrashLoopBackOff); a container that ran for 10 minutes begins anew.\n\n"
        "The training operator adds up the restartCount of all containers of all running pods and fails the job when "
        "the sum reaches backoffLimit. It removes the pods before it says so.",
        "在 OnFailure 和 Always 策略下，Pod 保留不变：UID 和节点都不变，emptyDir "
        "中的文件也还在，脚本可以在那里记录尝试次数。"
        "restartCount 会增加，kubectl 会显示它。\n\n"
        "kubelet 在第二次重启前等待 10 秒，之后是 20 秒、40 秒，依此类推，最长 5 "
        "分钟（CrashLoopBackOff）；容器连续运行 10 分钟后重新计时。\n\n"
        "训练 operator 把所有运行中 Pod 的全部容器的 restartCount 相加，总和达到 backoffLimit 时令作业失败。它先移除 "
        "Pod，再写下这个结果。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, default=1, minimum=1),
        fields.changed(fields.FAILS_AFTER, default=6, maximum=60),
        fields.changed(fields.WORKERS, minimum=2),
        fields.changed(fields.BACKOFF_LIMIT, minimum=2, maximum=5),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
    recordings=("tf-onfailure-one-worker",),
)
