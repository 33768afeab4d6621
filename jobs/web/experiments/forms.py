"""The launch form of an experiment: from a request to a launch, and back to the page with what was wrong."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from jobs.experiments.experiment import Experiment, Parameter, ParameterKind, Text
from jobs.experiments.fields import PODS as POD_PARAMETERS
from jobs.experiments.fields import RESTRICTED as OPTION
from jobs.experiments.launch import CLUSTER, GENERAL, JOB_NAME, MANIFEST, NAMESPACE, Launch, NotLaunched, Problems
from jobs.experiments.parameters import Cost, check, cost, defaults, defaults_in
from jobs.experiments.words import said
from jobs.web.experiments import without_root
from jobs.web.experiments.places import TIMEOUT, UNKNOWN, Answer, ask, cluster_names, enforced, kinds_of

TOKEN, CLEAN_UP, SENT = "token", "clean_up", "sent"
PODS = tuple(parameter.name for parameter in POD_PARAMETERS)
NUMBERS = (ParameterKind.INTEGER, ParameterKind.SECONDS, ParameterKind.EXIT_CODE)
LONGEST = 600  # characters of a field that are shown again


@dataclass
class Field:
    """One field as the page shows it. ``problems``: our sentences; ``refused``: the API server's words."""

    name: str
    label: str
    value: str
    type: str = "text"  # text, number, checkbox, select
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    help: str = ""
    found: str = ""  # what the cluster says that concerns it
    finding: str = ""  # the same for the next request, in a hidden field
    problems: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> bool:
        return bool(self.problems or self.refused)


@dataclass
class Form:
    """The page's form. ``launch`` None: what was given cannot be launched."""

    token: uuid.UUID
    sections: list[tuple[str, list[Field]]]
    clean_up: bool
    launch: Launch | None
    cost: Cost | None
    answer: Answer
    general: list[str]
    refused: list[str]


def read_form(request: HttpRequest, experiment: Experiment, refusal: NotLaunched | None = None) -> Form:
    """The form as it was sent, or with its defaults and what the address says. ``refusal``: what came of it."""
    data = request.POST if request.method == "POST" else request.GET
    token = token_from(data.get(TOKEN, "")) if refusal is None else uuid.uuid4()
    cluster = chosen_cluster(data)
    answer = ask(cluster, kinds_of(experiment))
    namespace = data.get(NAMESPACE, "").strip() or answer.usual
    found = enforced(cluster, namespace, answer)
    given = _given(data, experiment, found.level)
    checked = check(experiment, given)
    name = data.get(JOB_NAME, "").strip() or suggested(experiment.name, token)
    clean_up = CLEAN_UP in data if SENT in data else True
    launch = None
    if not checked.errors:
        launch = Launch(experiment, checked.values, cluster, namespace, name, token, who_of(request), clean_up)
    problems = _problems(checked.errors, refusal)
    refused: Problems = refusal.refused if refusal is not None else {}
    shown = defaults(experiment) | dict(checked.values) | given
    fields = [_field(one, shown[one.name], problems, refused) for one in experiment.parameters]
    for one in fields:
        if one.name == OPTION.name:
            one.found = without_root.found_words(found, experiment)
            one.finding = without_root.finding(found.level, data)
    return Form(
        token,
        [
            (_("Where"), where_fields(cluster, namespace, name, answer, problems=problems, refused=refused)),
            (_("What happens"), [one for one in fields if one.name not in PODS]),
            (_("Pods"), [one for one in fields if one.name in PODS]),
        ],
        clean_up,
        launch,
        cost(experiment, checked.values) if not checked.errors else None,
        answer,
        problems.get(GENERAL, []),
        refused.get(GENERAL, []) + refused.get(MANIFEST, []),
    )


def _given(data: Mapping[str, Any], experiment: Experiment, level: str | None) -> dict[str, str]:
    """The parameters that were sent, or stand in the address. ``level``: what the namespace enforces."""
    names = _names(experiment)
    given = {name: data[name] for name in names if name in data}
    if SENT in data:  # a box that is not ticked is not sent
        flags = [one.name for one in experiment.parameters if one.kind is ParameterKind.FLAG]
        given |= {name: "off" for name in flags if name not in data}
    box = without_root.box(data, level, sent=SENT in data)
    if box is not None and OPTION.name in names:
        given[OPTION.name] = box
    return given


