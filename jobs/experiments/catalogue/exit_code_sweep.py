"""One small job for each exit code: what the documents say, what the operator does, what was seen."""

from jobs.domain.causes import last_code
from jobs.domain.codes import actual_class, documented_class, retried
from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.checks import over, replica_of, say
from jobs.experiments.experiment import (
    Experiment,
    Object,
    Observed,
    Parameter,
    ParameterKind,
    Place,
    Step,
    Table,
    Text,
    Values,
)
from jobs.experiments.scripts import by_pod, failing, shell, sleeping
from jobs.experiments.wording import class_text

FAILING = "worker-0"
SUCCESS = Text("success", "成功")
CODES = Parameter(
    "codes",
    Text("Exit codes", "退出码"),
    ParameterKind.EXIT_CODES,
    "0, 1, 2, 126, 127, 128, 129, 130, 137, 138, 139, 143, 255",
    help=Text("One job of two workers for each.", "每个退出码一个作业，各有两个 worker。"),
)


def codes_of(values: Values) -> list[int]:
    return [int(code) for code in values["codes"].split(", ")]


def objects(values: Values, place: Place) -> list[Object]:
    return [_job(code, values, place.beside(str(code))) for code in codes_of(values)]


def _job(code: int, values: Values, place: Place) -> Object:
    worker = shell(by_pod({FAILING: failing(values["fails_after"], code)}, sleeping(values["runs_for"])))
    replicas = {"Worker": manifests.replica("TFJob", worker, 2, "ExitCode", values)}
    return manifests.training_job("TFJob", place, replicas, values)


def steps(values: Values) -> tuple[Step, ...]:
    return tuple(
        each for number, code in enumerate(codes_of(values)) for each in _steps(number, code, values["fails_after"])
    )


def _steps(number: int, code: int, after: float) -> tuple[Step, ...]:
    by = end_by(after)
    exits = checks_pods.exits(FAILING, code, after, job=number)
    first = step(f"{code}-exits", ("Worker 0 exits {code}.", "worker 0 以退出码 {code} 退出。"), exits, by, number)
    if code == 0:
        check = checks_jobs.job_ends("Succeeded", job=number)
        then = step("0-succeeded", ("0: the job is Succeeded.", "0：作业变为 Succeeded。"), check, by, number)
    elif retried(code):
        check = checks_pods.recreated(FAILING, job=number)
        then = step(
            f"{code}-retried",
            ("{code}: the pod is deleted and created again.", "{code}：Pod 被删除并重新创建。"),
            check,
            by,
            number,
        )
    else:
        check = checks_jobs.job_ends("Failed", "permanent-exit", job=number)
        then = step(f"{code}-failed", ("{code}: the job is Failed.", "{code}：作业变为 Failed。"), check, by, number)
    return checklist({"code": code}, first, then)


def table(values: Values, observed: Observed) -> Table:
    """Documented, implemented, seen here."""
    columns = (
        Text("Exit code", "退出码"),
        Text("Documented", "文档所述"),
        Text("Implemented", "实际实现"),
        Text("Seen here", "此处所见"),
    )
    return Table(columns, tuple(_row(number, code, observed) for number, code in enumerate(codes_of(values))))


def _row(number: int, code: int, observed: Observed) -> tuple[Text, ...]:
    documented = SUCCESS if code == 0 else class_text(documented_class(code))
    actual = SUCCESS if code == 0 else class_text(actual_class(code))
    return Text(str(code), str(code)), documented, actual, _seen(number, observed)


def _seen(number: int, observed: Observed) -> Text:
    job = observed.jobs[number] if number < len(observed.jobs) else None
    found = replica_of(job, FAILING) if job is not None else None
    code = next((code for pod in found.incarnations if (code := last_code(pod)) is not None), None) if found else None
    if job is None or found is None or code is None:
        return say("nothing yet", "尚无")
    if found.recreations:
        return say("exit {code}, retried", "退出码 {code}，已重试", code=code)
    if over(job):
        return say("exit {code}, the job is {state}", "退出码 {code}，作业为 {state}", code=code, state=job.state)
    return say("exit {code}", "退出码 {code}", code=code)


EXPERIMENT = Experiment(
    name="exit-code-sweep",
    title=Text("Exit codes under ExitCode", "ExitCode 策略下的退出码"),
    shows=Text(
        "Which exit codes are retried: the documents say one thing, the operator's code another.",
        "哪些退出码会被重试：文档说的是一回事，operator 的代码做的是另一回事。",
    ),
    happens=Text(
        "For each code a job starts whose worker 0 exits with it after {fails_after} s. Below 128 the job ends; from "
        "128 on the pod is created again.",
        "每个退出码启动一个作业，其 worker 0 在 {fails_after} 秒后以该码退出。小于 128 时作业结束；不小于 128 时 Pod "
        "会被重新创建。",
    ),
    explanation=Text(
        "The user guide of the training operator lists 1, 2, 126, 127, 128 and 139 as permanent, 130, 137 and 143 as "
        "retryable, leaves 138 to the user, and says nothing of others. The operator's code has one test only: 128 or "
        "more is retried. So 128, 139 and 255 are retried for ever.\n\n"
        "A shell reports a death by signal n as 128 + n: 137 is SIGKILL, 139 SIGSEGV, 143 SIGTERM.",
        "训练 operator 的用户指南把 1、2、126、127、128 和 139 列为永久错误，把 130、137 和 143 列为可重试错误，138 "
        "留给用户定义，其余未作说明。"
        "operator 的代码却只有一个判断：不小于 128 就重试。因此 128、139 和 255 会被无休止地重试。\n\n"
        "shell 以 128 + n 表示进程死于信号 n：137 是 SIGKILL，139 是 SIGSEGV，143 是 SIGTERM。",
    ),
    kinds=("TFJob",),
    parameters=(
        CODES,
        fields.changed(fields.FAILS_AFTER, default=4, maximum=60),
        fields.changed(fields.RUNS_FOR, default=120),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 25 + values["fails_after"],
    recordings=tuple(f"exit-sweep-{code}" for code in (0, 1, 2, 126, 128, 130, 137, 138, 139, 143)),
    table=table,
)
