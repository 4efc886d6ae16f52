"""Whatever changes between a kill and the next start, the table is that of one clean run, or the run is refused."""

import asyncio
import io
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from number_suite import NumberSuite
from PIL import Image

from salon_bench.runs import picture_digests
from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.plan import LoadedPlan, SubjectModel, planned
from salon_bench.runs.suite_runner import Pace, execute
from salon_bench.runs.view import RunView, refuse_another_run
from salon_bench.suites.contract.suite import SuitePrompt
from salon_judges.asking.spending import RunLimits
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.records import Prompt


@dataclass(frozen=True)
class Read(NumberSuite):
    """``NumberSuite`` with prompts of a file."""

    def prompts(self, source: Path | None) -> list[SuitePrompt]:
        assert source is not None
        rows = [json.loads(line) for line in source.read_text().splitlines()]
        return [SuitePrompt(Prompt(suite=self.name, **row)) for row in rows]


class Brightness:
    """Answers how bright the picture is; its second answer depends on the words and on its version."""

    name = "brightness"

    def __init__(self, version: str = "1") -> None:
        self.version = version

    async def ask(self, question: Question) -> Reply:
        if question.media:
            return Reply(str(Image.open(io.BytesIO(question.media[0].data or b"")).convert("L").getpixel((0, 0))))
        return Reply(str(sum(f"{question.text}{self.version}".encode()) % 1000))


def bmp(path: Path, level: int) -> None:
    """Write a picture; every picture has as many bytes."""
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), (level,) * 3).save(stream, "BMP")
    path.write_bytes(stream.getvalue())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    for number in range(6):
        bmp(tmp_path / "pictures" / f"p{number}.bmp", 10 * number)
    write_prompts(tmp_path)
    return tmp_path


def write_prompts(folder: Path, **changed: object) -> None:
    rows = [{"prompt_id": f"p{number}", "text": f"prompt {number}", "scenario": "old"} for number in range(6)]
    rows[4] |= changed
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def load(folder: Path, store: Path, *, suite: str = "1", judge: str = "1", **options: object) -> LoadedPlan:
    subject = SubjectModel("ours", folder / "pictures")
    made = Read(6, with_pictures=True, version=suite)
    return planned(
        made, [subject], Brightness(judge), prompts=folder / "prompts.jsonl", digests=PictureDigests(store), **options
    )  # type: ignore[arg-type]


def go(plan: LoadedPlan, store: Path, judge: str = "1", calls: int | None = None) -> None:
    asyncio.run(execute(plan, Brightness(judge), store, limits=RunLimits(calls=calls), pace=Pace(1, 0)))


def in_place(path: Path, level: int) -> None:
    """Write another picture into the same file, of the same size and with the same time."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(54)
        file.write(bytes([level]) * 48)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def swapped(folder: Path) -> None:
    one, other = (folder / "pictures" / f"p{number}.bmp" for number in (0, 5))
    one.rename(folder / "x")
    other.rename(one)
    (folder / "x").rename(other)


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, object]]] = {
    "nothing": (lambda folder: None, {}),
    "a judged picture, of equal size": (lambda folder: bmp(folder / "pictures/p0.bmp", 200), {}),
    "a judged picture, of equal size and time": (lambda folder: in_place(folder / "pictures/p0.bmp", 200), {}),
    "a picture to come": (lambda folder: bmp(folder / "pictures/p5.bmp", 200), {}),
    "two pictures with each other": (swapped, {}),
    "a picture that is gone": (lambda folder: (folder / "pictures/p0.bmp").unlink(), {}),
    "a picture that is a link now": (
        lambda folder: ((folder / "pictures/p0.bmp").unlink(), (folder / "pictures/p0.bmp").symlink_to("p5.bmp")),
        {},
    ),
    "a second sample": (lambda folder: bmp(folder / "pictures/p0.1.bmp", 90), {}),
    "a prompt's text": (lambda folder: write_prompts(folder, text="another"), {}),
    "a prompt's scenario": (lambda folder: write_prompts(folder, scenario="new"), {}),
    "the suite": (lambda folder: None, {"suite": "2"}),
    "the judge": (lambda folder: None, {"judge": "2"}),
    "the plan": (lambda folder: None, {"limit": 4, "seed": 1}),
    "the rule of asking": (lambda folder: None, {"re_asks": 3}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_between_a_kill_and_a_restart_the_table_is_that_of_one_clean_run(folder: Path, change: str) -> None:
    alter, options = CHANGES[change]
    store, clean = folder / "results", folder / "clean"
    before = load(folder, store)
    go(before, store, calls=5)
    alter(folder)
    judge = str(options.get("judge", "1"))
    plans = [load(folder, each, **options) for each in (store, clean)]
    for plan, each in zip(plans, (store, clean), strict=True):
        go(plan, each, judge)
    for table in ("scores", "run_prompts"):
        one, other = (RunView(each, plan.plan.run_id).rows(table) for plan, each in zip(plans, (store, clean), strict=True))
        assert one.equals(other), change
    if change == "nothing":
        assert plans[0].plan.run_id == before.plan.run_id
    else:
        with pytest.raises(InputError, match="something changed"):
            refuse_another_run(before.plan.run_id, before.plan, plans[0].plan)


@pytest.mark.parametrize("change", ["a picture to come", "a judged picture, of equal size and time", "a picture that is gone"])
def test_a_picture_that_changes_while_the_run_is_at_work_ends_it(folder: Path, change: str) -> None:
    plan = load(folder, folder / "results")
    CHANGES[change][0](folder)
    with pytest.raises(InputError, match=r"p[05]\.bmp: the file was replaced, removed or added while the run was at work"):
        go(plan, folder / "results")
    again = load(folder, folder / "results")
    assert again.plan.run_id != plan.plan.run_id
    go(again, folder / "results")


def test_a_second_start_reads_no_picture_that_is_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = folder / "results"
    go(load(folder, store), store, calls=1)
    assert PictureDigests(store).of([folder / "pictures/p0.bmp"]) and not (store / ".cache").exists(), "too young to be kept"
    later = time.time_ns() + 10**10
    monkeypatch.setattr(picture_digests.time, "time_ns", lambda: later)
    first = load(folder, store)
    go(first, store, calls=1)
    second = load(folder, store)
    assert (first.digests.read, second.digests.read, second.plan.run_id) == (6, 0, first.plan.run_id)
    in_place(folder / "pictures/p3.bmp", 77)
    third = load(folder, store)
    assert third.digests.read == 1 and third.plan.run_id != first.plan.run_id


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a": 1}', b'{"a": [1]}', b"\xff", b"[" * 100_000])
def test_a_damaged_cache_of_digests_is_no_cache(folder: Path, content: bytes) -> None:
    path = folder / "results/.cache/picture-digests.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert PictureDigests(folder / "results").of([folder / "pictures/p0.bmp"]) == PictureDigests().of(
        [folder / "pictures/p0.bmp"]
    )


def test_what_is_no_plain_file_has_no_digest_and_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    (folder / "zero.png").symlink_to("/dev/zero")
    (folder / "folder.png").mkdir()
    (folder / "nowhere.png").symlink_to("gone.png")
    names = ("pipe.png", "zero.png", "folder.png", "nowhere.png", "none.png", "a\0.png")
    assert PictureDigests().of([folder / name for name in names]) == [picture_digests.NO_FILE] * 6
