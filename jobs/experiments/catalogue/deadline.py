"""activeDeadlineSeconds: the one limit that holds under every policy."""

from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Parameter, ParameterKind, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FAILING = "worker-0"
DEADLINE = Parameter(
    "deadline", Text("activeDeadlineSeconds", "activeDeadlineSeconds"), ParameterKind.SECONDS, 40, 20, 600
)


def objects(values: Values, place: Place) -> list[Object]:
    runs_for = values["deadline"] + 600
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(runs_for)))
    replicas = {
        "Master": manifests.replica("PyTorchJob", shell(sleeping(runs_for)), 1, "OnFailure", values),
        "Worker": manifests.replica("PyTorchJob", worker, 1, "OnFailure", values),
    }
    return [manifests.training_job("PyTorchJob", place, replicas, values, activeDeadlineSeconds=values["deadline"])]


def steps(values: Values) -> tuple[Step, ...]:
    end = START + values["deadline"] + SETTLE
    return checklist(
        values,
        step(
            "fails",
            (
                "Worker 0 exits {code} after about {fails_after} s.",
                "worker 0 运行约 {fails_after} 秒后以退出码 {code} 退出。",
            ),
            checks_pods.exits(FAILING, values["code"], values["fails_after"]),
            end,
        ),
        step(
            "in-place",
            ("It is restarted in place.", "它被原地重启。"),
            checks_pods.restarted_in_place(FAILING),
            end,
        ),
        step(
            "failed",
            (
                "The job is Failed: it was active for longer than {deadline} s.",
                "作业 Failed：活动时间超过 {deadline} 秒。",
            ),
            checks_jobs.job_ends("Failed", "deadline"),
            end,
        ),
        step("removed", ("Its pods are removed.", "它的 Pod 被移除。"), checks_jobs.pods_after_end(0), end),
    )


EXPERIMENT = Experiment(
    name="deadline",
    title=Text("A deadline", "截止时间"),
    shows=Text(
        "activeDeadlineSeconds ends a job whatever its restarts, and removes its pods.",
        "无论重启情况如何，activeDeadlineSeconds 都会结束作业并移除它的 Pod。",
    ),
    happens=Text(
        "Worker 0 fails every {fails_after} s and is restarted in place. {deadline} s after the start of the job it is "
        "Failed.",
        "worker 0 每运行 {fails_after} 秒失败一次，并被原地重启。作业开始 {deadline} 秒后变为 Failed。",
    ),
    explanation=Text(
        "The time runs from status.startTime, that is from the job's first look by the operator, so waiting for the "
        "gang counts too. When it is over, the operator deletes the pods first and says Failed afterwards.\n\n"
        "Besides backoffLimit 0 it is the only limit that bounds a job under ExitCode.",
        "时间从 status.startTime 算起，也就是 operator 第一次检查作业的时刻，所以等待整组调度的时间也计算在内。"
        "到期后，operator 先删除 Pod，再写下 Failed。\n\n"
        "除了 backoffLimit 0，这是唯一能约束 ExitCode 作业的限制。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        DEADLINE,
        fields.changed(fields.CODE, default=1, minimum=1),
        fields.changed(fields.FAILS_AFTER, default=3, maximum=5),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 15 + values["deadline"],
    recordings=("active-deadline",),
)