def _problems(errors: Mapping[str, Text], refusal: NotLaunched | None) -> Problems:
    """By field: what is wrong with the values, then what came of sending them."""
    problems: Problems = {key: [said(text)] for key, text in errors.items()}
    for key, texts in (refusal.problems if refusal is not None else {}).items():
        problems.setdefault(key, []).extend(texts)
    return problems


def where_fields(
    cluster: str, namespace: str, name: str, answer: Answer, *, problems: Problems, refused: Problems
) -> list[Field]:
    """Cluster, namespace and name. Namespaces are chosen among those that the cluster offers, else typed."""
    names = cluster_names()
    found = []
    if len(names) > 1 or CLUSTER in problems or CLUSTER in refused:
        found.append(Field(CLUSTER, _("Cluster"), cluster, "select", tuple(names)))
    places = answer.namespaces
    if places and namespace in places:
        found.append(Field(NAMESPACE, _("Namespace"), namespace, "select", places))
    else:
        found.append(Field(NAMESPACE, _("Namespace"), namespace[:LONGEST], help=_why_no_choice(answer)))
    if name:
        found.append(Field(JOB_NAME, _("Name"), name[:LONGEST], help=_("Of the job; names of several begin with it.")))
    for one in found:
        one.problems, one.refused = problems.get(one.name, []), refused.get(one.name, [])
    return found


def _why_no_choice(answer: Answer) -> str:
    if answer.problem == UNKNOWN:
        return _("No cluster of this name is configured.")
    if answer.problem == TIMEOUT:
        return _("The cluster has not answered yet which namespaces may be used.")
    if answer.problem:
        return _("The cluster does not say which namespaces may be used: %(why)s") % {"why": answer.problem}
    if not answer.namespaces:
        return _("The account of this site may create such jobs in no namespace that is watched.")
    return _("Possible: %(names)s.") % {"names": ", ".join(answer.namespaces[:20])}


def quick_launch(request: HttpRequest, experiment: Experiment) -> Launch:
    """A launch with the defaults: one click. Raises ``NotLaunched`` where no namespace is offered."""
    cluster = chosen_cluster(request.POST)
    answer = ask(cluster, kinds_of(experiment))
    token = token_from(request.POST.get(TOKEN, ""))
    if not answer.usual:
        raise NotLaunched({NAMESPACE: [_why_no_choice(answer)]})
    name = suggested(experiment.name, token)
    values = defaults_in(experiment, enforced(cluster, answer.usual, answer).level)
    return Launch(experiment, values, cluster, answer.usual, name, token, who_of(request))


def suggested(experiment: str, token: uuid.UUID) -> str:
    """A name that nothing else has, and that is the same for a form that is sent twice."""
    return f"{experiment[:28].rstrip('-')}-{token.hex[:4]}"


def who_of(request: HttpRequest) -> str:
    return request.user.get_username()


def _names(experiment: Experiment) -> list[str]:
    return [one.name for one in experiment.parameters]


def chosen_cluster(data: Mapping[str, Any]) -> str:
    """The cluster that was chosen, else the first one."""
    return str(data.get(CLUSTER, "")) or next(iter(cluster_names()), "")


def token_from(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.uuid4()


def _field(one: Parameter, value: Any, problems: Problems, refused: Problems) -> Field:
    shown = Field(
        one.name,
        said(one.label),
        str(value)[:LONGEST],
        help=said(one.help),
        problems=problems.get(one.name, []),
        refused=refused.get(one.name, []),
    )
    if one.kind is ParameterKind.CHOICE:
        shown.type, shown.choices = "select", one.choices
    elif one.kind is ParameterKind.FLAG:
        shown.type, shown.value = "checkbox", "on" if str(value).lower() in ("on", "true", "1", "yes") else ""
    elif one.kind in NUMBERS:
        shown.type = "number"
        shown.minimum = 0 if one.minimum is None else one.minimum
        shown.maximum = 255 if one.maximum is None else one.maximum
    return shown
