"""A PyTorchJob in which nothing fails."""

from jobs.experiments import checks_jobs, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping


def objects(values: Values, place: Place) -> list[Object]:
    command = shell(sleeping(values["runs_for"]))
    replicas = {
        "Master": manifests.replica("PyTorchJob", command, 1, "OnFailure", values),
        "Worker": manifests.replica("PyTorchJob", command, values["workers"], "OnFailure", values),
    }
    return [manifests.training_job("PyTorchJob", place, replicas, values, backoffLimit=3)]


def steps(values: Values) -> tuple[Step, ...]:
    pods, end = values["workers"] + 1, START + values["runs_for"] + SETTLE
    return checklist(
        {**values, "pods": pods},
        step("pods", ("{pods} pods are created.", "创建 {pods} 个 Pod。"), checks_jobs.pods_created(pods), START),
        step("running", ("The job says Running.", "作业状态变为 Running。"), checks_jobs.job_runs(), START),
        step(
            "succeeded",
            (
                "The job is Succeeded: the master completed, after about {runs_for} s.",
                "作业 Succeeded：master 运行约 {runs_for} 秒后完成。",
            ),
            checks_jobs.job_ends("Succeeded", "main-completed"),
            end,
        ),
        step("no-restart", ("Nothing has restarted.", "没有任何重启。"), checks_restarts.restarts_at_end(0), end),
    )


EXPERIMENT = Experiment(
    name="pt-normal",
    title=Text("A PyTorchJob that succeeds", "成功完成的 PyTorchJob"),
    shows=Text("What a healthy run looks like.", "一次正常的运行是什么样子。"),
    happens=Text(
        "Master and workers run for {runs_for} s and exit 0. The job is Succeeded, without a restart.",
        "master 和各 worker 运行 {runs_for} 秒后以 0 退出。作业变为 Succeeded，没有重启。",
    ),
    explanation=Text(
        "A PyTorchJob is Succeeded when its master has completed. Its workers wait in an init container, init-pytorch, "
        "until the master's name can be resolved; so they run a little later than the master.",
        "PyTorchJob 在 master 完成时即为 Succeeded。worker 会先在名为 init-pytorch 的 init 容器中等待，直到 master "
        "的名称可以解析；"
        "因此它们比 master 稍晚开始运行。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.WORKERS,
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=20),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: values["runs_for"] + 15,
    recordings=("pt-normal",),
)
