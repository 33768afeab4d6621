"""The step that nobody writes down and every run needs: that its pods can be created at all.

It shows only where a pod is refused, with the API server's own words and what to do. A refusal that lasts decides the
run: what was still to come of that job cannot come any more.
"""

import re
from collections.abc import Set

from jobs.domain.refusals import POD, Refused, refused
from jobs.experiments.experiment import Observed, Outcome, Step, StepState, Text, Values

KEY = "pods-can-be-created"
LASTING = 30.0  # seconds that a refusal may last: a quota has room again when another pod has gone
POSSIBLE = Text("The pods can be created.", "能够创建 Pod。")
NOT_REACHED = Text("Pods of this job could not be created.", "该作业有 Pod 无法创建。")
OPERATORS_OWN = frozenset(("init-pytorch", "kubectl-delivery"))
CONTAINERS = re.compile(r'\bcontainers? ("[^"]*"(?:, "[^"]*")*)')  # as the admission of pod security lists them
NAME = re.compile(r'"([^"]*)"')
BY_WEBHOOK = re.compile(r'\bwebhook "')  # whatever it did: the API server puts its name behind

RUN_WITHOUT_ROOT = Text(
    "Launch it again with “Run without root”, or in a namespace that does not enforce this.",
    "请勾选“不以 root 运行”后重新启动，或换用一个不强制执行该标准的命名空间。",
)
IN_THE_MANIFEST = Text(
    "Give its containers the security contexts that the standard asks for, or choose a namespace without it.",
    "请在清单中为各容器设置该标准要求的 securityContext，或换用一个不强制执行该标准的命名空间。",
)
ASK_OPERATOR = Text(
    "The training operator itself adds that init container. Whoever runs the operator can give it another template "
    "(--pytorch-init-container-template-file); until then choose another namespace, or an experiment with TFJobs.",
    "该 init 容器由训练 operator 自行添加。operator 的管理员可以为它指定另一个模板"
    "（--pytorch-init-container-template-file）；在此之前，请换用其他命名空间，或选择使用 TFJob 的实验。",
)
OTHER_NAMESPACE = Text(
    "Something adds to these pods what the namespace does not allow. Ask whoever runs it, or choose another namespace.",
    "有组件在这些 Pod 中添加了该命名空间不允许的内容。请联系其管理员，或换用其他命名空间。",
)
QUOTA_USED_UP = Text(
    "The namespace's quota is used up. Ask for less, wait until something else there has ended, or have it raised.",
    "该命名空间的配额已用尽。请减少所需资源，等待其中的其他负载结束，或申请提高配额。",
)
QUOTA_WANTS_MORE = Text(
    "The namespace's quota wants containers to say more than these do. Choose another namespace, or have it changed.",
    "该命名空间的配额要求容器声明更多内容。请换用其他命名空间，或请管理员修改配额。",
)
WEBHOOK = Text(
    "An admission webhook of the cluster decides this. Ask whoever runs it, or choose another namespace.",
    "这由集群的准入 webhook 决定。请联系其管理员，或换用其他命名空间。",
)
ASK = Text("Ask whoever runs the cluster, or choose another namespace.", "请联系集群管理员，或换用其他命名空间。")


def advice(words: str, remedy: Text | None, own: Set[str] = frozenset()) -> Text:
    """What somebody can do about a refusal.

    ``remedy``: what makes pods as "restricted" asks; None where they are. ``own``: the containers of a manifest of
    somebody's own, by name: what others add to its pods, it cannot mend.
    """
    words = POD.sub("", words)  # a pod may be called anything
    if "violates PodSecurity" in words:
        named = {name for listed in CONTAINERS.findall(words) for name in NAME.findall(listed)}
        of_others = own and named and named.isdisjoint(own)
        mends = 'PodSecurity "restricted' in words or not named.isdisjoint(own)
        if remedy is not None and mends and not of_others:
            return remedy
        return OTHER_NAMESPACE if named.isdisjoint(OPERATORS_OWN) else ASK_OPERATOR
    if "exceeded quota" in words:
        return QUOTA_USED_UP
    if "failed quota" in words:
        return QUOTA_WANTS_MORE
    return WEBHOOK if BY_WEBHOOK.search(words) else ASK


def refusals(observed: Observed, lasting: float = 0.0) -> list[tuple[int, Refused]]:
    """The pods that are missing because they were refused, each with the position of its job, the longest first.

    ``lasting``: seconds for which they have been at least.
    """
    found = [(job, one) for job, state in enumerate(observed.jobs) if state is not None for one in refused(state)]
    long = [pair for pair in found if observed.known_until - pair[1].since >= lasting] if lasting else found
    return sorted(long, key=lambda pair: (pair[1].since, pair[0]))


def deciding(observed: Observed) -> frozenset[int]:
    """The positions of the jobs of which a pod has been refused for so long that nobody waits for it any more."""
    return frozenset(job for job, _one in refusals(observed, LASTING))


def step_of(values: Values, observed: Observed) -> tuple[Step, Outcome] | None:
    """The step and its outcome; None while no pod is refused."""
    found = refusals(observed)
    if not found:
        return None
    job, first = found[0]
    told = advice(first.words, None if values.get("restricted") else RUN_WITHOUT_ROOT)
    seen = Text(f"“{first.words}” {told.en}", f"“{first.words}”{told.zh}")
    state = StepState.DIFFERS if deciding(observed) else StepState.WAITING
    outcome = Outcome(state, first.since, seen, (first.event,))
    return Step(KEY, POSSIBLE, lambda _observed: outcome, LASTING, job), outcome
