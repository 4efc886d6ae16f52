"""A missing verdict is asked for again, in every package: after an outage the rows are those of a judge that never failed."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from curate_world import drawn, made
from number_suite import NumberSuite
from r3_world import Painter, World, png, write_rows

from for_each import for_each
from salon_bench.refine.batch import refine_all
from salon_bench.refine.items import read_refine_items
from salon_bench.refine.steps import RefineModels
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.reward import suite_reward
from salon_curate import asks
from salon_curate.judging import judge_stage
from salon_curate.running import run
from salon_curate.selection import read_columns
from salon_judges.clients.scorer import ScorerJudge, parse_score
from salon_judges.formats.generations import Generations
from salon_judges.scorers.vqa_score import VqaScore
from salon_rewards.judge_batching import Answers
from salon_synthetic import PixelJudge
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import CallOutcome, Edit, Media, Question, Reply, Token
from salon_taxonomy.records import CallStatus
from salon_taxonomy.scorers import checked_scorer
from salon_taxonomy.verdict import Scored
from salon_train.refiner.rewards import CachingEditor

HOUR, MOST_STARTS = 3600.0, 40
FAILURES = [
    *((status, None) for status in CallStatus if status != CallStatus.OK),
    *((CallStatus.REJECTED, http) for http in (307, 400, 401, 403, 404, 408, 413, 422, 429, 451, 500, 502, 503, 529)),
]
"""Every way in which a call can fail."""
OUTAGES = [(CallStatus.REJECTED, 401), (CallStatus.REJECTED, 429), (CallStatus.REJECTED, 503), (CallStatus.CANCELLED, None)]


class Outage:
    """A judge or editor that fails for an hour of simulated time, in which each call takes ten minutes."""

    def __init__(self, within: Any, status: CallStatus, http: int | None = None) -> None:
        self.within, self.name, self.version = within, within.name, within.version
        self.seconds, self.status, self.http = 0.0, status, http

    def failing(self) -> bool:
        self.seconds += 600.0
        return self.seconds <= HOUR

    async def ask(self, question: Question) -> Reply:
        if self.failing():
            return Reply("", self.status, self.version, http_status=self.http, error="out of order")
        return await self.within.ask(question)  # type: ignore[no-any-return]

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        if self.failing():
            if self.status == CallStatus.CANCELLED:
                raise InputError("no model is here")
            return Edit(None, self.status, self.version, error="out of order")
        return await self.within.edit(image, instruction, seed=seed)  # type: ignore[no-any-return]


class Counter:
    """Answers the number questions of ``NumberSuite``; ``words``: in words, which only an extractor can read."""

    name = version = "counter"

    def __init__(self, *, words: bool = False) -> None:
        self.words = words

    async def ask(self, question: Question) -> Reply:
        text = "1" if "First" in question.text else "2"
        return Reply({"1": "It is 1.", "2": "It is 2."}[text] if self.words else text)


def suite_rows(folder: Path, judge: Any, extractor: Any = None) -> pl.DataFrame:
    suite = type("Numbers", (NumberSuite,), {"generations": lambda *_: Generations([])})(3)
    plan = planned(suite, [SubjectModel("subject", folder)], judge, extractor=extractor)
    for _ in range(MOST_STARTS):
        if asyncio.run(execute(plan, judge, folder / "results", extractor=extractor)).complete:
            break
    return RunView(folder / "results", plan.plan.run_id).rows("scores")


def extracted_rows(folder: Path, judge: Any) -> pl.DataFrame:
    return suite_rows(folder, Counter(words=True), judge)


def refined_rows(folder: Path, editor: Any, judge: Any = None) -> list[Any]:
    items = read_refine_items(write_rows(folder))
    for _ in range(MOST_STARTS):
        done = asyncio.run(
            refine_all(items, RefineModels(editor, judge or World()), folder / "out", folder / "results", concurrency=1)
        )
        if not done.open:
            break
    return [json.loads(line) for line in (folder / "out" / "rounds.jsonl").read_text().splitlines()]


def curated_rows(folder: Path, judge: Any) -> pl.DataFrame:
    dataset = made(folder / "d", drawn(folder / "in", 1), shard_rows=2)
    for _ in range(MOST_STARTS):
        stage = judge_stage(asks.agreement(), judge)
        result = run(dataset, [stage])
        if not result.set_aside:
            break
    columns = [*stage.writes, stage.problem]
    return read_columns(dataset, [stage], columns).collect()


def judged_rewards(folder: Path, judge: Any) -> list[Any]:
    answers = Answers(judge, lambda text: Scored(len(text)))
    for _ in range(MOST_STARTS):
        verdicts = asyncio.run(answers.ask([Question(("First",)), Question(("Second",))]))
        if all(isinstance(each, Scored) for each in verdicts):
            break
    return verdicts


def suite_rewards(folder: Path, judge: Any) -> list[Any]:
    source = folder / "prompts.csv"
    source.write_text("prompt,track\nA melting clock.,imagination\n")
    reward = suite_reward("prism", {"judge": judge, "source": source})
    for _ in range(MOST_STARTS):
        paid = asyncio.run(reward([""], images=[png("red")], prompt_id=["imagination-0"]))
        if None not in paid:
            break
    return paid


def trained_edits(folder: Path, editor: Any) -> list[str]:
    caching = CachingEditor(editor)
    for _ in range(MOST_STARTS):
        try:
            edit = asyncio.run(caching.edit(Media.from_bytes(png("red")), "Paint it blue.", seed=1))
        except InputError:
            continue
        if edit.image is not None:
            break
    return [str(edit.status), edit.image.sha256 if edit.image else ""]


def scored_picture(folder: Path, judge: Any) -> Any:
    scorer = ScorerJudge(checked_scorer(VqaScore(judge)))
    for _ in range(MOST_STARTS):
        reply = asyncio.run(scorer.ask(Question((Media.from_bytes(png("red")),), prompt="a red square")))
        if reply.answered:
            break
    return parse_score(reply.text)


class Yes:
    """A judge that says yes with nine tenths of the probability."""

    name = version = "yes"

    async def ask(self, question: Question) -> Reply:
        return Reply("Yes", tokens=(Token("Yes", math.log(0.9)),))

    async def close(self) -> None:
        pass


class Marks:
    """A judge that gives every picture eight of ten."""

    name = version = "marks"

    async def ask(self, question: Question) -> Reply:
        return Reply('{"justification": "All there.", "score": 8}')


CALLERS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "a run of a suite": (suite_rows, Counter),
    "the extractor of a run": (extracted_rows, Counter),
    "a stage of curation": (curated_rows, PixelJudge),
    "rewards that ask": (judged_rewards, Counter),
    "a suite as rewards": (suite_rewards, Marks),
    "a scorer with a judge": (scored_picture, Yes),
    "a refinement's editor": (refined_rows, Painter),
    "a refinement's judge": (lambda folder, judge: refined_rows(folder, Painter(), judge), World),
    "a policy's editor": (trained_edits, Painter),
}


@pytest.mark.parametrize("caller", CALLERS)
def test_after_an_outage_the_rows_are_those_of_a_judge_that_never_failed(caller, tmp_path):
    rows_of, opened = CALLERS[caller]
    (tmp_path / "whole").mkdir()
    whole = rows_of(tmp_path / "whole", opened())
    ways = OUTAGES if "a run" in caller or "refine" in caller or "extractor" in caller else FAILURES
    if "editor" in caller:
        ways = [(status, None) for status in (CallStatus.TIMEOUT, CallStatus.UNREACHABLE, CallStatus.CANCELLED)]
    for number, (status, http) in enumerate(ways):
        folder = tmp_path / str(number)
        folder.mkdir()
        outage = Outage(opened(), status, http)
        rows = rows_of(folder, outage)
        assert outage.seconds > HOUR, "the outage was over"
        same = rows.equals(whole) if isinstance(rows, pl.DataFrame) else rows == whole
        assert same, f"{caller}, {status}, HTTP {http}: {rows}\n{whole}"


@for_each(("status", "http"), FAILURES)
def test_one_table_says_what_a_call_settles(status, http):
    reply = Reply("", status, http_status=http)
    refused = status == CallStatus.REJECTED and http in (None, 400, 413, 415, 422, 451)
    assert reply.outcome is (CallOutcome.REFUSED if refused else CallOutcome.LOST)
    assert not reply.answered and Reply("no").answered
    edit = Edit(None, status)
    assert edit.outcome is (CallOutcome.REFUSED if status == CallStatus.REJECTED else CallOutcome.LOST)
