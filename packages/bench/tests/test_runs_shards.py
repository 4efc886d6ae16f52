"""The shards of a run are one run for everything that reads runs, once all of them are finished."""

import asyncio
import json
from pathlib import Path

import pytest
from PIL import Image

from salon_bench.analysis.compare import compare
from salon_bench.analysis.export import exported
from salon_bench.analysis.leaderboard import leaderboards
from salon_bench.analysis.panel import judge_together
from salon_bench.runs.plan import LoadedPlan, SubjectModel, planned
from salon_bench.runs.rescore import rescore
from salon_bench.runs.score_rows import read_scores
from salon_bench.runs.status import RunState, run_status, run_statuses
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.registry import suite_named
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply

TRACKS = ("imagination", "entity", "text_rendering", "style", "affection", "composition", "long_text")


class Length:
    """A judge whose score is made of the question."""

    version = "1"

    def __init__(self, name: str = "length") -> None:
        self.name = name

    async def ask(self, question: Question) -> Reply:
        """Answer."""
        text = "".join(part for part in question.parts if isinstance(part, str))
        return Reply(json.dumps({"justification": "by its letters", "score": 1 + sum(text.encode()) % 10}))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Prompts and pictures of one subject."""
    rows = [{"prompt_id": f"{track}-{n}", "track": track, "prompt": f"Picture {n}."} for track in TRACKS for n in range(2)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ours").mkdir()
    for row in rows:
        Image.new("RGB", (8, 8)).save(tmp_path / "ours" / f"{row['prompt_id']}.png")
    return tmp_path


def plan(files: Path, shard: tuple[int, int] | None, judge: str = "length") -> LoadedPlan:
    subject = SubjectModel("ours", files / "ours")
    return planned(suite_named("prism"), [subject], Length(judge), prompts=files / "prompts.jsonl", shard=shard)


def judged(files: Path, shard: tuple[int, int] | None, judge: str = "length") -> str:
    made = plan(files, shard, judge)
    asyncio.run(execute(made, Length(judge), files / "results"))
    return made.plan.run_id


def test_the_panels_of_shards_are_one_run_as_well(files: Path) -> None:
    store, judges = files / "results", ("length", "width")
    for place in (1, 2):
        for judge in judges:
            judged(files, (place, 2), judge)
        judge_together([plan(files, (place, 2), judge).plan for judge in judges], store)
        boards = {} if place == 1 else {board.judge: board for board in leaderboards(store, suite_named("prism"))}
        begun = [each for each in run_statuses(store) if each.judge == "panel" and each.parts]
        assert [each.state for each in begun] == [RunState.UNFINISHED if place == 1 else RunState.FINISHED]
    (entry,) = boards["panel"].entries
    assert (entry.run_id, entry.numbers.scored, len(entry.prompts)) == (begun[0].run_id, 28, 14)
    assert RunView(store, begun[0].run_id).summaries()[0].scored == 28


def test_shards_are_read_as_one_run_by_everything_once_all_are_finished(files: Path) -> None:
    store = files / "results"
    shards = [judged(files, (place, 3)) for place in (3, 1)]
    whole_id = plan(files, (2, 3)).plan.whole_id
    assert whole_id is not None
    begun = run_status(store, whole_id)
    assert (begun.state, begun.cases_done, begun.detail) == (RunState.UNFINISHED, 9, "shards that are not begun: 2 of 3")
    with pytest.raises(InputError, match="no run of the suite is finished"):
        leaderboards(store, suite_named("prism"))
    shards.append(judged(files, (2, 3)))
    whole = run_status(store, whole_id)
    assert (whole.state, whole.cases_done, whole.cases_total) == (RunState.FINISHED, 14, 14)
    assert whole.parts == tuple(sorted(shards))
    assert {each.part_of for each in run_statuses(store) if each.run_id in shards} == {whole_id}
    ((entry,),) = (board.entries for board in leaderboards(store, suite_named("prism")))
    assert (entry.run_id, entry.numbers.scored) == (whole_id, 28)

    alone = judged(files, None)
    views = [RunView(store, each) for each in (whole_id, alone)]
    for table in ("scores", "assessments"):
        one, other = (view.rows(table).drop("run_id", "assessment_id", strict=False) for view in views)
        assert one.equals(other)
    tables = [view.summaries()[0].summary.table for view in views]
    assert tables[0].equals(tables[1])
    assert views[0].prompts == views[1].prompts
    assert views[0].generation_folders == [files / "ours"]
    found = compare(store, whole_id, alone, replicates=10)
    assert (found.prompts, found.changed) == (14, 0)
    assert exported(store, [whole_id])["prompt"].null_count() == 0
    assert read_scores([whole_id], store).height == 28
    with pytest.raises(InputError, match="made of shards"):
        _ = views[0].plan


def test_shards_whose_replies_were_read_again_have_their_replies_together(files: Path) -> None:
    store = files / "results"
    for place in (1, 2):
        asyncio.run(rescore(plan(files, (place, 2)), judged(files, (place, 2)), store))
    whole = RunView(store, str(plan(files, (1, 2)).plan.whole_id))
    assert all("+rescore-" in part for part in whole.status.parts)
    assert (whole.scores.height, whole.calls.height, set(whole.calls["run_id"])) == (28, 28, {whole.run_id})


def test_shards_of_other_prompts_or_another_count_are_other_runs(files: Path) -> None:
    def ids() -> set[str | None]:
        return {plan(files, (place, 3)).plan.whole_id for place in (1, 2, 3)}

    before = ids()
    assert len(before) == 1
    assert plan(files, (1, 2)).plan.whole_id not in before
    text = (files / "prompts.jsonl").read_text()
    (files / "prompts.jsonl").write_text(text.replace("Picture 1.", "Another picture."))
    assert not ids() & before
