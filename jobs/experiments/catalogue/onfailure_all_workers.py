"""All workers fail under OnFailure: backoffLimit is one sum for the whole job (restart facts, section 1)."""

from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import START, checklist, in_place_by, in_place_seconds, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import failing, shell, sleeping


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(failing(values["fails_after"], values["code"]))
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(values["runs_for"])), 1, "Always", values),
        "Worker": manifests.replica("TFJob", worker, values["workers"], "OnFailure", values),
    }
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=values["workers"])]


def steps(values: Values) -> tuple[Step, ...]:
    after, workers = values["fails_after"], values["workers"]
    in_place = [
        step(
            f"in-place-{number}",
            (f"Worker {number} is restarted in place.", f"worker {number} 被原地重启。"),
            checks_pods.restarted_in_place(f"worker-{number}"),
            in_place_by(after),
        )
        for number in range(workers)
    ]
    return checklist(
        values,
        step(
            "fails",
            (
                "Worker 0 exits {code} after about {fails_after} s.",
                "worker 0 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits("worker-0", values["code"], after),
            START + after,
        ),
        *in_place,
        step(
            "failed",
            (
                "The job is Failed: one restart of each worker adds up to backoffLimit {workers}.",
                "作业 Failed：每个 worker 各重启一次，相加即达到 backoffLimit {workers}。",
            ),
            checks_jobs.job_ends("Failed", "backoff-limit"),
            in_place_by(after, 2),
        ),
    )


def seconds(values: Values) -> float:
    return 20 + in_place_seconds(values["fails_after"], 1)


EXPERIMENT = Experiment(
    name="onfailure-all-workers",
    title=Text("OnFailure, all workers fail", "OnFailure：所有 worker 都失败"),
    shows=Text(
        "backoffLimit is one sum over all pods: many replicas reach it at their first failure.",
        "backoffLimit 是所有 Pod 的总和：副本一多，第一次失败就会达到它。",
    ),
    happens=Text(
        "Every worker exits {code} after {fails_after} s and is restarted in place. backoffLimit is {workers}, the "
        "number of workers, so one restart of each fails the job.",
        "每个 worker 运行 {fails_after} 秒后以退出码 {code} 退出，并被原地重启。backoffLimit 设为 worker 的数量 "
        "{workers}，"
        "所以各重启一次就会使作业失败。",
    ),
    explanation=Text(
        "backoffLimit sounds like a limit for each replica. The operator adds up the restartCount of all containers of "
        "all pods that are in phase Running, and fails the job when the sum reaches the limit. A job of 64 workers "
        "with backoffLimit 10 does not survive one common cause, such as a network that is gone for a moment.",
        "backoffLimit 听起来像是对每个副本的限制。实际上，operator 把所有处于 Running 阶段的 Pod 的全部容器的 "
        "restartCount 相加，"
        "总和达到限制时令作业失败。一个有 64 个 worker、backoffLimit 为 10 "
        "的作业，经不起一次共同的故障，例如网络瞬断。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, default=1, minimum=1),
        fields.changed(fields.FAILS_AFTER, default=8, maximum=60),
        fields.changed(fields.WORKERS, minimum=2, maximum=10),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
)
