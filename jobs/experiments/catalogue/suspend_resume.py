"""Suspended and resumed: all pods are new, and nothing has restarted."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping

WATCHED = "worker-0"


def objects(values: Values, place: Place) -> list[Object]:
    command = shell(sleeping(values["runs_for"]))
    replicas = {
        "Master": manifests.replica("PyTorchJob", command, 1, "OnFailure", values),
        "Worker": manifests.replica("PyTorchJob", command, values["workers"], "OnFailure", values),
    }
    return [manifests.training_job("PyTorchJob", place, replicas, values)]


def steps(values: Values) -> tuple[Step, ...]:
    pause = START + values["acts_after"] + SETTLE
    again = pause + values["pause"] + START
    end = again + values["runs_for"] + SETTLE
    return checklist(
        values,
        step("runs", ("Worker 0 runs.", "worker 0 正在运行。"), checks_pods.runs_again(WATCHED, nth=0), START),
        step(
            "suspended",
            ("The job is Suspended and its pods are gone.", "作业 Suspended，它的 Pod 全部消失。"),
            checks_jobs.suspended(),
            pause,
        ),
        step(
            "not-counted",
            (
                "After the resume there are new pods, and that is no restart.",
                "恢复后创建了新的 Pod，这不算重启。",
            ),
            checks_pods.not_counted(WATCHED, "suspended"),
            again,
        ),
        step(
            "again",
            ("The new pod of worker 0 runs.", "worker 0 的新 Pod 开始运行。"),
            checks_pods.runs_again(WATCHED),
            again,
        ),
        step(
            "succeeded",
            ("The job is Succeeded.", "作业 Succeeded。"),
            checks_jobs.job_ends("Succeeded", "main-completed"),
            end,
        ),
        step("no-restart", ("Nothing has restarted.", "没有任何重启。"), checks_restarts.restarts_at_end(0), end),
    )


def acts(values: Values) -> tuple[Act, ...]:
    return (
        Act("suspend", Text("Suspend the job", "暂停作业"), ActKind.SUSPEND, "runs", values["acts_after"]),
        Act("resume", Text("Resume the job", "恢复作业"), ActKind.RESUME, "suspended", values["pause"]),
    )


EXPERIMENT = Experiment(
    name="suspend-resume",
    title=Text("Suspend and resume", "暂停与恢复"),
    shows=Text(
        "A resumed job gets new pods under the old names: a new run, no restarts.",
        "恢复后的作业以原来的名称得到新的 Pod：这是新的一轮运行，不是重启。",
    ),
    happens=Text(
        "{acts_after} s after its start the job is suspended, {pause} s later resumed. It then runs for {runs_for} s "
        "from its beginning and succeeds.",
        "作业启动 {acts_after} 秒后被暂停，再过 {pause} 秒被恢复，随后从头运行 {runs_for} 秒并成功完成。",
    ),
    explanation=Text(
        "spec.runPolicy.suspend makes the operator delete all pods, then the PodGroup, and then say Suspended. The "
        "resume creates everything anew. The UIDs differ and the names do not, just as after a restart; what tells "
        "them apart is the transition to Suspended between the two creations.\n\n"
        "After the resume kubectl's STATE still says Suspended for some seconds: it prints the type of the last "
        "condition and ignores that its status is False.",
        "spec.runPolicy.suspend 使 operator 先删除所有 Pod，再删除 PodGroup，最后写下 Suspended。恢复时一切重新创建。"
        "UID 变了而名称不变，与重启之后一样；区分二者的，是两次创建之间转为 Suspended 的时刻。\n\n"
        "恢复之后，kubectl 的 STATE 仍会有几秒显示 Suspended：它打印最后一个状况的类型，却不理会其 status 已是 False。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.ACTS_AFTER, default=5),
        fields.PAUSE,
        fields.changed(fields.WORKERS, default=2),
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=30, minimum=25),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    seconds=lambda values: 25 + values["acts_after"] + values["pause"] + values["runs_for"],
    recordings=("suspend-resume",),
)
