"""A store in a bucket, over S3's protocol: the same promises as in a directory."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from salon_console import main
from salon_store import DamagedFileError, DuplicateKeyError, JournalInUseError, NotAStoreError, ResultStore, StoreError
from salon_store.leases import Lease
from salon_store.places import _work_directory, is_url, place_of
from salon_store.recording import open_journal
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

Battles = Callable[..., pl.DataFrame]
NUMBERS = count()


@pytest.fixture
def url(bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """An empty prefix of the bucket; credentials and endpoint are in the environment."""
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield f"s3://bucket/results-{next(NUMBERS)}"


def objects(url: str) -> Any:
    return place_of(url)._objects  # type: ignore[attr-defined]


def test_a_bucket_holds_a_store_like_a_directory(url: str, battles: Battles) -> None:
    store = ResultStore.open(url)
    for number in range(3):
        assert store.append("battles", battles(2, f"{number}-"), run_id="a run/α").rows_written == 2
    with store.journal("night") as journal:
        journal.add("prompts", Prompt(prompt_id="p", suite="s", text="a cat"))
    with pytest.raises(DuplicateKeyError):
        store.append("battles", battles(1, "1-"), run_id="r")
    other = ResultStore.open(url, read_only=True)
    assert other.sql("SELECT count(*) AS n FROM battles, prompts")["n"].item() == 6
    assert store.read("battles", at=2).collect().height == 4
    store.compact()
    assert store.vacuum()["battles"] == []
    assert store.verify().sound
    assert {info.table: info.rows for info in other.tables()}["battles"] == 6
    assert [change.operation for change in other.history("battles")][:2] == ["compact", "append"]
    assert DeltaTable(f"{url}/battles").version() == 4
    assert pl.scan_delta(f"{url}/battles").collect().height == 6


def test_new_files_of_a_bucket_are_written_beside_their_copies_and_those_of_killed_processes_go(
    url: str, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    store = ResultStore.open(url)
    cache = place_of(url).layout.cache
    for name, age_s in ((".new-left", 2 * 86_400), (".new-at-work", 60)):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (time.time() - age_s,) * 2)
    store.append("battles", battles(2, "a-"), run_id="r")
    assert sorted(path.name for path in cache.glob(".new-*")) == [".new-at-work"]
    assert [path.suffix for path in (cache / "battles").iterdir()] == [".parquet"], "what was put need not be downloaded"


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    """The address of Google's and Azure's object stores on loopback (``cloud_stub.py``)."""
    command = [sys.executable, str(Path(__file__).with_name("cloud_stub.py"))]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    server.kill()
    server.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_google_and_azure_hold_a_store_like_s3(
    stub: str, scheme: str, battles: Battles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if scheme == "gs":
        account = {"gcs_base_url": f"{stub}/gs", "disable_oauth": True, "client_email": "", "private_key": ""}
        (tmp_path / "account.json").write_text(json.dumps(account | {"private_key_id": ""}))
        environment = {"GOOGLE_SERVICE_ACCOUNT": str(tmp_path / "account.json"), "GOOGLE_ALLOW_HTTP": "true"}
    else:
        environment = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0"}
        environment |= {"AZURE_STORAGE_ENDPOINT": f"{stub}/az", "AZURE_ALLOW_HTTP": "true"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    address = f"{scheme}://bucket/results"
    store = ResultStore.open(address)
    for number in range(3):
        assert store.append("battles", battles(2, f"{number}-"), run_id="a run/α").rows_written == 2
    with pytest.raises(DuplicateKeyError):
        store.append("battles", battles(1, "1-"), run_id="r")
    with store.journal("night") as journal:
        journal.add("prompts", Prompt(prompt_id="p", suite="s", text="a cat"))
    there = ResultStore.open(address, read_only=True, work=tmp_path / "there")
    assert there.sql("SELECT count(*) AS n FROM battles, prompts")["n"].item() == 6
    assert there.read("battles", at=2).collect().height == 4
    store.compact()
    assert store.vacuum()["battles"] == []
    assert store.verify().sound
    name = store._tables["battles"].log.snapshot().files[0].name
    store._place.remove("battles", [name])
    with pytest.raises(DamagedFileError, match="it is missing"):
        there.sql("SELECT count(*) FROM battles")


def test_another_machine_reads_and_writes_the_same_store(url: str, battles: Battles, tmp_path: Path) -> None:
    here = ResultStore.open(url, work=tmp_path / "here")
    there = ResultStore.open(url, work=tmp_path / "there")
    here.append("battles", battles(3), run_id="r")
    assert there.read("battles").collect().height == 3
    with pytest.raises(DuplicateKeyError):
        there.append("battles", battles(1), run_id="r")
    there.append("battles", battles(3, "c"), run_id="r")
    assert here.sql("SELECT count(*) AS n FROM battles")["n"].item() == 6
    shutil.rmtree(tmp_path / "here" / ".cache")  # what is kept here are copies
    assert ResultStore.open(url, work=tmp_path / "here", read_only=True).read("battles").collect().height == 6
    shutil.rmtree(tmp_path / "here" / ".cache")
    name = here.append("battles", battles(3, "d"), run_id="r").file
    assert name is not None and (tmp_path / "here" / ".cache" / "battles" / name).is_file()  # is read without a download


def test_rows_of_a_writer_that_slept_while_another_machine_removed_what_no_version_had_are_written_again(
    url: str, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ResultStore.open(url)
    table = store._tables["battles"]
    write, written = table.write, []

    def slept(*given: Any) -> Any:
        file, facts = write(*given)
        if not written:
            store._place.remove("battles", [file.name])
            file = replace(file, modified=file.modified - 3_600_000)  # an hour ago: the shortest retention
        written.append(file.name)
        return file, facts

    monkeypatch.setattr(table, "write", slept)
    assert store.append("battles", battles(3), run_id="r").rows_written == 3
    assert len(written) == 2 and store.read("battles").collect().height == 3
    assert store.verify().sound


@pytest.mark.parametrize(
    "damage", ["other bytes", pytest.param("deleted", marks=pytest.mark.slow), pytest.param("cut", marks=pytest.mark.slow)]
)
def test_an_object_that_was_changed_is_an_error_of_the_query(url: str, battles: Battles, tmp_path: Path, damage: str) -> None:
    import obstore

    store = ResultStore.open(url, work=tmp_path / "writer")
    name = store.append("battles", battles(3), run_id="tuesday").file
    path = f"battles/{name}"
    content = bytes(obstore.get(objects(url), path).bytes())
    if damage == "deleted":
        obstore.delete(objects(url), path)
    else:
        obstore.put(objects(url), path, content[:-9] if damage == "cut" else content[:40] + b"x" + content[41:])
    reader = ResultStore.open(url, read_only=True, work=tmp_path / "reader")
    uses: list[Callable[[], object]] = [lambda: reader.read("battles"), lambda: reader.sql("SELECT count(*) FROM battles")]
    if damage != "other bytes":  # the list of tables takes names, sizes and counts from the log and the bucket's listing
        uses.append(reader.tables)
    for work in uses:
        with pytest.raises(DamagedFileError, match=f"{name}: this data file of table battles, run 'tuesday'"):
            work()
    assert reader.sql("SELECT count(*) AS n FROM runs")["n"].item() == 0
    assert [problem.kind for problem in store.verify().problems] == ["missing" if damage == "deleted" else "altered"]


@pytest.mark.parametrize(
    "damage", ["a byte", pytest.param("cut", marks=pytest.mark.slow), pytest.param("another file", marks=pytest.mark.slow)]
)
def test_a_copy_on_this_machine_that_was_changed_is_downloaded_again(
    url: str, battles: Battles, tmp_path: Path, damage: str
) -> None:
    store = ResultStore.open(url, work=tmp_path / "here")
    names = [store.append("battles", battles(3, prefix), run_id="r").file for prefix in "ab"]
    for work in ("here", "there"):  # what was written on this machine, what was downloaded
        reader = ResultStore.open(url, read_only=True, work=tmp_path / work)
        reader.read("battles")
        first, second = (tmp_path / work / ".cache" / "battles" / str(name) for name in names)
        content = first.read_bytes()
        first.unlink()
        changes = {"a byte": content[:30] + bytes([content[30] ^ 1]) + content[31:], "cut": content[:-1]}
        first.write_bytes(changes.get(damage, second.read_bytes()))
        assert sorted(reader.read("battles").collect()["battle_id"]) == ["a0", "a1", "a2", "b0", "b1", "b2"]
        assert first.read_bytes() == content


@pytest.mark.slow  # verifies every table over HTTP
def test_a_damaged_object_is_set_aside_in_the_bucket(url: str, battles: Battles, tmp_path: Path) -> None:
    import obstore

    store = ResultStore.open(url, work=tmp_path / "here")
    store.append("battles", battles(3, "a"), run_id="r")
    name = store.append("battles", battles(3, "b"), run_id="r").file
    obstore.put(objects(url), f"battles/{name}", b"x")
    (problem,) = store.verify(set_aside=True).problems
    moved = f"{url}/set-aside/battles/{name}"
    assert (problem.kind, problem.moved_to) == ("altered", moved)
    for work in ("here", "there"):
        (problem,) = ResultStore.open(url, read_only=True, work=tmp_path / work).verify().problems
        assert (problem.kind, problem.path) == ("set_aside", moved)
    obstore.put(objects(url), f"battles/{name}", b"y")
    (again, _) = store.verify(set_aside=True).problems
    assert (again.kind, again.moved_to) == ("foreign", f"{moved}.1")
    obstore.delete(objects(url), [f"set-aside/battles/{name}", f"set-aside/battles/{name}.1"])
    assert store.verify().sound and store.read("battles").collect().height == 3


@pytest.mark.slow  # verifies every table over HTTP
def test_a_broken_log_in_a_bucket_is_named_and_stops_no_other_table(url: str, battles: Battles, tmp_path: Path) -> None:
    import obstore

    store = ResultStore.open(url)
    journal = open_journal(url, "night")
    assert journal is not None
    journal.add("prompts", Prompt(prompt_id="p", suite="s", text="a cat"))
    journal.leave()
    obstore.put(objects(url), "prompts/_delta_log/00000000000000000000.json", b"x")
    assert [problem.kind for problem in store.verify().problems] == ["log"]
    store = ResultStore.open(url)  # the journal waits
    assert store.append("battles", battles(2), run_id="r").rows_written == 2
    assert len(store.journals_waiting()) == 1


def test_credentials_are_given_or_in_the_environment_and_never_stored(
    url: str, bucket: dict[str, str], battles: Battles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in bucket:
        monkeypatch.delenv(name)
    options = {name.lower(): value for name, value in bucket.items()}
    store = ResultStore.open(url, storage_options=options, work=tmp_path / "work")
    store.append("battles", battles(3), run_id="r")
    assert store.sql("SELECT count(*) AS n FROM battles")["n"].item() == 3
    for path in (tmp_path / "work").rglob("*"):
        assert not path.is_file() or b"not-a-secret" not in path.read_bytes()


def test_a_bucket_that_cannot_be_reached_is_a_store_error(url: str) -> None:
    with pytest.raises(StoreError, match="s3://no-such-bucket"):
        ResultStore.open("s3://no-such-bucket/results")
    with pytest.raises(NotAStoreError, match="no store"):
        ResultStore.open(url, create=False)
    with pytest.raises(InputError, match="a directory or a URL"):
        ResultStore.open("ftp://somewhere/results")
    assert is_url("gs://bucket/x")
    assert not is_url(Path("s3:/x"))


@pytest.mark.parametrize(
    "address",
    ["s3://KEY:hidden@bucket/x", "s3://KEY:hid/hidden@bucket/x", "az://bucket/x?sig=hidden", "https://ann:hidden@host/x"],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError) as refused:
        ResultStore.open(address)
    assert "hidden" not in str(refused.value)
    done = CliRunner().invoke(main, ["store", "ls", address], prog_name="salon")
    assert done.exit_code == 2 and "hidden" not in done.output


@pytest.mark.slow
def test_a_secret_in_an_endpoint_is_not_repeated(tmp_path: Path) -> None:
    options = {"aws_endpoint_url": "http://ann:hidden@127.0.0.1:9", "aws_allow_http": "true", "aws_region": "us-east-1"}
    options |= {"aws_access_key_id": "id", "aws_secret_access_key": "hidden"}
    with pytest.raises(StoreError, match="Generic S3 error") as refused:
        ResultStore.open("s3://bucket/x", storage_options=options, work=tmp_path)
    assert "hidden" not in str(refused.value)


@pytest.mark.slow  # one after the other, over HTTP
def test_every_store_command_takes_a_url(url: str, battles: Battles, tmp_path: Path) -> None:
    battles(4).write_parquet(tmp_path / "votes.parquet")
    commands = [
        ["init", url],
        ["import", url, "battles", str(tmp_path / "votes.parquet")],
        ["ls", url],
        ["sql", url, "SELECT count(*) AS n FROM battles", "--format", "json"],
        ["ls", url, "battles"],
        ["compact", url],
        ["vacuum", url],
        ["verify", url],
    ]
    for command in commands:
        done = CliRunner().invoke(main, ["store", *command], prog_name="salon")
        assert done.exit_code == 0, (command, done.output)
        if command[0] == "sql":
            assert json.loads(done.stdout) == [{"n": 4}]


WRITER = """
import sys
import polars as pl
from salon_store import ResultStore
url, name, work = sys.argv[1:]
store = ResultStore.open(url, work=work)
written = 0
for batch in range(8):
    ids = [f"{name}-{batch}-{row}" for row in range(20)] + [f"all-{batch}-{row}" for row in range(20)]
    rows = pl.DataFrame({"battle_id": ids}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
    )
    written += store.append("battles", rows, run_id=name, on_duplicate="skip").rows_written
