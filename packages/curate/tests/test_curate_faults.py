"""Faults: a disk that is full at any moment, and kills of drivers and workers at random moments, renames included."""

import contextlib
import csv
import errno
import fcntl
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import alive, drawn, made, tree, workers_of
from PIL import Image

from salon_console import main
from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.dataset import MANIFEST, DataSet, Picture
from salon_curate.engine import inline
from salon_curate.files import publish
from salon_curate.importing import import_pictures
from salon_curate.judging import journal_path, judge_stage, read_journal
from salon_curate.measures import look
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.running import run, verify
from salon_synthetic import PixelJudge
from salon_synthetic.videos import Shot, write_shots
from salon_taxonomy.errors import StorageError

PIPELINE_TEXT = """
[[stage]]
use = "look"
[[stage]]
use = "duplicates"
[[stage]]
ask = "agreement"
judge = "pixels:"
[selection.v1]
sharp = "sharpness >= 1"
agrees = "agrees"
"""


def steps(folder, source, answers, out):
    yield "import", folder, source, "--shard-rows", 12
    yield "run", folder, "--engine", "inline", "--quiet"
    yield "yield", folder, "--sweep", "sharpness", "--page", out
    yield "select", folder, "--name", "v1", "--selection", "v1"
    yield "audit", "sample", folder, "--selection", "v1", "--name", "people", "--per-stratum", 5
    yield "audit", "score", folder, "people", answers
    yield "release", folder, "--selection", "v1", "--name", "v1", "--audit", "people"


@contextlib.contextmanager
def files_of_at_most(size):
    """Every write beyond this size of a file fails, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_every_command_names_a_full_disk_and_the_same_command_continues_to_the_same_bytes(tmp_path):
    source = drawn(tmp_path / "in", 3)
    found = {}
    for name in ("calm", "disturbed"):
        folder = tmp_path / name / "birds"
        DataSet.create(folder)
        (folder / PIPELINE).write_text(PIPELINE_TEXT)
        answers = tmp_path / name / "answers.csv"
        refused = set()
        for step in steps(folder, source, answers, tmp_path / name / "page.html"):
            words = [str(each) for each in step]
            if step[1] == "score":
                keys = [line["key"] for line in csv.DictReader((folder / "audits" / "people" / "sheet.csv").open())]
                answers.write_text("key,rater,accept\n" + "".join(f"{key},ann,yes\n" for key in keys))
            for size in (0, 1000, 20_000) if name == "disturbed" else ():
                with files_of_at_most(size):
                    done = CliRunner().invoke(curate, words)
                if done.exit_code == 0:
                    break
                assert isinstance(done.exception, StorageError), (words, size, done.exception)
                assert "run the same command again" in str(done.exception)
                refused.add(" ".join(words[:2]).removesuffix(f" {folder}"))
            else:
                done = CliRunner().invoke(curate, words)
                assert done.exit_code == 0, (words, done.output, done.exception)
        assert len(refused) == (7 if name == "disturbed" else 0), refused
        found[name] = {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*"))
                       if path.is_file() and not {"journals", "costs.jsonl", "cache"} & set(path.parts)}  # fmt: skip
    assert found["calm"] == found["disturbed"]


REFUSALS = {
    errno.ENOSPC: "Free the disk",
    errno.EDQUOT: "Free the disk",
    errno.EROFS: "writable",
    errno.EACCES: "writable",
    errno.EIO: "Check",
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_disk_that_is_full_or_read_only_is_named_with_its_remedy_and_the_same_command_continues(tmp_path, code, monkeypatch):
    """Python's own writers and polars report a refusal in two ways; both become one error."""
    path = tmp_path / "columns" / "part"
    for error in (OSError(code, os.strerror(code), str(path)), pl.exceptions.ComputeError(f"refused (os error {code})")):
        with pytest.raises(StorageError) as found:
            publish(path, lambda temporary, error=error: (_ for _ in ()).throw(error))
        assert all(words in str(found.value) for words in (str(path), os.strerror(code), REFUSALS[code], "same command again"))
        assert list(path.parent.iterdir()) == []
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    judge = PixelJudge()
    stages = [look, judge_stage(asks.agreement(), judge)]
    real, left = os.open, []

    def refusing(name, flags, *more, **settings):
        if flags & os.O_CREAT and str(name).startswith(str(dataset.folder)):
            left.append(name)
            raise OSError(code, os.strerror(code), str(name))
        return real(name, flags, *more, **settings)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(StorageError, match=f"{REFUSALS[code]}.*same command again"):
        run(dataset, stages, engine=inline)
    assert left
    monkeypatch.undo()
    assert run(dataset, stages, engine=inline).set_aside == () and verify(dataset, stages) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_named_before_a_judge_is_asked(tmp_path, code, monkeypatch):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    asked = []

    class Asked(PixelJudge):
        async def ask(self, question):
            asked.append(question)
            return await super().ask(question)

    def refusing(descriptor, operation):
        raise OSError(code, os.strerror(code))

    stages = [look, judge_stage(asks.agreement(), Asked())]
    monkeypatch.setattr(fcntl, "flock", refusing)
    with pytest.raises(
        StorageError, match=r"journals/agreement/00000.jsonl: cannot be locked .*with locks.*same command again"
    ):
        run(dataset, stages, engine=inline)
    assert asked == []
    monkeypatch.undo()
    assert run(dataset, stages, engine=inline).set_aside == () and len(asked) == dataset.rows


