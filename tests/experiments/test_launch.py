"""Launches against a real (simulated) API server: what is refused, what is created, what is left behind."""

from collections.abc import Callable
from typing import Any

import pytest

from jobs.domain.kinds import BY_RESOURCE
from jobs.experiments import launch as launching
from jobs.experiments import runs
from jobs.experiments.labels import OWNER, RUN
from jobs.experiments.launch import NotLaunched, launch
from jobs.experiments.models import ExperimentAction, ExperimentObject, ExperimentRun, RunState, Trouble
from jobs.experiments.writes import Away, Refused, Writer
from simcluster.options import parse_forbidden
from simcluster.resources import PODS, RESOURCEQUOTAS, by_plural
from tests.experiments.conftest import expire_claims
from tests.experiments.small import launch_of, small, tfjob
from tests.support.threads import all_at_once
from tests.watch.live import LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

TFJOBS = BY_RESOURCE["tfjobs.kubeflow.org"]


def jobs_of(cluster: LiveCluster) -> list[dict[str, Any]]:
    resource = by_plural("kubeflow.org", "tfjobs")
    assert resource is not None
    return cluster.call(cluster.store.list, resource)


def quota(cluster: LiveCluster, **hard: str) -> None:
    limits = {name.replace("_", "/", 1).replace("_", "."): value for name, value in hard.items()}
    body = {"metadata": {"name": "small"}, "spec": {"hard": limits}}
    cluster.call(cluster.store.create, RESOURCEQUOTAS, body, "default")


def test_what_is_created_is_labelled_and_written_down(cluster: LiveCluster) -> None:
    run = launch(launch_of(small("small")))
    assert (run.state, run.who, run.experiment) == (RunState.RUNNING, "ann", "small")
    (job,) = jobs_of(cluster)
    assert job["metadata"]["labels"][RUN] == str(run.id)
    assert job["metadata"]["annotations"][OWNER] == "ann"
    (row,) = run.created.all()
    assert row.uid == job["metadata"]["uid"]
    wait_until(lambda: len(cluster.call(cluster.store.list, PODS)) == 2)
    pods = cluster.call(cluster.store.list, PODS)
    assert {pod["metadata"]["labels"][RUN] for pod in pods} == {str(run.id)}
    assert [(one.who, one.what) for one in ExperimentAction.objects.all()] == [("ann", "create")]


def test_a_double_click_is_one_run(cluster: LiveCluster) -> None:
    wanted = launch_of(small("small"))
    found = all_at_once(*[lambda: launch(wanted)] * 3)
    assert len({run.id for run in found}) == 1
    assert len(jobs_of(cluster)) == 1
    assert ExperimentRun.objects.count() == 1


def test_two_launches_of_one_name_are_one_run_and_a_clear_message(cluster: LiveCluster) -> None:
    def attempt() -> Any:
        try:
            return launch(launch_of(small("small")))
        except NotLaunched as error:
            return error

    found = all_at_once(attempt, attempt)
    errors = [one for one in found if isinstance(one, NotLaunched)]
    assert len(errors) == 1
    assert "name" in errors[0].problems | errors[0].refused
    (job,) = jobs_of(cluster)
    (run,) = ExperimentRun.objects.filter(state=RunState.RUNNING)
    assert job["metadata"]["labels"][RUN] == str(run.id)


def test_a_name_that_a_foreign_job_has_is_refused_in_the_servers_words(cluster: LiveCluster) -> None:
    cluster.call(cluster.cluster.apply, tfjob("mine", "default"))
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small")))
    assert caught.value.refused == {"name": ['tfjobs.kubeflow.org "mine" already exists']}
    assert not ExperimentRun.objects.exists()


def test_a_site_that_only_reads_launches_nothing(cluster: LiveCluster, settings: Any) -> None:
    settings.RESTARTSCOPE_READ_ONLY = True
    with pytest.raises(NotLaunched, match="RESTARTSCOPE_READ_ONLY=off"):
        launch(launch_of(small("small")))
    assert jobs_of(cluster) == []