print(written)
"""


@pytest.mark.slow
def test_machines_that_write_the_same_keys_at_once_write_each_key_once(url: str, tmp_path: Path) -> None:
    ResultStore.open(url)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, name, str(tmp_path / name)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ.copy(),
        )
        for name in ("ann", "bob", "eve")
    ]
    written = []
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert (process.returncode, err) == (0, "")
        written.append(int(out))
    ids = Counter(ResultStore.open(url, read_only=True).read("battles").collect()["battle_id"].to_list())
    assert set(ids.values()) == {1}
    assert len(ids) == sum(written) == 3 * 8 * 20 + 8 * 20


def test_a_holder_that_slept_while_another_took_over_leaves_the_lease_to_that_one(store: ResultStore) -> None:
    log = store._tables["runs"].log
    slept = Lease.take(log, "night", seconds=900)  # renewed in 300 s
    awake = Lease.take(log, "night", seconds=0.3)
    slept.release()
    with pytest.raises(JournalInUseError):
        Lease.take(log, "night", seconds=6)
    awake.release()
    Lease.take(log, "night", seconds=900).release()


def test_a_lease_that_is_released_while_another_machine_waits_is_taken_by_that_one(store: ResultStore) -> None:
    log = store._tables["runs"].log
    holder = Lease.take(log, "night", seconds=900)
    Timer(0.1, holder.release).start()
    Lease.take(log, "night", seconds=3).release()


def test_what_a_machine_keeps_of_a_bucket_lies_in_one_folder_whatever_ends_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert _work_directory("s3://bucket/prefix/").parent == Path("/home/ann/.local/state/salon/stores")
    assert _work_directory("s3://bucket/prefix") == _work_directory("s3://bucket/prefix/")
    assert _work_directory("s3://bucket/prefix").name == hashlib.sha256(b"s3://bucket/prefix").hexdigest()[:16]
    assert _work_directory("s3://bucket/other") != _work_directory("s3://bucket/prefix")
