"""Faults: a disk that is full at any moment, and kills of drivers and workers at random moments, renames included."""

import contextlib
import csv
import errno
import fcntl
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

from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.dataset import DataSet, Picture
from salon_curate.engine import inline
from salon_curate.files import publish
from salon_curate.judging import journal_path, judge_stage, read_journal
from salon_curate.measures import look
from salon_curate.pipeline import PIPELINE
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
