"""A sidecar that fails beside a healthy main container, under ExitCode and under OnFailure."""

from jobs.experiments import checks_jobs, checks_pods, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, in_place_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import failing, shell, sleeping

EXITCODE, ONFAILURE = 0, 1
SIDECAR = "metrics"


def objects(values: Values, place: Place) -> list[Object]:
    return [_job(policy, values, place.beside(policy.lower())) for policy in ("ExitCode", "OnFailure")]


def _job(policy: str, values: Values, place: Place) -> Object:
    sidecar = manifests.container(SIDECAR, shell(failing(values["fails_after"], values["code"])), values)
    main = shell(sleeping(values["runs_for"]))
    master = manifests.replica("PyTorchJob", main, 1, policy, values, beside=[sidecar])
    return manifests.training_job("PyTorchJob", place, {"Master": master}, values)


def steps(values: Values) -> tuple[Step, ...]:
    end = START + values["runs_for"] + SETTLE
    return checklist(
        values,
        step(
            "exitcode-main",
            ("ExitCode: the main container exits 0.", "ExitCode：主容器以 0 退出。"),
            checks_pods.exits("master-0", 0, values["runs_for"], job=EXITCODE),
            end,
            EXITCODE,
        ),
        step(
            "exitcode-cause",
            (
                "ExitCode: its pod is Failed all the same, because of the sidecar.",
                "ExitCode：它的 Pod 仍然因 sidecar 而 Failed。",
            ),
            checks_pods.ends_by("master-0", ("sidecar",), job=EXITCODE),
            end,
            EXITCODE,
        ),
        step(
            "exitcode-failed",
            ("ExitCode: the job is Failed.", "ExitCode：作业 Failed。"),
            checks_jobs.job_ends("Failed", "exit-before-sidecar", job=EXITCODE),
            end,
            EXITCODE,
        ),
        step(
            "onfailure-restarts",
            (
                "OnFailure: the sidecar is restarted in place, the main container is not.",
                "OnFailure：sidecar 被原地重启，主容器没有。",
            ),
            checks_pods.others_restart("master-0", container="sidecar", job=ONFAILURE),
            in_place_by(values["fails_after"]),
            ONFAILURE,
        ),
        step(
            "onfailure-kubectl",
            (
                "OnFailure: kubectl's RESTARTS shows the sidecar's restart as if it were the job's.",
                "OnFailure：kubectl 的 RESTARTS 显示 sidecar 的重启，仿佛是作业的重启。",
            ),
            checks_pods.kubectl_counts_others("master-0", job=ONFAILURE),
            in_place_by(values["fails_after"]),
            ONFAILURE,
        ),
    )


EXPERIMENT = Experiment(
    name="failing-sidecar",
    title=Text("A failing sidecar", "sidecar 失败"),
    shows=Text(
        "A helper container fails: under ExitCode it fails the job, under OnFailure it inflates kubectl's RESTARTS.",
        "辅助容器失败：在 ExitCode 下它使作业失败，在 OnFailure 下它抬高 kubectl 的 RESTARTS。",
    ),
    happens=Text(
        "The sidecar exits {code} after {fails_after} s while the main container runs for {runs_for} s and exits 0. "
        "One job has policy ExitCode, the other OnFailure.",
        "sidecar 运行 {fails_after} 秒后以退出码 {code} 退出，主容器运行 {runs_for} 秒后以 0 退出。一个作业的策略是 "
        "ExitCode，另一个是 OnFailure。",
    ),
    explanation=Text(
        "A pod is Succeeded only if all its containers exited 0. Under ExitCode the failed sidecar stays where it is, "
        "and when the main container has exited 0, the pod is Failed. The operator then looks at the main container's "
        "code alone, finds 0, which is below 128, and fails the job: training that went well is thrown away.\n\n"
        "Under OnFailure the kubelet restarts the sidecar. kubectl adds it to RESTARTS, and the operator to the sum "
        "for backoffLimit. The main container has not restarted.",
        "只有全部容器都以 0 退出，Pod 才是 Succeeded。在 ExitCode 下，失败的 sidecar 保持原状；主容器以 0 "
        "退出后，Pod 就是 Failed。"
        "operator 此时只看主容器的退出码，得到 0，小于 128，于是令作业失败：成功的训练就此作废。\n\n"
        "在 OnFailure 下，kubelet 会重启 sidecar。kubectl 把它计入 RESTARTS，operator 把它计入 backoffLimit 的总和。"
        "主容器并没有重启。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.CODE, default=3, minimum=1),
        fields.changed(fields.FAILS_AFTER, default=5, maximum=60),
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=30, minimum=12),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 12 + max(values["runs_for"], values["fails_after"] + 5),
    recordings=("sidecar-fails", "sidecar-restarts"),
)
