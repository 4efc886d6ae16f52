"""What a full disk stops is a StoreError that blames no part, and works in the same process once there is room."""

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from salon_console import main
from salon_store import DamagedTableError, ResultStore, StoreError
from salon_store.recording import open_journal
from salon_taxonomy.records import Prompt

Full = Callable[[], "contextmanager[None]"]
pytestmark = pytest.mark.real_store


def votes(count: int, prefix: str) -> pl.DataFrame:
    return pl.DataFrame({"battle_id": [f"{prefix}{number}" for number in range(count)]}).with_columns(
        model_a=pl.lit("flux"), model_b=pl.lit("sdxl"), winner=pl.lit("tie"), rater_id=pl.lit("ann"), mode=pl.lit("public")
    )


def prompts(name: str) -> list[Prompt]:
    return [Prompt(prompt_id=f"{name}-{number}", suite="s", text="a cat " * 20) for number in range(200)]


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file can grow beyond so many bytes, whoever writes it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_from_call(call: int) -> Iterator[None]:
    """The disk is full from the given call on that needs room; removing a file still works."""
    count = 0
    make_directory = Path.mkdir

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def writing(*arguments: object, **options: object) -> object:
            nonlocal count
            if original is make_directory and Path(str(arguments[0])).is_dir():
                return original(*arguments, **options)
            count += 1
            if count >= call:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*arguments, **options)

        return writing

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "write"):
            patch.setattr(os, name, counted(getattr(os, name)))
        for name in ("replace", "rename", "write_text", "write_bytes", "mkdir"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        patch.setattr(pl.DataFrame, "write_parquet", counted(pl.DataFrame.write_parquet))
        patch.setattr(pl.LazyFrame, "sink_parquet", counted(pl.LazyFrame.sink_parquet))
        patch.setattr(DeltaTable, "create_write_transaction", counted(DeltaTable.create_write_transaction))
        yield


FULL = [
    *(pytest.param(files_up_to, size, id=f"files up to {size}") for size in (0, 2_000)),
    *(pytest.param(files_up_to, size, id=f"files up to {size}", marks=pytest.mark.slow) for size in (200, 20_000)),
    *(pytest.param(full_from_call, call, id=f"full from call {call}") for call in (1, 3, 8)),
    *(
        pytest.param(full_from_call, call, id=f"full from call {call}", marks=pytest.mark.slow)
        for call in (2, 4, 5, 6, 7, 9, 10, 11)
    ),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = ResultStore.open(tmp_path_factory.mktemp("full") / "results")
    for number in range(3):
        store.append("battles", votes(500, f"{number}-"), run_id="r")
    journal = open_journal(store.path, "night")
    assert journal is not None
    journal.add("prompts", prompts("night"))
    journal.leave()
    return store.path


@pytest.fixture
def filled(original: Path, tmp_path: Path) -> ResultStore:
    shutil.copytree(original, tmp_path / "results")
    return ResultStore.open(tmp_path / "results")


def refused(work: Callable[[], object]) -> bool:
    """Whether the work is refused, and if so in the right words."""
    try:
        work()
    except StoreError as error:
        assert not isinstance(error, DamagedTableError), error
        return True
    return False


@pytest.mark.parametrize(("full", "amount"), FULL)
def test_what_a_full_disk_stops_changes_nothing_and_works_once_there_is_room(
    filled: ResultStore, tmp_path: Path, full: Callable[[int], "contextmanager[None]"], amount: int
) -> None:
    votes(500, "file").write_parquet(tmp_path / "votes.parquet")
    works: dict[str, Callable[[], object]] = {
        "append": lambda: filled.append("battles", votes(500, "more"), run_id="r"),
        "journal": lambda: filled.journal("night").leave(),
        "new journal": lambda: filled.journal("day").leave(),
        "recording": lambda: (found := open_journal(filled.path, "evening")) is not None and found.leave(),
        "open": lambda: ResultStore.open(filled.path),
        "compact": lambda: filled.compact(),
        "set aside": lambda: filled.verify(set_aside=True),
        "vacuum": filled.vacuum,
    }
    for name, work in works.items():
        with full(amount):
            stopped = refused(work)
        if stopped or name != "append":
            assert not refused(work), name
    assert filled.verify().sound
    command = ["store", "import", str(filled.path), "battles", str(tmp_path / "votes.parquet")]
    with full(amount):
        done = CliRunner().invoke(main, command, prog_name="salon")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    if done.exit_code:
        assert "verify" not in done.stderr
        committed = ["--on-duplicate", "skip"] if "was committed" in done.stderr else []
        assert CliRunner().invoke(main, [*command, *committed], prog_name="salon").exit_code == 0
    assert filled.sql("SELECT count(*) AS n FROM battles")["n"].item() == 5 * 500
    assert filled.sql("SELECT count(*) AS n FROM prompts")["n"].item() == 200
    assert filled.journals_waiting() == ()
    ResultStore.open(filled.path)
    assert (filled.path / "catalog.duckdb").exists()


@pytest.mark.parametrize(("full", "amount"), FULL)
def test_a_journal_that_meets_a_full_disk_loses_no_acknowledged_row(
    filled: ResultStore, full: Callable[[int], "contextmanager[None]"], amount: int
) -> None:
    acknowledged = ["night"]
    with full(amount):

        def written() -> None:
            with filled.journal("later") as journal:
                for name in ("x", "y"):
                    journal.add("prompts", prompts(name))
                    acknowledged.append(name)

        refused(written)
    with filled.journal("later") as journal:
        journal.add("prompts", prompts("z"))
    filled.recover()
    stored = {name.split("-")[0] for name in filled.read("prompts").collect()["prompt_id"]}
    assert {*acknowledged, "z"} <= stored
    assert filled.read("prompts").collect().height == 200 * len(stored)
    assert filled.verify().sound