KILLED_AT_RENAME = """
import os, pathlib, random
CHANCE, LOG = float(os.environ.get("KILL_AT_RENAME", "0")), os.environ.get("RENAMES")
real, chance = pathlib.Path.replace, random.Random(os.urandom(8))

def replace(self, target):
    if chance.random() < CHANCE:
        os.kill(os.getpid(), 9)
    found = real(self, target)
    if LOG and "columns" in pathlib.Path(target).parts:
        with open(LOG, "a") as log:
            log.write(pathlib.Path(target).name + "\\n")
    if chance.random() < CHANCE:
        os.kill(os.getpid(), 9)
    return found

pathlib.Path.replace = replace
"""
DRIVER = '''
import asyncio, hashlib, os, random, sys
from pathlib import Path
from salon_curate import DataSet, judge_stage, look, run
from salon_curate.asks import quality
from salon_curate.clips import watch
from salon_curate.duplicates_and_splits import duplicates
from salon_taxonomy.protocols import Reply
from salon_taxonomy.records import CallStatus

FAULTS, LOG = float(os.environ.get("FAULTS", "0")), os.environ["PAID"]
chance = random.Random(os.urandom(8))

class Mock:
    """Answers by the question's digest: most pass, some fail, some write nonsense; at random it gives no reply at all."""
    name = version = "mock-1"
    async def ask(self, question):
        await asyncio.sleep(0)
        if chance.random() < FAULTS:
            return Reply("", CallStatus.TIMEOUT, error="no byte in 30 s")
        request = question.request_sha256()
        with open(LOG, "a") as log:
            log.write(request + "\\n")
        number = int(request[:4], 16)
        if number % 50 == 0:
            return Reply("Certainly! I would say it is fine.", version=self.version)
        faults = '["blur"]' if number % 5 == 0 else "[]"
        return Reply('{"faults": %s, "acceptable": true}' % faults, version=self.version)

stages = [look, watch, duplicates, judge_stage(quality(), Mock(), concurrency=8)]
found = run(DataSet.open(Path(sys.argv[1])), stages, workers=2)
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(found.set_aside), peak)
sys.exit(1 if found.set_aside else 0)
'''


CLIP_STAGES = "".join(f'[[stage]]\nuse = "{name}"\n' for name in ("look", "watch", "stretches", "cut", "duplicates"))
SALON = str(Path(sys.executable).with_name("salon"))


def clips(folder: Path, count: int) -> Path:
    """A folder of clips, a fifth of them with sound; of every twenty two begin alike, one is cut off and one is none."""
    folder.mkdir()
    for number in range(count):
        path, seed = folder / f"c{number:05d}.mp4", number - 1 if number % 20 == 9 else number
        larger = {"size": (160, 120), "tone": (0.6, -20.0)} if number % 5 == 0 else {"size": (64, 48)}
        write_shots(path, [Shot(0.4, seed), Shot(0.4, number + 1)], **larger)
        if number % 20 in (4, 13):
            path.write_bytes(path.read_bytes()[:-300] if number % 20 == 4 else b"prose")
    return folder


