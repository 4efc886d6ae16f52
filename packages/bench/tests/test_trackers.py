"""The numbers of runs in experiment trackers, each with its own library where that is installed; nothing is sent."""

import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from verdict_store import VerdictStore

from salon_bench.analysis import trackers
from salon_bench.analysis.trackers import TRACKERS, TrackedRun, log_to_mlflow, log_to_wandb, tracked_runs
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


def test_groups_whose_names_no_tracker_takes_keep_numbers_of_their_own(tmp_path: Path) -> None:
    made = VerdictStore(tmp_path)
    values = {(group, "p", "value"): float(number) for number, group in enumerate(("plain", "人物", "风景", "a(b", "a)b"), 1)}
    made.run("signs", values, suite="inspect_ai:cats")
    (run,) = tracked_runs(made.path, ["signs"])
    groups = {name: value for name, value in run.numbers.items() if name.startswith("value/") and "/all" not in name}
    assert sorted(groups.values()) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert "value/plain" in groups and all(name.isascii() for name in groups)


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
    client.update_run(found.info.run_id, status="RUNNING")  # as where the logging was interrupted
    log_to_mlflow(runs, tmp_path, "salon")
    again = client.search_runs([client.get_experiment_by_name("salon").experiment_id])
    assert sorted(run.info.status for run in again) == ["FINISHED", "RUNNING"]


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


@pytest.mark.parametrize("count", [0, 1, 1000, 2500])
def test_mlflow_gets_every_number_once_in_batches_that_it_takes_and_the_facts_with_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """With a stand-in for the library, which only CI's slow tests have."""
    calls: list[tuple[str, dict[str, object]]] = []

    class Client:
        def __init__(self, tracking_uri: str) -> None:
            calls.append(("client", {"uri": tracking_uri}))

        def get_experiment_by_name(self, name: str) -> None:
            return None

        def create_experiment(self, name: str) -> str:
            return f"experiment {name}"

        def search_runs(self, experiments: list[str], query: str) -> list[str]:
            assert "attributes.status = 'FINISHED'" in query, "one that was interrupted lacks numbers"
            return ["there"] if "'old'" in query else []

        def create_run(self, experiment: str, **options: object) -> SimpleNamespace:
            calls.append(("run", {"experiment": experiment, **options}))
            return SimpleNamespace(info=SimpleNamespace(run_id="r1"))

        def log_batch(self, run_id: str, **options: object) -> None:
            calls.append(("batch", {"run": run_id, **options}))

        def set_terminated(self, run_id: str, end_time: int) -> None:
            calls.append(("end", {"run": run_id, "at": end_time}))

    entities = SimpleNamespace(Metric=lambda *parts: parts, Param=lambda *parts: parts)
    library = {"mlflow": SimpleNamespace(MlflowClient=Client, MlflowException=OSError), "mlflow.entities": entities}
    monkeypatch.setattr(trackers, "_library", lambda name, extra: library[name])
    numbers = {f"n{place}": float(place) for place in range(count)}
    runs = [TrackedRun("ours", "new", {"model": "m"}, numbers, 1234), TrackedRun("ours", "old", {}, {"a": 1.0}, 5)]
    log_to_mlflow(runs, tmp_path / "log", "salon")
    [client, run, *batches, end] = calls
    assert client == ("client", {"uri": (tmp_path / "log" / "mlruns").as_uri()}) and end == ("end", {"run": "r1", "at": 1234})
    tags = {"salon.key": "new", "mlflow.runName": "ours"}
    assert run == ("run", {"experiment": "experiment salon", "start_time": 1234, "tags": tags})
    logged = [metric for _, batch in batches for metric in batch["metrics"]]
    assert logged == [(f"n{place}", float(place), 1234, 0) for place in range(count)]
    assert [batch["params"] for _, batch in batches] == [[("model", "m")], *[[]] * (len(batches) - 1)]
    assert len(batches) == max(1, -(-count // trackers._BATCH)) and all(len(each["metrics"]) <= 1000 for _, each in batches)
