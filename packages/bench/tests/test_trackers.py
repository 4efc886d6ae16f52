"""The numbers of runs in experiment trackers, each with its own library where that is installed; nothing is sent."""

import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from verdict_store import VerdictStore

from salon_bench.analysis.trackers import TRACKERS, log_to_mlflow, log_to_wandb, tracked_runs
from salon_console import main
from salon_taxonomy.errors import InputError

HOSTILE = "our model <b> é/\u202e"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = VerdictStore(tmp_path_factory.mktemp("runs"))
    values = {("style", f"p{place}", axis): 5.0 + place for place in range(3) for axis in ("alignment", "aesthetic")}
    made.run("one", values, subject=HOSTILE, suite="prism")
    return made.path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection leaves the machine."""
    connect = socket.socket.connect

    def checked(self: socket.socket, address: object) -> None:
        assert isinstance(address, str | bytes) or str(address[0]) in ("127.0.0.1", "::1", "localhost"), address  # type: ignore[index]
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", checked)


def test_a_run_has_every_number_with_its_interval_and_its_facts(store: Path) -> None:
    (run,) = tracked_runs(store, ["one", "one"])
    assert (run.facts["model"], run.facts["suite"], run.facts["run"]) == (HOSTILE, "prism", "one")
    assert run.numbers["alignment/style"] == 60.0
    assert "alignment/style.ci_low" not in run.numbers, "an interval that is not known is no number"
    assert run.numbers["scored"] == 6.0
    assert all(name.isascii() for name in run.numbers)
    assert tracked_runs(store, ["one"])[0].key == run.key
    with pytest.raises(InputError, match="name a run"):
        tracked_runs(store, [])


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_mlflow_has_each_run_once(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "false")
    with pytest.raises(InputError, match="Set MLFLOW_ALLOW_FILE_STORE=true"):
        log_to_mlflow(tracked_runs(store, ["one"]), tmp_path, "salon")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    runs = tracked_runs(store, ["one"])
    for _ in range(2):
        log_to_mlflow(runs, tmp_path, "salon")
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    (found,) = client.search_runs([client.get_experiment_by_name("salon").experiment_id])
    assert found.data.metrics == pytest.approx(dict(runs[0].numbers))
    assert found.data.params == dict(runs[0].facts)
    assert found.info.status == "FINISHED"


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_wandb_writes_a_run_that_can_be_synced_later(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    runs = tracked_runs(store, ["one"])
    log_to_wandb(runs, tmp_path / "out", "salon")
    (folder,) = (tmp_path / "out" / "wandb").glob("offline-run-*")
    (written,) = folder.glob(f"run-{runs[0].key}.wandb")
    assert b"alignment/style" in written.read_bytes()


def test_the_command_names_the_extra_that_is_missing(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installs = {"mlflow": "pip install mlflow-skinny", "wandb": "uv pip install './packages/bench[wandb]'"}
    for name in TRACKERS:
        for module in [each for each in sys.modules if each.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
        words = ["results", "log", "one", "--store", store, "--to", name, "--folder", tmp_path / name]
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert (done.exit_code, installs[name] in done.stderr) == (2, True), done.output
        assert not (tmp_path / name).exists()


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_command_logs_and_says_where(store: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    words = ["results", "log", "one", "--store", str(store), "--to", "mlflow", "--folder", str(tmp_path)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "mlflow ui --backend-store-uri" in done.stderr and (tmp_path / "mlruns").is_dir()