def killed(words: list[str], environment: dict[str, str], wait) -> bool:
    """Start a command in a process group of its own, and kill all of it after ``wait(process)``; false where it had ended."""
    process = subprocess.Popen(
        words, start_new_session=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    wait(process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    errors = process.communicate(timeout=120)[1]
    assert process.returncode in (0, -9), errors.decode()
    return process.returncode == -9


def hidden(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".*") if path.name != ".locks"]


@pytest.mark.parametrize(
    ("count", "kills"), [pytest.param(60, 3, marks=pytest.mark.slow), pytest.param(600, 100, marks=pytest.mark.study)],
    ids=["few", "many"],
)  # fmt: skip
@pytest.mark.timeout(0)
def test_a_run_over_clips_that_is_killed_again_and_again_leaves_the_bytes_of_one_that_is_not(tmp_path, count, kills):
    """Prints what it measured (``-s``)."""
    pytest.importorskip("av")
    calm, disturbed, temporary = tmp_path / "calm", tmp_path / "disturbed", tmp_path / "temporary"
    dataset = DataSet.create(calm, "clips")
    import_pictures(dataset, clips(tmp_path / "clips", count), shard_rows=6)
    (calm / PIPELINE).write_text(CLIP_STAGES)
    shutil.copytree(calm, disturbed)
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run_words = [SALON, "curate", "run", "--workers", "2", "--quiet"]
    began = time.monotonic()
    subprocess.run([*run_words, str(calm)], check=True, capture_output=True, env=environment)
    undisturbed = time.monotonic() - began
    parts, draw = len(tree(calm, "columns")), random.Random(kills)
    deaths = starts = rounds = 0

    def wait(process):
        enough = len(tree(disturbed, "columns")) + draw.uniform(0, parts / 20)
        while process.poll() is None and len(tree(disturbed, "columns")) < enough:
            time.sleep(draw.uniform(0, 0.05))
        time.sleep(draw.uniform(0, 0.3))

    while deaths < kills:
        starts += 1
        deaths += killed([*run_words, str(disturbed)], environment, wait)
        now, before = tree(disturbed, "columns"), tree(calm, "columns")
        assert now.items() <= before.items(), "no part is half written or another one"
        if len(now) == parts:
            rounds += 1
            assert verify(DataSet.open(disturbed), read_pipeline(disturbed / PIPELINE, environment={}).stages) == []
            shutil.rmtree(disturbed / "columns")
    subprocess.run([*run_words, str(disturbed)], check=True, capture_output=True, env=environment)
    assert tree(disturbed, "columns") == tree(calm, "columns") and tree(disturbed, "shards") == tree(calm, "shards")
    assert verify(DataSet.open(disturbed), read_pipeline(disturbed / PIPELINE, environment={}).stages) == []
    assert hidden(disturbed) == [] and list(temporary.iterdir()) == []
    took = time.monotonic() - began
    print(f"\n{count} clips, {parts} parts in {undisturbed:.0f} s; {deaths} kills in {starts} starts, {rounds} rounds")  # noqa: T201
    print(f"{took:.0f} s in all; the bytes of the undisturbed run, none beside them")  # noqa: T201


@pytest.mark.parametrize("kills", [pytest.param(2, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.study)])
@pytest.mark.timeout(0)
def test_an_import_of_edits_that_is_killed_adds_all_or_nothing(tmp_path, kills):
    """Prints what it measured (``-s``)."""
    rows = []
    (tmp_path / "in").mkdir()
    for number in range(240):
        for role in ("before", "after"):
            (tmp_path / "in" / f"{number}-{role}.png").write_bytes(noise(number * 2 + (role == "after")))
        rows.append({"key": f"e{number}", "prompt": "more", "source": f"{number}-before.png", "image": f"{number}-after.png"})
    table = tmp_path / "in" / "edits.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    calm, disturbed = tmp_path / "calm" / "edits", tmp_path / "disturbed" / "edits"
    words = ["--edited", "source", "--shard-rows", "8"]
    DataSet.create(calm)
    began = time.monotonic()
    subprocess.run([SALON, "curate", "import", str(calm), str(table), *words], check=True, capture_output=True)
    undisturbed = time.monotonic() - began
    whole, draw, deaths, starts, partial = tree(calm, "shards"), random.Random(kills), 0, 0, 0
    DataSet.create(disturbed)

    def wait(process):
        time.sleep(draw.uniform(0.3, 1.1) * undisturbed)

    while deaths < kills:
        starts += 1
        deaths += killed([SALON, "curate", "import", str(disturbed), str(table), *words], dict(os.environ), wait)
        opened = DataSet.open(disturbed)
        assert opened.rows in (0, len(rows)) and verify(opened, []) == []
        partial += opened.rows == 0 and (disturbed / "shards").exists()
        if opened.rows:
            assert tree(disturbed, "shards") == whole and (disturbed / MANIFEST).read_bytes() == (calm / MANIFEST).read_bytes()
            shutil.rmtree(disturbed)
            DataSet.create(disturbed)
    subprocess.run([SALON, "curate", "import", str(disturbed), str(table), *words], check=True, capture_output=True)
    assert tree(disturbed, "shards") == whole and (disturbed / MANIFEST).read_bytes() == (calm / MANIFEST).read_bytes()
    assert hidden(disturbed) == []
    print(f"\nimport of {len(rows)} edits: {undisturbed:.1f} s; {deaths} kills in {starts} starts, {partial} among the shards")  # noqa: T201


def noise(seed: int) -> bytes:
    stream = BytesIO()
    Image.frombytes("RGB", (64, 64), random.Random(seed).randbytes(64 * 64 * 3)).save(stream, "PNG")
    return stream.getvalue()


def test_two_runs_over_the_same_shards_exclude_each_other_and_those_over_others_do_not(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "look"\n')
    words = [SALON, "curate", "run", str(dataset.folder), "--quiet"]
    with dataset.working_on(range(1, 3)):
        refused = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout) != (0, "") and "another process works on these shards" in refused.stderr
        assert tree(dataset.folder, "columns") == {}
        beside = subprocess.run([*words, "--shards", "0"], capture_output=True, text=True, check=False)
        assert beside.returncode == 0 and beside.stdout.startswith("1 part made")
    part = dataset.folder / look.folder / ".00001-x.parquet.4711-0badcafe.tmp"
    other = part.with_name(".00009-x.parquet.4711-0badcafe.tmp")
    for path in (part, other):
        path.touch()
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.startswith("3 parts made")
    assert (part.exists(), other.exists()) == (False, True)


def test_a_sample_of_shards_takes_the_locks_of_its_own_shards(tmp_path):
    """A plan works on some shards of all; a run of others at the same time is not in its way."""
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    assert len(dataset.shards) == 4
    text = (
        "import sys; from pathlib import Path; from salon_curate.dataset import DataSet\n"
        "whole = DataSet.open(Path(sys.argv[1])); own = [whole.shards[int(each)] for each in sys.argv[2:]]\n"
        "sample = DataSet(whole.folder, whole.name, whole.sources, own)\n"
        "with sample.working_on(range(len(own))): print('works')\n"
    )
    with dataset.working_on(range(1, 3)):
        for places, free in (("03", True), ("0", True), ("2", False), ("13", False), ("0123", False)):
            words = [sys.executable, "-c", text, str(dataset.folder), *places]
            tried = subprocess.run(words, capture_output=True, text=True, check=False)
            assert (tried.stdout == "works\n") is free, (places, tried.stderr)
            assert free or "another process works on these shards" in tried.stderr


def test_what_a_killed_init_was_writing_is_gone_after_the_next(tmp_path):
    (tmp_path / "d").mkdir()
    for name in (MANIFEST, PIPELINE):
        (tmp_path / "d" / f".{name}.123-0badcafe.tmp").write_text("{")
    assert CliRunner().invoke(curate, ["init", str(tmp_path / "d")]).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == sorted([MANIFEST, PIPELINE])
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / ".notes.tmp").touch()
    assert "the folder is not empty" in CliRunner().invoke(main, ["curate", "init", str(tmp_path / "e")]).output
    (tmp_path / "circle").symlink_to("circle")
    assert "cannot be written" in CliRunner().invoke(main, ["curate", "init", str(tmp_path / "circle")]).output


