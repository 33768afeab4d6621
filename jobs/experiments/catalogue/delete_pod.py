"""A pod deleted by hand: a TFJob fails of it, a PyTorchJob goes on."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Act, ActKind, Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import deaf, shell, sleeping

TF, PYTORCH = 0, 1
DELETED = "worker-1"


def objects(values: Values, place: Place) -> list[Object]:
    workers = values["workers"]
    command = (shell if values["heeds_sigterm"] else deaf)(sleeping(values["runs_for"]))
    tf = {"Worker": manifests.replica("TFJob", command, workers, "ExitCode", values)}
    pytorch = {
        "Master": manifests.replica("PyTorchJob", command, 1, "ExitCode", values),
        "Worker": manifests.replica("PyTorchJob", command, workers, "ExitCode", values),
    }
    return [
        manifests.training_job("TFJob", place.beside("tf"), tf, values),
        manifests.training_job("PyTorchJob", place.beside("pytorch"), pytorch, values),
    ]


def steps(values: Values) -> tuple[Step, ...]:
    by = START + values["acts_after"] + 2 * SETTLE
    return checklist(
        values,
        step(
            "tf-runs",
            ("TFJob: worker 1 runs.", "TFJob：worker 1 正在运行。"),
            checks_pods.runs_again(DELETED, nth=0, job=TF),
            START,
            TF,
        ),
        step(
            "tf-failed",
            ("TFJob: the job is Failed at once.", "TFJob：作业立即变为 Failed。"),
            checks_jobs.job_ends("Failed", "pod-deleted", job=TF),
            by,
            TF,
        ),
        step(
            "tf-no-restart",
            ("TFJob: nothing has restarted.", "TFJob：没有任何重启。"),
            checks_restarts.restarts_at_end(0, job=TF),
            by,
            TF,
        ),
        step(
            "pytorch-runs",
            ("PyTorchJob: worker 1 runs.", "PyTorchJob：worker 1 正在运行。"),
            checks_pods.runs_again(DELETED, nth=0, job=PYTORCH),
            START,
            PYTORCH,
        ),
        step(
            "pytorch-deleted",
            ("PyTorchJob: worker 1 ends because it was deleted.", "PyTorchJob：worker 1 因被删除而结束。"),
            checks_pods.ends_by(DELETED, ("deleted",), job=PYTORCH),
            by,
            PYTORCH,
        ),
        step(
            "pytorch-recreated",
            ("PyTorchJob: its pod is created again.", "PyTorchJob：它的 Pod 被重新创建。"),
            checks_pods.recreated(DELETED, job=PYTORCH),
            by,
            PYTORCH,
        ),
        step(
            "pytorch-again",
            ("PyTorchJob: the new pod runs, and so does the job.", "PyTorchJob：新的 Pod 开始运行，作业继续。"),
            checks_pods.runs_again(DELETED, job=PYTORCH),
            by,
            PYTORCH,
        ),
    )


def acts(values: Values) -> tuple[Act, ...]:
    after = values["acts_after"]
    return (
        Act(
            "tf-delete",
            Text("Delete worker 1 of the TFJob", "删除 TFJob 的 worker 1"),
            ActKind.DELETE_POD,
            "tf-runs",
            after,
            TF,
            DELETED,
        ),
        Act(
            "pytorch-delete",
            Text("Delete worker 1 of the PyTorchJob", "删除 PyTorchJob 的 worker 1"),
            ActKind.DELETE_POD,
            "pytorch-runs",
            after,
            PYTORCH,
            DELETED,
        ),
    )


EXPERIMENT = Experiment(
    name="delete-pod",
    title=Text("A pod deleted by hand, TFJob and PyTorchJob", "手动删除 Pod：TFJob 与 PyTorchJob"),
    shows=Text(
        "The same `kubectl delete pod` ends a TFJob and is one restart of a PyTorchJob.",
        "同样一条 `kubectl delete pod`，会终结 TFJob，对 PyTorchJob 却只是一次重启。",
    ),
    happens=Text(
        "Two jobs start side by side. {acts_after} s after their worker 1 has come to run, its pod is deleted.",
        "两个作业并排启动。各自的 worker 1 运行 {acts_after} 秒后，它的 Pod 被删除。",
    ),
    explanation=Text(
        "While a deleted pod's container is being ended, the pod is Running with a deletionTimestamp. The operator "
        "counts it as failed at once. What follows depends on the kind: a TFJob under any policy is Failed; a "
        "PyTorchJob, PaddleJob or JAXJob restarts the replica unless its policy is Never.\n\n"
        "The restart counts, with cause “deleted”；kubectl shows 0 for the new pod.",
        "被删除的 Pod 在容器结束之前处于 Running 并带有 deletionTimestamp，operator 立即把它算作失败。"
        "接下来取决于作业类型："
        "TFJob 在任何策略下都会 Failed；PyTorchJob、PaddleJob 或 JAXJob 会重启该副本，除非策略为 Never。\n\n"
        "这次重启会被计数，原因为“已删除”；kubectl 对新的 Pod 显示 0。",
    ),
    kinds=("TFJob", "PyTorchJob"),
    parameters=(
        fields.ACTS_AFTER,
        fields.HEEDS_SIGTERM,
        fields.changed(fields.WORKERS, default=2, minimum=2),
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=300, minimum=60),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    acts=acts,
    seconds=lambda values: 25 + values["acts_after"],
    recordings=("delete-pod-exitcode",),
)