HOSTILE = ["", "-a", "a-", "A", "a b", "a/../b", "a\n", "<b>", "a" * 41, "é", "a.b", "..", "1a", "a?dryRun=All"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_are_no_dns_labels_are_named(cluster: LiveCluster, name: str) -> None:
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small"), name=name, namespace=name.replace("1a", "_")))
    assert "name" in caught.value.problems
    assert jobs_of(cluster) == []
    assert not ExperimentRun.objects.exists()


def test_an_unknown_cluster_is_named(cluster: LiveCluster) -> None:
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small"), cluster="none"))
    assert list(caught.value.problems) == ["cluster"]


@pytest.mark.parametrize("namespace", ["nowhere", "kube-system"])
def test_a_namespace_in_which_nothing_may_be_created_is_named(cluster: LiveCluster, namespace: str) -> None:
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small"), namespace=namespace))
    assert list(caught.value.problems) == ["namespace"]
    assert "Possible: default." in caught.value.problems["namespace"][0]


def test_an_account_without_the_right_is_told_so(cluster: LiveCluster) -> None:
    cluster.options.forbidden = parse_forbidden(["tfjobs.kubeflow.org:create"])
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small")))
    assert "may not be created" in caught.value.problems["namespace"][0]
    assert jobs_of(cluster) == []


def test_a_namespace_that_vanished_is_told_in_the_servers_words(cluster: LiveCluster) -> None:
    wanted = launch_of(small("small"), namespace="gone")
    cluster.call(cluster.store.ensure_namespace, "gone")
    launch(launch_of(small("small"), namespace="gone", name="first"))  # its namespaces are known now
    namespaces = by_plural("", "namespaces")
    cluster.call(cluster.store.delete, namespaces, None, "gone")
    with pytest.raises(NotLaunched) as caught:
        launch(wanted)
    assert "gone" in str(caught.value)


def test_a_quota_is_told_in_the_servers_words(cluster: LiveCluster) -> None:
    quota(cluster, count_tfjobs_kubeflow_org="0")
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small")))
    assert "exceeded quota: small" in caught.value.refused[""][0]
    assert not ExperimentRun.objects.exists()


def test_a_launch_that_fails_half_way_leaves_nothing(cluster: LiveCluster) -> None:
    """Each of two jobs passes the dry run; together they exceed the quota."""
    quota(cluster, count_tfjobs_kubeflow_org="1")
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small", jobs=2)))
    assert "exceeded quota" in str(caught.value)
    assert jobs_of(cluster) == []
    run = ExperimentRun.objects.get()
    assert (run.state, run.trouble) == (RunState.FAILED, Trouble.REFUSED)
    assert run.cleaned_at is not None
    assert [one.what for one in ExperimentAction.objects.order_by("id")] == ["create", "launch", "delete"]


def test_a_wrong_number_is_refused_beside_its_field(cluster: LiveCluster) -> None:
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small"), values={"workers": -1}))
    assert list(caught.value.refused) == ["workers"]


def test_nobody_takes_more_than_their_share(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "RUNS_EACH", 1)
    monkeypatch.setattr(launching, "RUNS", 2)
    launch(launch_of(small("small"), name="one"))
    for name, who, limit in (("two", "ann", "1 "), ("three", "bob", ""), ("four", "eve", "2 ")):
        if not limit:
            launch(launch_of(small("small"), name=name, who=who))
            continue
        with pytest.raises(NotLaunched, match=f"^{limit}runs are under way"):
            launch(launch_of(small("small"), name=name, who=who))
    assert len(jobs_of(cluster)) == 2


def test_a_cluster_that_does_not_answer_is_named(cluster: LiveCluster) -> None:
    cluster.down()
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(small("small")))
    assert "refuses connections" in caught.value.problems["cluster"][0]
    assert not ExperimentRun.objects.exists()


