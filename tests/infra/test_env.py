"""Settings from the environment: defaults, strictness, secrets from files, and the table in the documentation."""

import os
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard import data_folder, env

ROOT = Path(__file__).resolve().parents[2]


def test_defaults_need_nothing() -> None:
    values = env.read({})
    assert values["DATABASE_URL"] == f"sqlite:///{ROOT}/var/restartscope.sqlite3"
    assert values["REDIS_URL"] == "redis://127.0.0.1:6379/0"
    assert values["RESTARTSCOPE_CLUSTERS"] == (env.ClusterSource("default", "kubeconfig"),)
    assert values["RESTARTSCOPE_NAMESPACES"] == ()
    assert values["RESTARTSCOPE_ALLOWED_HOSTS"] == ("localhost", "127.0.0.1", "[::1]")
    assert values["RESTARTSCOPE_READ_ONLY"] is True
    assert values["RESTARTSCOPE_DEBUG"] is False


@pytest.mark.parametrize("setting", env.SETTINGS, ids=lambda setting: setting.name)
def test_each_setting_says_what_it_is(setting: env.Setting) -> None:
    setting.parse(setting.default)
    assert setting.unit
    assert setting.reason.endswith(".")


def test_clusters() -> None:
    values = env.read({"RESTARTSCOPE_CLUSTERS": "a=kubeconfig, b=/etc/kube/config#prod ,c=in-cluster"})
    assert values["RESTARTSCOPE_CLUSTERS"] == (("a", "kubeconfig"), ("b", "/etc/kube/config#prod"), ("c", "in-cluster"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RESTARTSCOPE_DEBUG", "maybe"),
        ("RESTARTSCOPE_DEBUG", ""),
        ("RESTARTSCOPE_READ_ONLY", "no"),
        ("RESTARTSCOPE_CLUSTERS", "prod"),
        ("RESTARTSCOPE_CLUSTERS", "prod="),
        ("RESTARTSCOPE_CLUSTERS", "Prod=kubeconfig"),
        ("RESTARTSCOPE_CLUSTERS", "a=kubeconfig,a=in-cluster"),
        ("RESTARTSCOPE_CLUSTERS", "a=kubeconfig,,b=in-cluster"),
        ("RESTARTSCOPE_NAMESPACES", "team_a"),
        ("RESTARTSCOPE_NAMESPACES", "team-a,team-a"),
        ("RESTARTSCOPE_ALLOWED_HOSTS", "https://example.org"),
        ("RESTARTSCOPE_CSRF_TRUSTED_ORIGINS", "example.org"),
        ("RESTARTSCOPE_CSRF_TRUSTED_ORIGINS", "https://example.org/path"),
        ("RESTARTSCOPE_LOG_LEVEL", "LOUD"),
        ("RESTARTSCOPE_DATA_DIR", "var"),
        ("RESTARTSCOPE_SECRET_KEY", "short"),
        ("REDIS_URL", "http://127.0.0.1"),
        ("REDIS_URL", "redis://127.0.0.1:port/0"),
        ("REDIS_URL", "redis://127.0.0.1/jobs"),
        ("REDIS_URL", "unix:relative"),
        ("DATABASE_URL", "mysql://host/name"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "postgresql://host:port/name"),
    ],
)
def test_a_wrong_value_is_named_in_one_sentence(name: str, text: str) -> None:
    with pytest.raises(env.SettingError) as caught:
        env.read({name: text})
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} must ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_a_misspelt_setting_is_refused_with_the_right_one() -> None:
    with pytest.raises(
        env.SettingError, match=r"RESTARTSCOPE_READONLY is no setting: is RESTARTSCOPE_READ_ONLY meant\?"
    ):
        env.read({"RESTARTSCOPE_READONLY": "on"})


def test_what_kubernetes_sets_beside_a_service_is_no_setting() -> None:
    env.read(
        {
            "RESTARTSCOPE_SERVICE_HOST": "10.0.0.1",
            "RESTARTSCOPE_SERVICE_PORT_HTTP": "8000",
            "RESTARTSCOPE_PORT": "tcp://10.0.0.1:8000",
            "RESTARTSCOPE_WEB_PORT_8000_TCP_ADDR": "10.0.0.1",
        }
    )


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://user:geheim@db/name\n")
    assert env.read({"DATABASE_URL_FILE": str(path)})["DATABASE_URL"] == "postgresql://user:geheim@db/name"
    with pytest.raises(env.SettingError, match="DATABASE_URL and DATABASE_URL_FILE are both set"):
        env.read({"DATABASE_URL_FILE": str(path), "DATABASE_URL": "sqlite:////tmp/x"})
    with pytest.raises(env.SettingError, match=r"REDIS_URL_FILE names .* cannot be read: No such file"):
        env.read({"REDIS_URL_FILE": str(tmp_path / "none")})
    with pytest.raises(env.SettingError, match="RESTARTSCOPE_DEBUG_FILE is no setting"):
        env.read({"RESTARTSCOPE_DEBUG_FILE": str(path)})


@pytest.mark.parametrize("name", sorted(setting.name for setting in env.SETTINGS if setting.secret))
def test_a_wrong_secret_is_not_repeated(name: str) -> None:
    with pytest.raises(env.SettingError) as caught:
        env.read({name: "geheim://geheim"[:15]})
    assert "geheim" not in str(caught.value)


def test_the_generated_key_is_one_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: data_folder.generated_secret_key(folder), range(32)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert stat.S_IMODE((folder / "secret-key").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret-key"]


STARTS = {
    "command": ["manage.py", "check"],
    "celery": ["-m", "celery", "-A", "dashboard", "beat"],
    "uvicorn": ["-m", "uvicorn", "dashboard.asgi:application", "--port", "0"],
}


@pytest.mark.parametrize("program", STARTS)
def test_a_wrong_setting_ends_any_program_at_once(program: str, tmp_path: Path) -> None:
    environ = os.environ | {"RESTARTSCOPE_CLUSTERS": "prod", "RESTARTSCOPE_DATA_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, *STARTS[program]],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr == (
        "restartscope: RESTARTSCOPE_CLUSTERS must be a list of name=source, source being kubeconfig, in-cluster or "
        "FILE[#context], not 'prod'.\n"
    )


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environ = {"PATH": os.environ["PATH"], "RESTARTSCOPE_DATA_DIR": str(tmp_path / "file" / "data")}
    run = subprocess.run(
        [sys.executable, "manage.py", "check"], env=environ, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr.startswith("restartscope: RESTARTSCOPE_DATA_DIR")
    assert "Traceback" not in run.stderr


def test_a_database_url_is_enough_for_commands(tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": f"sqlite:///{tmp_path}/a.sqlite3",
        "RESTARTSCOPE_DATA_DIR": str(tmp_path / "data"),
    }
    subprocess.run([sys.executable, "manage.py", "migrate"], env=environ, cwd=ROOT, capture_output=True, check=True)
    assert (tmp_path / "a.sqlite3").exists()


def test_the_documentation_has_every_setting_with_its_default() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*) \|$", text, re.MULTILINE))
    assert list(rows) == [setting.name for setting in env.SETTINGS]
    for setting in env.SETTINGS:
        default = setting.default.replace(str(ROOT), "<checkout>")
        assert rows[setting.name].startswith(f"`{default}`" if default else "–"), setting.name
        assert f"| {setting.unit} |" in rows[setting.name], setting.name
        assert ("_FILE" in rows[setting.name]) is setting.secret, setting.name
