"""What is left of a finished job: cleanPodPolicy None, Running, All, and the TTL (restart facts, section 3)."""

from jobs.experiments import checks_jobs, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Parameter, ParameterKind, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping

POLICIES = ("None", "Running", "All")
PODS = 2  # a PS that runs on, a worker that completes
LEFT = {"None": PODS, "Running": PODS - 1, "All": 0}
SETTLED = 5.0
TTL = Parameter(
    "ttl",
    Text("ttlSecondsAfterFinished", "ttlSecondsAfterFinished"),
    ParameterKind.SECONDS,
    20,
    15,
    600,
)


def objects(values: Values, place: Place) -> list[Object]:
    return [_job(policy, values, place.beside(policy.lower())) for policy in POLICIES]


def _job(policy: str, values: Values, place: Place) -> Object:
    lasting = values["runs_for"] + values["ttl"] + 600
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(lasting)), 1, "OnFailure", values),
        "Worker": manifests.replica("TFJob", shell(sleeping(values["runs_for"])), PODS - 1, "OnFailure", values),
    }
    return manifests.training_job(
        "TFJob", place, replicas, values, cleanPodPolicy=policy, ttlSecondsAfterFinished=values["ttl"]
    )


def steps(values: Values) -> tuple[Step, ...]:
    end = START + values["runs_for"] + SETTLE
    return tuple(each for number, policy in enumerate(POLICIES) for each in _steps(number, policy, values, end))


def _steps(number: int, policy: str, values: Values, end: float) -> tuple[Step, ...]:
    key = policy.lower()
    succeeded = checks_jobs.job_ends("Succeeded", job=number)
    left = checks_jobs.pods_after_end(LEFT[policy], settled=SETTLED, job=number)
    gone = checks_jobs.gone_after_end(job=number)
    return checklist(
        {**values, "policy": policy, "left": LEFT[policy], "pods": PODS},
        step(
            f"{key}-succeeded",
            ("{policy}: the job is Succeeded.", "{policy}：作业 Succeeded。"),
            succeeded,
            end,
            number,
        ),
        step(
            f"{key}-left",
            ("{policy}: {left} of {pods} pods are left.", "{policy}：{pods} 个 Pod 剩余 {left} 个。"),
            left,
            end + SETTLE,
            number,
        ),
        step(
            f"{key}-gone",
            ("{policy}: {ttl} s after its end the job itself is gone.", "{policy}：结束 {ttl} 秒后，作业本身消失。"),
            gone,
            end + values["ttl"] + 2 * SETTLE,
            number,
        ),
    )


EXPERIMENT = Experiment(
    name="clean-up",
    title=Text("cleanPodPolicy and TTL", "cleanPodPolicy 与 TTL"),
    shows=Text(
        "What is left of a finished job, and for how long kubectl can still show it.",
        "作业结束后还剩下什么，kubectl 还能看到它多久。",
    ),
    happens=Text(
        "Three jobs run for {runs_for} s and succeed while their PS still runs: with cleanPodPolicy None, Running and "
        "All. {ttl} s after their end the jobs are deleted.",
        "三个作业各运行 {runs_for} 秒后成功，此时它们的 PS 仍在运行：cleanPodPolicy 分别为 None、Running 和 All。"
        "结束 {ttl} 秒后，作业被删除。",
    ),
    explanation=Text(
        "None leaves all pods, Running removes those that still run, All removes the completed ones as well, with "
        "their logs. None of these deletions is a restart: nothing is created after them.\n\n"
        "ttlSecondsAfterFinished deletes the job and with it everything it owns. From then on only a recording of "
        "what happened, such as this site's, can say how often it had restarted. The TTL counts from completionTime; "
        "a job that failed without one is never deleted.",
        "None 保留所有 Pod，Running 移除仍在运行的 Pod，All 连同已完成的 Pod 及其日志一并移除。"
        "这些删除都不是重启：此后没有创建任何 Pod。\n\n"
        "ttlSecondsAfterFinished 会删除作业及其拥有的一切。此后，只有像本站这样的记录才能说出它重启过多少次。"
        "TTL 从 completionTime 算起；没有该时间的失败作业永远不会被删除。",
    ),
    kinds=("TFJob",),
    parameters=(
        TTL,
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=10, maximum=600),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 20 + values["runs_for"] + values["ttl"],
)