def test_an_answer_that_was_lost_leaves_nothing_behind(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object was created, but nobody heard of it, and then the cluster was away for a while."""
    create = Writer.create

    def lost(self: Writer, manifest: Any, namespace: str, *, dry_run: bool = False, strict: bool = False) -> Any:
        answer = create(self, manifest, namespace, dry_run=dry_run, strict=strict)
        if dry_run:
            return answer
        cluster.down()
        raise Away("it went silent")

    monkeypatch.setattr(Writer, "create", lost)
    with pytest.raises(NotLaunched, match="it went silent"):
        launch(launch_of(small("small")))
    run = ExperimentRun.objects.get()
    assert (run.state, run.cleaned_at) == (RunState.FAILED, None)
    assert len(jobs_of(cluster)) == 1
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert (run.trouble, run.cleaned_at) == (Trouble.CLEAN_AWAY, None)
    cluster.up()
    runs.carry_on(run.id)
    assert jobs_of(cluster) == []
    assert ExperimentRun.objects.get().cleaned_at is not None


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("sent", [False, True])
def test_a_launch_whose_process_died_is_undone(
    cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch, sent: bool
) -> None:
    """Before the object was sent, or after, without its UID being written down."""
    create = Writer.create

    def killed(self: Writer, manifest: Any, namespace: str, *, dry_run: bool = False, strict: bool = False) -> Any:
        if dry_run or sent:
            answer = create(self, manifest, namespace, dry_run=dry_run, strict=strict)
        if not dry_run:
            raise Killed
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "create", killed)
        with pytest.raises(Killed):
            launch(launch_of(small("small")))
    run = ExperimentRun.objects.get()
    assert (run.state, ExperimentObject.objects.get().uid) == (RunState.LAUNCHING, "")
    runs.carry_on(run.id)
    assert ExperimentRun.objects.get().state == RunState.LAUNCHING  # it may still be at it
    ExperimentRun.objects.update(created_at=run.created_at - runs.LAUNCH_SECONDS)
    expire_claims()
    assert runs.carry_all_on() == 1
    run.refresh_from_db()
    assert (run.state, run.trouble) == (RunState.FAILED, Trouble.LAUNCH_DIED)
    assert run.cleaned_at is not None
    assert jobs_of(cluster) == []


def test_what_only_a_simulated_cluster_can_do_is_not_tried_on_another(
    cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = small("small", simulated_only=True)
    monkeypatch.setattr(Writer, "is_simulated", lambda _self: False)
    with pytest.raises(NotLaunched) as caught:
        launch(launch_of(experiment))
    assert list(caught.value.problems) == ["cluster"]


def test_a_manifest_of_ones_own_is_launched_with_the_same_label(cluster: LiveCluster) -> None:
    run = launch(launch_of(None, manifests=(tfjob("mine", "default"),)))
    (job,) = jobs_of(cluster)
    assert job["metadata"]["labels"][RUN] == str(run.id)
    assert run.experiment == ""


# --- what is asked of the API server


def test_a_patch_is_for_one_uid_alone(cluster: LiveCluster, writer: Writer) -> None:
    made = cluster.call(cluster.cluster.apply, tfjob("mine", "default"))
    change = {"spec": {"runPolicy": {"suspend": True}}}
    with pytest.raises(Refused) as caught:
        writer.patch(TFJOBS, "default", "mine", "another", change)
    assert caught.value.code == 409
    writer.patch(TFJOBS, "default", "mine", made["metadata"]["uid"], change)
    job = writer.get(TFJOBS, "default", "mine")
    assert job is not None
    assert job["spec"]["runPolicy"]["suspend"] is True


def test_a_refusal_has_the_servers_words_and_fields(writer: Writer) -> None:
    wrong = tfjob("mine", "default", policy="Sometimes")
    with pytest.raises(Refused) as caught:
        writer.create(wrong, "default", dry_run=True)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    cause = caught.value.causes[0]
    assert cause.field == "spec.tfReplicaSpecs.Worker.restartPolicy"
    assert 'Unsupported value: "Sometimes"' in cause.message


def test_a_real_cluster_is_not_taken_for_a_simulated_one(start_bare: Callable[[], Writer], writer: Writer) -> None:
    assert writer.is_simulated()
    assert not start_bare().is_simulated()


@pytest.fixture
def start_bare(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Writer]:
    """A writer whose API server knows no control API."""

    def start() -> Writer:
        def read(path: str, _query: Any) -> Any:
            raise Refused(404, "NotFound", "the server could not find the requested resource")

        bare = Writer(writer._transport)
        monkeypatch.setattr(bare, "_read", read)
        return bare

    return start