def test_a_folder_without_locks_is_worked_in_all_the_same(tmp_path, monkeypatch):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))

    def refusing(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", refusing)
    assert run(dataset, [look], engine=inline).made == 2


def little(number: int) -> bytes:
    """A JPEG of 48 × 48; of every twenty, one repeats an earlier picture, one is cut off, and two are clips, one cut off."""
    seed = number - 7 if number % 20 == 9 else number
    if number % 20 in (3, 4):
        with tempfile.TemporaryDirectory() as folder:
            clip = write_shots(Path(folder, "a.mp4"), [Shot(0.4, number), Shot(0.4, number + 1)], size=(64, 48)).read_bytes()
        return clip[: -300 if number % 20 == 4 else None]
    values = random.Random(seed).randbytes(6 * 6 * 3)
    stream = BytesIO()
    Image.frombytes("RGB", (6, 6), values).resize((48, 48), Image.Resampling.BICUBIC).save(stream, "JPEG", quality=80)
    return stream.getvalue()[: 300 if number % 20 == 13 else None]


@pytest.mark.parametrize(
    ("count", "kills"), [pytest.param(120, 4, marks=pytest.mark.slow), pytest.param(600, 100, marks=pytest.mark.study)],
    ids=["few", "many"],
)  # fmt: skip
@pytest.mark.timeout(0)
def test_kills_at_random_moments_leave_the_bytes_of_an_undisturbed_run(tmp_path, count, kills):
    """Prints what it measured (``-s``)."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILLED_AT_RENAME)
    (tmp_path / "driver.py").write_text(DRIVER)
    shard_rows = max(20, count // 200)
    pictures = (Picture(f"k{number:07d}", little(number)) for number in range(count))
    calm, disturbed = DataSet.create(tmp_path / "calm"), tmp_path / "disturbed"
    calm.add(pictures, "drawn", "folder", shard_rows=shard_rows)
    subprocess.run(["cp", "-r", calm.folder, disturbed], check=True)

    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))

    def started(folder, **settings):
        environment = {**os.environ, "PYTHONPATH": path, "PAID": str(tmp_path / f"{folder.name}.paid"),
                       "RENAMES": str(tmp_path / f"{folder.name}.renames"), **settings}  # fmt: skip
        words = [sys.executable, str(tmp_path / "driver.py"), str(folder)]
        return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def progress():
        """How far the work is, 0 to 1: half for parts that were renamed, half for replies that were given."""
        sizes = [[file.stat().st_size if (file := tmp_path / f"{name}.{each}").exists() else 0 for each in ("paid", "renames")]
                 for name in ("disturbed", "calm")]  # fmt: skip
        return sum(one / other for one, other in zip(*sizes, strict=True)) / 2

    def parts_made_twice():
        renames = (tmp_path / "disturbed.renames").read_text().split()
        return len(renames) - len(set(renames))

    def compared():
        """Compare every part with the undisturbed run's; return how many replies were paid and then lost with their process."""
        stored = 0
        for shard in calm.shards:
            requests = [request for request, _, _ in read_journal(journal_path(disturbed, "quality", shard.name))]
            assert len(requests) == len(set(requests)), "a stored reply was asked for again"
            stored += len(requests)
        assert tree(disturbed, "columns") == tree(calm.folder, "columns")
        return len((tmp_path / "disturbed.paid").read_text().split()) - stored

    began = time.monotonic()
    process = started(calm.folder)
    said = process.communicate()[0].split()
    undisturbed = time.monotonic() - began
    assert process.returncode == 0
    print(f"\n{count:,} pictures undisturbed: {undisturbed:.0f} s, driver's peak {int(said[1]) / 1024:.0f} MB")  # noqa: T201
    done, orphans, redone, asked_twice, rounds = {"driver": 0, "worker": 0, "rename": 0}, 0, 0, 0, 0
    chance = random.Random(1)
    while sum(done.values()) < kills:
        what = chance.choice(sorted(done))
        process = started(disturbed, FAULTS="0.001", **({"KILL_AT_RENAME": "0.1"} if what == "rename" else {}))
        enough = progress() + chance.uniform(0, 2 / min(kills, 30))
        while process.poll() is None and progress() < enough:
            time.sleep(chance.uniform(0, 0.1))
        crew = workers_of(process.pid)
        if process.returncode in (None, -9):
            done[what] += 1
        if process.returncode is None and what == "worker" and crew:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(crew), 9)
            time.sleep(chance.uniform(0, 1))
            crew = workers_of(process.pid)
        process.kill()
        process.communicate()
        time.sleep(2)
        orphans += sum(map(alive, crew))
        if process.returncode == 0 and sum(done.values()) < kills:  # all is done: once more, from the beginning
            redone, asked_twice, rounds = redone + parts_made_twice(), asked_twice + compared(), rounds + 1
            for name in ("columns", "journals", "cache"):
                shutil.rmtree(disturbed / name, ignore_errors=True)
            for name in ("paid", "renames"):
                (tmp_path / f"disturbed.{name}").unlink()
    process = started(disturbed)
    said = process.communicate()[0].split()
    assert process.returncode == 0
    redone, asked_twice = redone + parts_made_twice(), asked_twice + compared()
    print(f"kills {done} in {rounds + 1} runs, each with the bytes of the undisturbed one; orphans after 2 s: {orphans}")  # noqa: T201
    print(f"parts made twice {redone}, replies paid twice {asked_twice}, peak {int(said[1]) / 1024:.0f} MB")  # noqa: T201
    assert orphans == 0
    assert redone <= 2 * kills and asked_twice <= 8 * kills
