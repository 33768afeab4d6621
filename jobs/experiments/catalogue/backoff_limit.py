"""backoffLimit under OnFailure against ExitCode, side by side."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import checklist, end_by, in_place_by, in_place_seconds, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

ONFAILURE, EXITCODE = 0, 1
FAILING = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(values["runs_for"])))
    return [_job(worker, policy, values, place.beside(policy.lower())) for policy in ("OnFailure", "ExitCode")]


def _job(worker: list[str], policy: str, values: Values, place: Place) -> Object:
    replicas = {
        "Master": manifests.replica("PyTorchJob", shell(sleeping(values["runs_for"])), 1, policy, values),
        "Worker": manifests.replica("PyTorchJob", worker, values["workers"], policy, values),
    }
    return manifests.training_job("PyTorchJob", place, replicas, values, backoffLimit=values["backoff_limit"])


def steps(values: Values) -> tuple[Step, ...]:
    after, limit = values["fails_after"], values["backoff_limit"]
    return checklist(
        {**values, "more": limit + 1},
        step(
            "onfailure-exits",
            ("OnFailure: worker 0 exits {code}.", "OnFailure：worker 0 以退出码 {code} 退出。"),
            checks_pods.exits(FAILING, values["code"], after, job=ONFAILURE),
            end_by(after),
            ONFAILURE,
        ),
        step(
            "onfailure-in-place",
            ("OnFailure: {backoff_limit} restarts in place.", "OnFailure：原地重启 {backoff_limit} 次。"),
            checks_pods.restarted_in_place(FAILING, times=limit, job=ONFAILURE),
            in_place_by(after, limit),
            ONFAILURE,
        ),
        step(
            "onfailure-failed",
            ("OnFailure: the job is Failed by backoffLimit.", "OnFailure：作业因 backoffLimit 而 Failed。"),
            checks_jobs.job_ends("Failed", "backoff-limit", job=ONFAILURE),
            in_place_by(after, limit + 1),
            ONFAILURE,
        ),
        step(
            "exitcode-exits",
            ("ExitCode: worker 0 exits {code}.", "ExitCode：worker 0 以退出码 {code} 退出。"),
            checks_pods.exits(FAILING, values["code"], after, job=EXITCODE),
            end_by(after),
            EXITCODE,
        ),
        step(
            "exitcode-passed",
            ("ExitCode: {more} restarts, and the job goes on.", "ExitCode：重启 {more} 次，作业仍在继续。"),
            checks_restarts.backoff_passed(FAILING, limit, job=EXITCODE),
            end_by(after, limit + 1),
            EXITCODE,
        ),
        step(
            "exitcode-kubectl",
            ("ExitCode: kubectl's RESTARTS says 0.", "ExitCode：kubectl 的 RESTARTS 为 0。"),
            checks_pods.kubectl_shows(FAILING, 0, after_restarts=limit + 1, job=EXITCODE),
            end_by(after, limit + 1),
            EXITCODE,
        ),
    )


def seconds(values: Values) -> float:
    after, limit = values["fails_after"], values["backoff_limit"]
    return 15 + max(in_place_seconds(after, limit), (limit + 1) * (after + 6))


EXPERIMENT = Experiment(
    name="backoff-limit",
    title=Text("backoffLimit: OnFailure against ExitCode", "backoffLimit：OnFailure 与 ExitCode 对比"),
    shows=Text(
        "The same limit ends one job and means nothing to the other.", "同一个限制，结束了一个作业，对另一个毫无意义。"
    ),
    happens=Text(
        "Two jobs with backoffLimit {backoff_limit} start side by side; in each worker 0 exits {code} every "
        "{fails_after} s. Under OnFailure the job fails, under ExitCode it restarts for ever.",
        "两个 backoffLimit 为 {backoff_limit} 的作业并排启动，各自的 worker 0 每运行 {fails_after} 秒就以退出码 "
        "{code} 退出。"
        "OnFailure 的作业会失败，ExitCode 的作业则无休止地重启。",
    ),
    explanation=Text(
        "The operator compares backoffLimit with the restartCount of pods that run. Under OnFailure the kubelet "
        "restarts the container and restartCount rises. Under ExitCode every restart is a new pod, whose restartCount "
        "is 0: the sum never rises.\n\n"
        "Only backoffLimit 0 is different: then the first failure ends the job under either policy. To bound an "
        "ExitCode job, use activeDeadlineSeconds.",
        "operator 拿 backoffLimit 与运行中 Pod 的 restartCount 比较。在 OnFailure 下，kubelet 重启容器，restartCount "
        "随之增加。"
        "在 ExitCode 下，每次重启都是一个新的 Pod，restartCount 为 0：总和永远不会增加。\n\n"
        "只有 backoffLimit 为 0 时不同：两种策略下，第一次失败都会结束作业。要限制 ExitCode 作业，请使用 "
        "activeDeadlineSeconds。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.CODE, default=137, minimum=128),
        fields.changed(fields.FAILS_AFTER, default=6, maximum=60),
        fields.changed(fields.WORKERS, default=2),
        fields.changed(fields.BACKOFF_LIMIT, minimum=1, maximum=5),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=seconds,
    inconsistent=fields.outlasting(seconds),
    recordings=("pt-onfailure-one-worker", "pt-exitcode-worker"),
)
