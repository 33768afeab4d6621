"""backoffLimit 0: the one value that holds under ExitCode, too."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FAILING = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(values["runs_for"])))
    replicas = {"Worker": manifests.replica("TFJob", worker, values["workers"], "ExitCode", values)}
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=0)]


def steps(values: Values) -> tuple[Step, ...]:
    by = end_by(values["fails_after"])
    return checklist(
        values,
        step(
            "fails",
            (
                "Worker 0 exits {code} after about {fails_after} s.",
                "worker 0 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, values["code"], values["fails_after"]),
            by,
        ),
        step(
            "failed",
            (
                "The job is Failed at this first failure, though {code} would be retried.",
                "第一次失败就使作业 Failed，尽管 {code} 本应重试。",
            ),
            checks_jobs.job_ends("Failed", "backoff-zero"),
            by,
        ),
        step("no-restart", ("Nothing has restarted.", "没有任何重启。"), checks_restarts.restarts_at_end(0), by),
    )


EXPERIMENT = Experiment(
    name="backoff-zero",
    title=Text("backoffLimit 0", "backoffLimit 为 0"),
    shows=Text(
        "With backoffLimit 0 the first failure ends the job, even where ExitCode would retry it.",
        "backoffLimit 为 0 时，第一次失败就会结束作业，即使 ExitCode 本应重试。",
    ),
    happens=Text(
        "Worker 0 exits {code} after {fails_after} s, and the job fails without a restart.",
        "worker 0 运行 {fails_after} 秒后以退出码 {code} 退出，作业不经重启就失败。",
    ),
    explanation=Text(
        "backoffLimit is compared with the restartCount of running pods, which is always 0 under ExitCode: 1, 3 or 100 "
        "mean the same there, namely nothing. For 0 the operator has a test of its own: any failed pod fails the job.",
        "backoffLimit 与运行中 Pod 的 restartCount 比较，而后者在 ExitCode 下始终为 0：1、3 或 100 "
        "没有区别，都不起作用。"
        "对于 0，operator 另有判断：任何失败的 Pod 都会使作业失败。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, minimum=128),
        fields.changed(fields.FAILS_AFTER, default=5),
        fields.changed(fields.WORKERS, default=2),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: values["fails_after"] + 15,
    recordings=("backoff-zero",),
)
