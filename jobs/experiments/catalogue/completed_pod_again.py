"""The pod of a worker that was done is deleted: the operator runs it once more."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import by_pod, shell, sleeping

DONE = "worker-1"


def objects(values: Values, place: Place) -> list[Object]:
    worker = shell(by_pod({DONE: sleeping(values["completes_after"])}, sleeping(values["runs_for"])))
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(values["runs_for"] + 60)), 1, "Always", values),
        "Worker": manifests.replica("TFJob", worker, values["workers"], "OnFailure", values),
    }
    return [manifests.training_job("TFJob", place, replicas, values)]


def steps(values: Values) -> tuple[Step, ...]:
    done = START + values["completes_after"] + SETTLE
    again = done + values["acts_after"] + 2 * SETTLE
    return checklist(
        values,
        step(
            "completed",
            ("Worker 1 completes: exit 0.", "worker 1 完成：以 0 退出。"),
            checks_pods.completed(DONE),
            done,
        ),
        step(
            "recreated",
            ("After the deletion its pod is created again.", "删除之后，它的 Pod 被重新创建。"),
            checks_pods.recreated(DONE),
            again,
        ),
        step(
            "flagged",
            (
                "The restart is flagged: a completed replica was run again.",
                "这次重启带有标记：已完成的副本被再次运行。",
            ),
            checks_restarts.completed_run_again(DONE),
            again,
        ),
        step("again", ("The new pod runs.", "新的 Pod 开始运行。"), checks_pods.runs_again(DONE), again),
        step(
            "succeeded",
            ("The job is Succeeded when worker 0 has completed.", "worker 0 完成后，作业 Succeeded。"),
            checks_jobs.job_ends("Succeeded", "main-completed"),
            again + values["runs_for"],
        ),
    )


def acts(values: Values) -> tuple[Act, ...]:
    text = Text("Delete the completed pod of worker 1", "删除 worker 1 已完成的 Pod")
    return (Act("delete", text, ActKind.DELETE_POD, "completed", values["acts_after"], pod=DONE),)


EXPERIMENT = Experiment(
    name="completed-pod-again",
    title=Text("A completed pod is run again", "已完成的 Pod 再次运行"),
    shows=Text(
        "Deleting the pod of a replica that was done makes the operator run it once more.",
        "删除已完成副本的 Pod，会使 operator 再次运行它。",
    ),
    happens=Text(
        "Worker 1 is done after {completes_after} s. {acts_after} s later its pod is deleted, and the operator "
        "creates it again, though "
        "there was nothing left to do.",
        "worker 1 运行 {completes_after} 秒后完成。{acts_after} 秒后它的 Pod 被删除，operator "
        "会再次创建它，尽管已经没有工作可做。",
    ),
    explanation=Text(
        "The operator keeps no memory of replicas that are done: it looks at the pods there are. One that is missing "
        "is created, and the work is done twice. People who tidy up completed pods by hand, or a garbage collector "
        "for pods, cause this.\n\n"
        "It counts as a recreation and is flagged; it is no failure. The restart begins with the deletion, not with "
        "the exit 0.",
        "operator 不记得哪些副本已经完成，它只看现有的 Pod。缺少的就创建，于是同一份工作做了两遍。手动清理已完成的 "
        "Pod，或者 Pod 的垃圾回收，都会造成这种情况。\n\n"
        "这会计为一次重新创建并带有标记，但不是失败。重启从删除时算起，而不是从以 0 退出时算起。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.COMPLETES_AFTER,
        fields.ACTS_AFTER,
        fields.changed(fields.WORKERS, default=2, minimum=2),
        fields.changed(
            fields.RUNS_FOR, label=Text("Worker 0 runs for (seconds)", "worker 0 运行多少秒"), default=45, minimum=40
        ),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    seconds=lambda values: 15 + values["runs_for"],
    recordings=("completed-pod-deleted",),
)
