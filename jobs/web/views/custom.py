"""A manifest of somebody's own: pasted or uploaded, edited, tried, launched."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from jobs.experiments import custom, manifest_text
from jobs.experiments import launch as launching
from jobs.experiments.launch import GENERAL, MANIFEST, NAMESPACE, Launch, NotLaunched
from jobs.experiments.manifest_text import MOST_BYTES, UnreadableManifest
from jobs.web.context import frame
from jobs.web.experiments.forms import CLEAN_UP, SENT, TOKEN, chosen_cluster, token_from, where_fields, who_of
from jobs.web.experiments.places import Answer, ask, kinds_of
from jobs.web.experiments.rights import refused_person, rights
from jobs.web.views.experiments import tried
from jobs.web.views.runs import where_to

TEXT, FILE = "manifest", "file"
EXAMPLE = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mine
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template:
        spec:
          containers:
            - name: pytorch
              image: busybox
              command: [sh, -c, "sleep 10; exit 138"]
              resources:
                limits: {cpu: 20m, memory: 50Mi}
"""


@never_cache
def custom_page(request: HttpRequest) -> HttpResponse:
    """GET: the form. POST: shows what was uploaded, tries it (``do=try``), or launches it (``do=launch``)."""
    if request.method != "POST":
        return _page(request, EXAMPLE)
    doing = request.POST.get("do", "show")
    try:
        text = _text(request)
    except NotLaunched as refusal:
        return _page(request, request.POST.get(TEXT, ""), refusal)
    denied = refused_person(request) if doing in ("try", "launch") else None
    if denied is not None:
        return denied
    try:
        wanted = _launch(request, text)
        if doing == "launch":
            return where_to(launching.launch(wanted))
        if doing == "try":
            tried(wanted)
    except NotLaunched as refusal:
        return _page(request, text, refusal)
    return _page(request, text, good=doing == "try")


def _text(request: HttpRequest) -> str:
    """What was uploaded, else what was typed. Raises ``NotLaunched``."""
    upload = request.FILES.get(FILE)
    if upload is None:
        return request.POST.get(TEXT, "").replace("\r\n", "\n")
    if (upload.size or 0) > MOST_BYTES:
        raise NotLaunched({MANIFEST: [_("This is longer than %(n)s kB.") % {"n": MOST_BYTES >> 10}]})
    try:
        return upload.read().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise NotLaunched({MANIFEST: [_("This file is no UTF-8 text.")]}) from None


def _launch(request: HttpRequest, text: str) -> Launch:
    """Raises ``NotLaunched``."""
    cluster, namespace = chosen_cluster(request.POST), request.POST.get(NAMESPACE, "").strip()
    try:
        objects = custom.checked(manifest_text.read(text), namespace)
    except UnreadableManifest as error:
        raise NotLaunched({MANIFEST: [str(error)]}) from None
    return Launch(
        experiment=None,
        values={},
        cluster=cluster,
        namespace=namespace,
        name=objects[0]["metadata"]["name"],
        id=token_from(request.POST.get(TOKEN, "")),
        who=who_of(request),
        clean_up=CLEAN_UP in request.POST,
        manifests=objects,
    )


def _page(request: HttpRequest, text: str, refusal: NotLaunched | None = None, *, good: bool = False) -> HttpResponse:
    data = request.POST
    cluster = chosen_cluster(data or request.GET)
    answer: Answer = ask(cluster, kinds_of(None))
    problems = dict(refusal.problems) if refusal else {}
    refused = dict(refusal.refused) if refusal else {}
    # The name stands in the manifest.
    named = [texts.pop(launching.JOB_NAME, []) for texts in (problems, refused)]
    context: dict[str, Any] = {
        "fields": where_fields(
            cluster, data.get(NAMESPACE, "") or answer.usual, "", answer, problems=problems, refused=refused
        ),
        "text": text,
        "token": token_from(data.get(TOKEN, "")) if refusal is None else uuid.uuid4(),
        "clean_up": CLEAN_UP in data if SENT in data else True,
        "problems": problems.get(MANIFEST, []) + named[0],
        "refused": refused.get(MANIFEST, []) + named[1] + refused.get(GENERAL, []),
        "general": problems.get(GENERAL, []),
        "good": good,
        "most": MOST_BYTES >> 10,
    }
    status = 400 if refusal else 200
    shown = frame(request, "experiments") | rights(request) | context
    return render(request, "experiments/custom.html", shown, status=status)
