"""A job deleted and created again under its name: another job, with counts of its own."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, checklist, end_by, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, failing, shell, sleeping

FIRST, SECOND = 0, 1
FAILING = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], values["code"])}, sleeping(values["runs_for"])))
    replicas = {"Worker": manifests.replica("TFJob", worker, values["workers"], "ExitCode", values)}
    return [manifests.training_job("TFJob", place, replicas, values)]


def steps(values: Values) -> tuple[Step, ...]:
    first = end_by(values["fails_after"])
    second = first + 2 * SETTLE + end_by(values["fails_after"])
    return checklist(
        values,
        step(
            "first",
            ("Worker 0 of the first job is created again.", "第一个作业的 worker 0 被重新创建。"),
            checks_pods.runs_again(FAILING, job=FIRST),
            first,
            FIRST,
        ),
        step(
            "deleted",
            ("The first job is deleted while it runs.", "第一个作业在运行中被删除。"),
            checks_jobs.deleted(job=FIRST),
            first + SETTLE,
            FIRST,
        ),
        step(
            "second",
            ("The second job has the same name and another UID.", "第二个作业名称相同，UID 不同。"),
            checks_jobs.another_job(FIRST, SECOND),
            first + 2 * SETTLE,
            SECOND,
        ),
        step(
            "own-count",
            ("Its first restart is its own: its count began at 0.", "它的第一次重启只属于它自己：计数从 0 开始。"),
            checks_restarts.own_count(FAILING, 1, job=SECOND),
            second,
            SECOND,
        ),
        step(
            "old-count",
            ("The first job's count is still what it was: 1.", "第一个作业的计数保持不变：1。"),
            checks_restarts.own_count(FAILING, 1, job=FIRST, settled_by=SECOND),
            second,
            FIRST,
        ),
    )


def acts(values: Values) -> tuple[Act, ...]:
    return (
        Act("delete", Text("Delete the job", "删除作业"), ActKind.DELETE_JOB, "first", 1.0),
        Act("create", Text("Create it again", "再次创建"), ActKind.CREATE_AGAIN, "deleted", 1.0),
    )


EXPERIMENT = Experiment(
    name="name-reuse",
    title=Text("The same name again", "重复使用同一名称"),
    shows=Text(
        "A job created again under its name is another job: nothing of the old one's restarts is its own.",
        "以同一名称再次创建的是另一个作业：旧作业的重启与它无关。",
    ),
    happens=Text(
        "A job whose worker 0 exits {code} every {fails_after} s is deleted after its first restart and created again "
        "at once, with the same manifest.",
        "一个作业的 worker 0 每运行 {fails_after} 秒就以退出码 {code} "
        "退出；第一次重启之后，作业被删除，并立即以同一清单再次创建。",
    ),
    explanation=Text(
        "Names come back, UIDs do not. Pods of the old job may still be ending when those of the new one, of the same "
        "names, are created. Whoever counts by name mixes them up; here everything goes by UID: the job's, and that "
        "of each pod's owner.",
        "名称会再次出现，UID 则不会。新作业的同名 Pod 创建时，旧作业的 Pod 可能还在结束过程中。"
        "按名称计数就会把它们混为一谈；"
        "这里一切以 UID 为准：作业的 UID，以及每个 Pod 的所有者的 UID。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.changed(fields.CODE, minimum=128),
        fields.changed(fields.FAILS_AFTER, default=6),
        fields.changed(fields.WORKERS, default=2, minimum=2),
        fields.RUNS_FOR,
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    seconds=lambda values: 30 + 2 * (values["fails_after"] + 6),
    recordings=("name-reuse",),
)
