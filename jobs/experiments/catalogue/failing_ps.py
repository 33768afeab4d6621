"""A failing PS with policy Always: restarts in place that fail the job of healthy workers."""

from jobs.experiments import checks_pods, checks_restarts, common_steps, fields, manifests
from jobs.experiments.checklist import START, checklist, in_place_by, in_place_seconds, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import failing, shell, sleeping

FAILING = "ps-0"


def objects(values: Values, place: Place) -> list[Object]:
    ps = shell(failing(values["fails_after"], values["code"]))
    worker = shell(sleeping(values["runs_for"]))
    replicas = {
        "PS": manifests.replica("TFJob", ps, 1, "Always", values),
        "Worker": manifests.replica("TFJob", worker, values["workers"], "ExitCode", values),
    }
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=values["backoff_limit"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, limit = values["fails_after"], values["backoff_limit"]
    return checklist(
        values,
        step(
            "fails",
            (
                "The PS exits {code} after about {fails_after} s.",
                "PS 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, values["code"], after),
            START + after,
        ),
        step(
            "in-place",
            (
                "The kubelet restarts it in place, {backoff_limit} times.",
                "kubelet 将它原地重启，共 {backoff_limit} 次。",
            ),
            checks_pods.restarted_in_place(FAILING, times=limit),
            in_place_by(after, limit),
        ),
        common_steps.failed_at_limit(limit, after),
        step(
            "workers",
            ("No worker has restarted.", "没有任何 worker 重启。"),
            checks_restarts.restarts_at_end(0, replica_type="worker"),
            in_place_by(after, limit + 1),
        ),
    )


def seconds(values: Values) -> float:
    return 15 + in_place_seconds(values["fails_after"], values["backoff_limit"])


EXPERIMENT = Experiment(
    name="failing-ps",
    title=Text("The PS fails", "PS 失败"),
    shows=Text(
        "A PS restarts in place and fails the job, though the job never says Restarting.",
        "PS 原地重启并使作业失败，而作业从不显示 Restarting。",
    ),
    happens=Text(
        "The PS exits {code} every {fails_after} s and is restarted in place. At {backoff_limit} restarts the job "
        "fails, with its healthy workers.",
        "PS 每运行 {fails_after} 秒就以退出码 {code} 退出，并被原地重启。重启 {backoff_limit} 次时，作业连同健康的 "
        "worker 一起失败。",
    ),
    explanation=Text(
        "Policy Always leaves restarts to the kubelet, and the operator does not hear of them: the pod stays in phase "
        "Running. It sees the restartCount only, which counts towards backoffLimit. The condition stays Running all "
        "the time; it is the pods that show the waits.",
        "Always 策略把重启交给 kubelet，operator 并不知情：Pod 一直处于 Running 阶段。它只看到计入 backoffLimit 的 "
        "restartCount。"
        "作业的状况一直是 Running；只有 Pod 才显示出等待的时间。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, default=1, minimum=1),
        fields.changed(fields.FAILS_AFTER, default=8, maximum=60),
        fields.WORKERS,
        fields.changed(fields.BACKOFF_LIMIT, minimum=1, maximum=5),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
    recordings=("tf-ps-fails",),
)
