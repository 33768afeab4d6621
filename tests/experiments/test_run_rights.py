"""deploy/rbac.yaml and deploy/rbac-experiments.yaml are exactly enough, on an API server that asks for roles."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.experiments import clusters, runs
from jobs.experiments.experiment import Act, ActKind, Experiment
from jobs.experiments.launch import NotLaunched, launch
from jobs.experiments.models import ExperimentRun, RunState
from jobs.experiments.writes import Writer, cluster_writer
from simcluster import rbac
from simcluster.kubeconfig import kubeconfig
from simcluster.resources import NAMESPACES, by_kind
from tests.experiments.small import all_run, launch_of, never, text
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "restartscope-experiments"
ADMIN = "the administrator's"

AddExperiment = Callable[..., Experiment]


@pytest.fixture
def guarded(tmp_path: Path, settings: Any) -> Iterator[LiveCluster]:
    """A cluster on which this site has its service account, and the rights of deploy/rbac.yaml."""
    live = LiveCluster(tmp_path, speed=10)
    live.options.rbac, live.options.token = True, ADMIN
    live.start()
    live.call(rbac.bootstrap, live.store)
    live.call(live.store.ensure_namespace, "team-a")
    apply(live, "rbac.yaml")
    path = "/api/v1/namespaces/restartscope/serviceaccounts/restartscope/token"
    answer = live.request("POST", path, {"spec": {}}, Authorization=f"Bearer {ADMIN}")
    live.kubeconfig.write_text(kubeconfig(live.url, answer.json()["status"]["token"]))
    settings.RESTARTSCOPE_CLUSTERS = (live.source("lab"),)
    settings.RESTARTSCOPE_READ_ONLY = False
    clusters.forget()
    yield live
    live.stop()
    clusters.forget()


def apply(live: LiveCluster, name: str, *kinds: str) -> None:
    """Of the file's objects those of these kinds, by default all."""
    for manifest in yaml.safe_load_all((ROOT / "deploy" / name).read_text(encoding="utf-8")):
        resource = by_kind(manifest["apiVersion"], manifest["kind"])
        assert resource is not None
        namespace = manifest["metadata"].get("namespace")
        if kinds and manifest["kind"] not in kinds:
            continue
        if manifest["kind"] == "Namespace":
            live.call(live.store.ensure_namespace, manifest["metadata"]["name"])
        else:
            live.call(live.store.create, resource, manifest, namespace)


def test_with_the_watchers_rights_nothing_can_be_launched(guarded: LiveCluster, catalogue: AddExperiment) -> None:
    for namespace in ("default", "team-a"):
        with pytest.raises(NotLaunched) as caught:
            launch(launch_of(catalogue(), namespace=namespace))
        assert "Possible: none." in caught.value.problems["namespace"][0]
    assert not ExperimentRun.objects.exists()


def test_only_the_namespace_with_the_rights_is_offered(guarded: LiveCluster, catalogue: AddExperiment) -> None:
    apply(guarded, "rbac-experiments.yaml")
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(catalogue(), namespace="team-a"))
    assert f"Possible: {NAMESPACE}." in caught.value.problems["namespace"][0]


DOING = {
    "delete": (Act("x", text("x"), ActKind.DELETE_POD, "runs", pod="worker-0"),),
    "evict": (Act("x", text("x"), ActKind.EVICT_POD, "runs", pod="worker-0"),),
    "suspend": (Act("x", text("x"), ActKind.SUSPEND, "runs"), Act("y", text("y"), ActKind.RESUME, "runs", 0.5)),
    "scale": (
        Act("x", text("x"), ActKind.SCALE, "runs", params={"replica_type": "Worker", "replicas": 1}),
    ),
    "again": (
        Act("x", text("x"), ActKind.DELETE_JOB, "runs"),
        Act("y", text("y"), ActKind.CREATE_AGAIN, "runs", 0.5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("doing", DOING)
def test_every_act_and_the_clean_up_are_allowed_there(
    guarded: LiveCluster, catalogue: AddExperiment, doing: str
) -> None:
    apply(guarded, "rbac-experiments.yaml")
    acts = DOING[doing]
    with Follower(guarded.source("lab")):
        run = launch(launch_of(catalogue(acts=acts, checks=(("runs", all_run), ("never", never))), namespace=NAMESPACE))

        def acted() -> bool:
            runs.carry_on(run.id)
            run.refresh_from_db()
            return len(run.acts) == len(acts) and all(one["done_at"] for one in run.acts)

        wait_until(acted, what=lambda: (run.trouble, run.detail, run.acts))
    assert [one["error"] for one in run.acts] == [""] * len(acts)
    runs.ask_for_clean_up(run, "ann")
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert (run.state, run.trouble, run.cleaned_at is None) == (RunState.STOPPED, "", False)


@pytest.fixture
def site(guarded: LiveCluster) -> Iterator[Writer]:
    """This site's account on the guarded cluster."""
    with cluster_writer(guarded.source("lab")) as writer:
        yield writer


def test_an_account_that_may_not_list_namespaces_is_offered_those_it_knows(
    guarded: LiveCluster, site: Writer, settings: Any
) -> None:
    assert site.namespaces() is None
    settings.RESTARTSCOPE_NAMESPACES = ("team-a",)
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(None, manifests=(), namespace="team-b"))
    assert "team-a" in caught.value.problems["namespace"][0]


def test_what_a_namespace_enforces_may_be_read_where_jobs_may_be_created(guarded: LiveCluster, site: Writer) -> None:
    """Without the right to list namespaces."""
    apply(guarded, "rbac-experiments.yaml", "Namespace", "Role", "RoleBinding")
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    guarded.call(guarded.store.patch_merge, NAMESPACES, None, NAMESPACE, {"metadata": {"labels": labels}})
    assert site.namespaces() is None
    assert clusters.pod_security([NAMESPACE, "team-a"], site) == {NAMESPACE: "restricted"}
