"""Judged stages: typed values, every failure a reason, no reply asked for twice, limits, cascades, replay after a change."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, jpeg, made, tree
from hypothesis import given
from hypothesis import strategies as st

from salon_curate import asks
from salon_curate.asks.ask import reads
from salon_curate.asks.pictures import _Quality, _Score
from salon_curate.cli import curate
from salon_curate.costs import COSTS
from salon_curate.engine import inline
from salon_curate.judging import JUDGED_PICTURES, ReplyJournal, journal_path, judge_stage, read_journal
from salon_curate.lineage import why
from salon_curate.measures import fields, look
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.running import run
from salon_curate.selection import predicate, read_columns, save_selection, select
from salon_curate.stages import expected_parts
from salon_curate.tasks import Spent
from salon_judges.asking.spending import RunLimits
from salon_judges.media import prepare_bytes
from salon_judges.testing.mock_server import Script, ScriptLine, serving
from salon_synthetic import PixelJudge
from salon_taxonomy.answers.outcome import Parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply, Token, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Unscored


class Counting:
    """A judge with a rule, which counts what it is asked."""

    name, version = "counting", "v1"

    def __init__(self, rule):
        self.rule, self.asked = rule, []

    async def ask(self, question):
        await asyncio.sleep(0)
        self.asked.append(question.text)
        found = self.rule(question)
        return found if isinstance(found, Reply) else Reply(found, version=self.version)


def scores(question):
    return json.dumps({"score": 1 + len(question.text) % 10})


@pytest.fixture
def dataset(tmp_path):
    return made(tmp_path / "d", drawn(tmp_path / "in", 1))


def test_the_six_characteristics_are_asked_separately_and_typed(dataset):
    judge = Counting(scores)
    stage = judge_stage(asks.characteristics(), judge)
    assert run(dataset, [stage]).problems == 0
    found = read_columns(dataset, [stage], asks.pictures.CHARACTERISTICS).collect()
    assert len(judge.asked) == 6 * 8 == 6 * len(found)
    assert set(found.drop("key").dtypes) == {pl.UInt8}


def test_hostile_replies_become_reasons_and_never_numbers(dataset):
    for number, (name, text) in enumerate(sorted(HOSTILE_REPLIES.items()) if isinstance(HOSTILE_REPLIES, dict) else
                                          [(str(place), each) for place, each in enumerate(HOSTILE_REPLIES)]):  # fmt: skip
        for model in (_Score, _Quality):
            outcome = reads(model)(text)
            assert not isinstance(outcome, Parsed), name
        if number < 2:
            stage = judge_stage(asks.quality(), Counting(lambda _, text=text: text), name=f"q{number}")
            assert run(dataset, [stage]).problems == 8
            found = read_columns(dataset, [stage], ["quality_pass", f"q{number}_problem"]).collect()
            assert found["quality_pass"].null_count() == 8 and found[f"q{number}_problem"].null_count() == 0


def test_a_reply_off_the_scale_is_asked_again_once_and_then_a_reason(dataset):
    judge = Counting(lambda _: '{"score": 11}')
    stage = judge_stage(asks.alignment(), judge)
    assert run(dataset, [stage]).problems == 8
    assert len(judge.asked) == 16
    assert sum("Time 2 of asking" in text for text in judge.asked) == 8
    problems = read_columns(dataset, [stage], ["alignment_problem"]).collect()["alignment_problem"]
    assert problems.str.starts_with("off_menu: score").all()


def test_captions_reasoning_and_translations_read_what_earlier_stages_wrote(dataset):
    def rule(question):
        text = question.text
        if "whole number" in text:
            return scores(question)
        if "Translate" in text:
            kept = [line for line in text.splitlines() if line in {"OPEN", "24 h"}]
            return json.dumps({"translation": "译 " + " ".join(kept)})
        key = "plan" if "step by step" in text else "caption"
        return json.dumps({key: 'A sign says "OPEN" and "24 h".'})

    judge = Counting(rule)
    thresholds = {"style": 3, "entity": 8}
    stages = [judge_stage(each, judge) for each in (
        asks.characteristics(), asks.captions(**thresholds), asks.reasoning(["style", "entity"]),
        asks.translation("reasoning", keep=True),
    )]  # fmt: skip
    run(dataset, stages)
    found = read_columns(
        dataset, stages, ["style", "entity", "caption_style", "caption_entity", "reasoning", "reasoning_chinese"]
    ).collect()
    for label, least in thresholds.items():
        assert found.filter(pl.col(label) >= least)[f"caption_{label}"].null_count() == 0
        assert found.filter(pl.col(label) < least)[f"caption_{label}"].drop_nulls().is_empty()
    planned = found.filter(pl.col("reasoning").is_not_null())
    assert len(planned) == len(found.filter((pl.col("style") >= 3) | (pl.col("entity") >= 8)))
    assert planned["reasoning_chinese"].str.contains("OPEN").all() and planned["reasoning_chinese"].str.contains("24 h").all()


def test_a_translation_that_loses_a_string_is_no_answer(dataset):
    judge = Counting(
        lambda question: json.dumps(
            {"translation": "全都丢了"} if "Translate" in question.text else {"plan": '"OPEN"', "caption": '"OPEN"', "score": 9}
        )
    )
    stages = [
        judge_stage(each, judge)
        for each in (asks.characteristics(), asks.captions(style=1), asks.translation("caption_style", keep=True))
    ]
    run(dataset, stages)
    found = read_columns(dataset, stages, ["caption_style_chinese", "caption_style_translation_problem"]).collect()
    assert found["caption_style_chinese"].null_count() == 8
    assert found["caption_style_translation_problem"].str.contains("is not kept").all()


def test_lost_replies_leave_the_shard_unfinished_and_only_they_are_asked_again(dataset):
    down = {"on": True}

    def rule(question):
        if down["on"] and len(judge.asked) % 3 == 0:
            return Reply("", CallStatus.TIMEOUT, error="no byte in 30 s")
        return scores(question)

    judge = Counting(rule)
    stage = judge_stage(asks.alignment(), judge, concurrency=1)
    first = run(dataset, [stage])
    assert first.made == 0 and len(first.set_aside) == 2 and "no byte in 30 s" in first.set_aside[0]
    answered = sum(1 for shard in dataset.shards for _ in read_journal(journal_path(dataset.folder, "alignment", shard.name)))
    down["on"] = False
    judge.asked.clear()
    assert run(dataset, [stage]).made == 2
    assert len(judge.asked) == 8 - answered


@pytest.mark.parametrize("status", [401, 429, 503])
def test_a_server_that_answers_no_question_leaves_its_shards_open_and_the_next_run_asks_again(dataset, status):
    judge, down = dataset.folder / "judge.toml", ScriptLine(body='{"error": "no"}', status=status)
    (dataset.folder / PIPELINE).write_text(f'[[stage]]\nask = "alignment"\njudge = "{judge}"\n')

    def ran(*lines):
        with serving(Script(rule=lambda _: '{"score": 7}', lines=lines)) as server:
            limits = "[limits]\nattempts = 2\nfirst_wait_s = 0.001\n"
            judge.write_text(f'kind = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n{limits}')
            return CliRunner().invoke(curate, ["run", str(dataset.folder), "--quiet"])

    lost, again = ran(down), ran()
    assert lost.exit_code == 1 and "0 parts made" in lost.stdout, lost.output
    assert "4 questions got no reply" in lost.stderr and f"HTTP {status}" in lost.stderr
    assert (again.exit_code, again.stdout) == (0, "2 parts made, 0 were there; 0 rows without a value\n"), again.output


def test_refused_questions_are_null_for_good_when_that_is_allowed_and_never_before(dataset):
    judge = Counting(lambda _: Reply("", CallStatus.REJECTED, http_status=400, error="not this picture"))
    stage = judge_stage(asks.alignment(), judge)
    for shard in dataset.shards:  # as an earlier version left them
        with ReplyJournal.open(journal_path(dataset.folder, "alignment", shard.name)) as journal:
            journal.add("0" * 16, Reply("", CallStatus.REJECTED), "k")
    assert run(dataset, [stage]).made == 0
    kept = replace(stage, keep_lost=True)
    assert (run(dataset, [kept]).made, len(judge.asked)) == (2, 16)
    found = read_columns(dataset, [stage], ["alignment", "alignment_problem"]).collect()
    assert found["alignment"].null_count() == 8
    assert set(found["alignment_problem"]) == {"rejected: not this picture"}


def test_a_limit_stops_the_run_and_nothing_paid_is_asked_again(dataset):
    judge = Counting(scores)
    stage = judge_stage(asks.alignment(), judge, limits=RunLimits(calls=3), concurrency=1)
    result = run(dataset, [stage])
    assert "3 calls" in (result.stopped or "") and len(judge.asked) == 3
    again = judge_stage(asks.alignment(), judge)
    assert run(dataset, [again]).made == 2
    assert len(judge.asked) == 8


def test_pictures_that_repeat_each_other_are_asked_about_once_even_at_the_same_moment(tmp_path):
    source = drawn(tmp_path / "in", 1)
    row = json.loads(source.read_text().splitlines()[0])
    source.write_text("".join(json.dumps({**row, "key": f"k{number}"}) + "\n" for number in range(6)))
    dataset, judge = made(tmp_path / "d", source, shard_rows=6), Counting(scores)
    stage = judge_stage(asks.alignment(), judge, concurrency=6)
    assert run(dataset, [stage]).problems == 0
    assert len(judge.asked) == 1
    assert read_columns(dataset, [stage], ["alignment"]).collect()["alignment"].null_count() == 0


def test_rows_that_the_cheap_stage_rejects_are_not_asked_but_for_the_random_share(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 8), shard_rows=32)
    judge = Counting(scores)
    stage = judge_stage(asks.alignment(), judge, when="contrast > 1000", explore=0.25, seed=3)
    run(dataset, [look, stage])
    found = read_columns(dataset, [look, stage], ["alignment", "alignment_explored", "alignment_problem"]).collect()
    explored = found.filter("alignment_explored")
    assert 6 <= len(explored) <= 28 and len(judge.asked) == len(explored)
    assert explored["alignment"].null_count() == 0
    assert (found.filter(~pl.col("alignment_explored"))["alignment_problem"] == "not asked").all()


def test_a_changed_parser_reads_the_stored_replies_and_asks_nobody(dataset):
    judge = Counting(scores)
    run(dataset, [judge_stage(asks.alignment(), judge)])
    asked = len(judge.asked)
    changed = judge_stage(asks.alignment(), judge, re_asks=3)
    assert run(dataset, [changed]).made == 2
    assert len(judge.asked) == asked
    told = why(dataset, [changed], "k00003")
    assert told["stages"][0]["judge"] == "counting" and json.loads(told["stages"][0]["replies"][0]["text"])["score"] >= 1
    with pytest.raises(InputError, match="no picture has the key"):
        why(dataset, [changed], "nobody")
    with pytest.raises(InputError, match="Did you mean 'k00003'"):
        why(dataset, [changed], "k0003")


def test_a_judge_of_another_version_is_asked_itself_about_the_pictures_of_the_same_stage(dataset):
    judges = [Counting(scores) for _ in range(3)]
    judges[1].version = "another"
    for judge in judges:
        run(dataset, [judge_stage(asks.alignment(), judge)])
    assert [len(judge.asked) for judge in judges] == [8, 8, 0]


def test_a_driver_that_is_killed_while_judging_asks_no_stored_question_again(tmp_path):
    source = drawn(tmp_path / "in", 2)
    calm, disturbed = made(tmp_path / "a", source, shard_rows=8), made(tmp_path / "b", source, shard_rows=8)
    with serving(Script(rule=lambda asked: '{"score": 7}')) as server:
        text = f'[[stage]]\nask = "alignment"\njudge = "vllm:m@{server.url}"\nconcurrency = 2\n'
        for dataset in (calm, disturbed):
            (dataset.folder / PIPELINE).write_text(text)
        pipeline = read_pipeline(calm.folder / PIPELINE, environment={}, asks=True)
        run(calm, pipeline.stages)
        command = [str(Path(sys.executable).with_name("salon")), "curate", "run", str(disturbed.folder)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = journal_path(disturbed.folder, "alignment", "00000")
        end = time.monotonic() + 60
        while (not journal.exists() or journal.stat().st_size == 0) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        stored = {request for request, _, _ in read_journal(journal)}
        subprocess.run(command, check=True, capture_output=True)
        after = [request for request, _, _ in read_journal(journal)]
        assert stored <= set(after) and len(after) == len(set(after)) == 8
    assert tree(calm.folder, "columns") == tree(disturbed.folder, "columns")


def test_a_suite_s_questions_make_columns(dataset):
    suite = asks.suite("prism", ["alignment", "aesthetic"], {"track": "=style"})
    stage = judge_stage(suite, Counting(lambda _: json.dumps({"score": 8, "justification": "as asked"})))
    assert run(dataset, [stage]).problems == 0
    found = read_columns(dataset, [stage], ["prism_alignment", "prism_aesthetic"]).collect()
    assert found["prism_alignment"].null_count() == 0


REFUSED = """
use = "look"; name = "l"; parameters = { bogus = 1 }
use = "duplicates"; parameters = { x = 1979-05-27 }
use = "duplicates"; parameters = { distance = nan }
use = "duplicates"; when = "sharpness > 60"
use = "duplicates"; judge = "pixels:"
use = "duplicates"; explore = 0.5
use = "duplicates"; options = { x = 1 }
use = "duplicates"; prefix = "p"
use = "duplicates"; concurrency = 3
use = "fields"
use = "fields"; parameters = { a = ["float"] }
ask = "agreement"; parameters = { a = 1 }
ask = "agreement"; explore = 0.5
ask = "agreement"; when = "sharpness > 1"; seed = 4
ask = "agreement"; when = "sharpness"
ask = "agreement"; when = "key >= 5"
ask = "agreement"; when = "sharpness >= AVG(sharpness)"
ask = "agreement"; when = "nothing > 1"
ask = "agreement"; options = { prompt = 5 }
ask = "agreement"; options = { nothing = "x" }
ask = "captions"; options = { style = "7" }
ask = "captions"; options = { style = nan }
ask = "captions"; options = { }
ask = "reasoning"; options = { labels = "style" }
ask = "suite"; options = { name = "prism", dimensions = "alignment" }
ask = "suite"; options = { name = 5, dimensions = ["alignment"] }
ask = "suite"; options = { name = "prism", dimensions = [] }
ask = "translation"; options = { column = "prompt", language = "" }
ask = "translation"; options = { column = "prompt", language = "…" }
ask = "translation"; options = { column = "prompt", keep = "no" }
""".strip().splitlines()


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_wrong_or_without_effect_in_a_stage_is_refused_before_anything_is_run(dataset, line):
    judge = 'judge = "pixels:"\n' if "ask" in line else ""
    text = '[[stage]]\nuse = "look"\n[[stage]]\n' + judge + line.replace("; ", "\n") + "\n"
    (dataset.folder / PIPELINE).write_text(text)
    with pytest.raises(InputError) as caught:
        run(dataset, read_pipeline(dataset.folder / PIPELINE, environment={}, asks=True).stages)
    assert "pipeline.toml" in str(caught.value) or "stage" in str(caught.value)
    assert not (dataset.folder / "columns").exists()


def test_every_ask_writes_plain_names_also_for_odd_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my suite.toml").write_text(
        'name = "my-suite"\n[[question]]\nid = "shown"\nask = "Shown?"\nanswer = "yes/no"\n'
    )
    made_of = [asks.suite(str(place), ["shown", "text-image fit"]) for place in (tmp_path / "my suite.toml", "./my suite.toml")]
    assert made_of[0].name == made_of[1].name and made_of[0].version == made_of[1].version
    made_of += [asks.translation("prompt", language) for language in ("Chinese", "Traditional Chinese", "español (México)")]
    made_of += [asks.captions(style=3), asks.reasoning(["style"]), asks.characteristics(), asks.agreement(), asks.quality()]
    for ask in made_of:
        assert all(name.isidentifier() for name in (ask.name, *ask.writes)), (ask.name, ask.writes)
        for column in ask.writes:
            assert predicate(f"{column} IS NULL").columns == (column,)


def test_a_suite_s_missing_fact_is_named_and_an_unknown_dimension_is_null_with_a_reason(dataset):
    judge = Counting(lambda _: json.dumps({"score": 8, "justification": "as asked"}))
    stage = judge_stage(asks.suite("prism", ["alignment", "alignmnt"], {"track": "=style"}), judge)
    run(dataset, [stage])
    found = read_columns(dataset, [stage], ["prism_alignment", "prism_alignmnt", "prism_problem"]).collect()
    assert found["prism_alignment"].null_count() == 0 and found["prism_alignmnt"].null_count() == 8
    assert found["prism_problem"].str.contains("alignmnt").all()
    for suite in ("prism", "magicbench"):
        with pytest.raises(InputError, match="needs the fact"):
            run(dataset, [judge_stage(asks.suite(suite, ["alignment"]), judge, name=f"{suite}2")])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The boys' shirts and the girls' shoes", ()),
        ("a 6\" by 4\" photo and a 5' fence, 6' high", ()),
        ("the cat's toy and the dog's bone", ()),
        ("rock 'n' roll at O'Neill's, five o'clock", ()),
        ('A sign says "OPEN" and ‘24 h’, ("SALE")', ("OPEN", "24 h", "SALE")),
        ("'EXIT' beside 'Way Out'", ("EXIT", "Way Out")),
        ('写着"营业"的牌子', ("营业",)),
    ],
)
def test_quoted_strings_are_those_in_pairs_of_marks_and_no_apostrophes_or_inches(text, kept):
    assert asks.texts.quoted(text) == kept


def test_a_journal_of_another_version_or_with_damaged_lines_keeps_its_good_replies(dataset):
    judge = Counting(scores)
    stage = judge_stage(asks.alignment(), judge)
    run(dataset, [stage])
    path = journal_path(dataset.folder, "alignment", "00000")
    lines = path.read_text().splitlines()
    whole = json.loads(lines[0])
    broken = [json.dumps({name: value for name, value in whole.items() if name != left}) for left in whole]
    broken += [
        "[]",
        "1",
        "null",
        '"x"',
        "{",
        "\x00",
        "[" * 50_000,
        json.dumps({**whole, "status": "odd"}),
        json.dumps({**whole, "text": None}),
    ]
    path.write_text("\n".join([*broken, *lines]) + "\n")
    assert len(list(read_journal(path))) == len(lines)
    asked = len(judge.asked)
    assert run(dataset, [judge_stage(asks.alignment(), judge, re_asks=2)]).made == 2 and len(judge.asked) == asked
    assert why(dataset, [stage], "k00000")["stages"][0]["replies"]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
counts = st.none() | st.integers(0, 99)
usages = st.builds(Usage, counts, counts, st.none() | st.just(0.25))
lines = st.builds(
    Reply,
    texts,
    st.sampled_from(CallStatus),
    texts,
    st.sampled_from(Finish),
    usage=usages,
    error=st.none() | texts,
)


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), lines), max_size=4, unique_by=lambda pair: pair[0]), max_size=3))
def test_a_journal_gives_back_the_last_answer_to_a_request_and_says_what_was_paid(openings):
    stored = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "not", "yet", "00000.jsonl")
        for added in [*openings, []]:
            with ReplyJournal.open(path) as journal:
                before = {request: reply for request in "abc" if (reply := journal.known(request)) is not None}
                assert before == stored
                used = {**before}
                for request, reply in added:
                    journal.add(request, reply, "k")
                    used[request] = reply
                    if reply.answered:
                        stored[request] = replace(reply, cached=True)
                costs = [reply.usage.cost_usd for reply in used.values()]
                spent = journal.spent()
                assert (spent.calls, spent.replayed) == (len(used), len(before.keys() - dict(added).keys()))
                assert spent.prompt_tokens == sum(reply.usage.prompt_tokens or 0 for reply in used.values())
                assert spent.completion_tokens == sum(reply.usage.completion_tokens or 0 for reply in used.values())
                assert spent.cost_usd == (None if None in costs else sum(costs))


def test_the_pixel_judge_is_right_about_drawn_pictures(dataset):
    stage = judge_stage(asks.agreement(), PixelJudge())
    from salon_curate.measures import fields

    stages = [fields(good="bool"), stage]
    run(dataset, stages)
    found = read_columns(dataset, stages, ["good", "agrees"]).collect()
    assert found["good"].equals(found["agrees"])


@pytest.mark.parametrize(("ask", "words"), [("agreement", "the row has no prompt"), ("alignment", "the row has no caption")])
@pytest.mark.parametrize("empty", [None, ""])
def test_a_row_without_its_text_is_not_asked_about_and_says_so(tmp_path, ask, words, empty):
    table = drawn(tmp_path / "in", 1)
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    rows[3]["prompt"] = empty
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reply = {"answer": True, "explanation": "", "edit_prompt": ""} if ask == "agreement" else {"score": 4}
    dataset, judge = made(tmp_path / "d", table), Counting(lambda _: json.dumps(reply))
    stage = judge_stage(getattr(asks, ask)(), judge)
    assert run(dataset, [stage]).problems == 1
    own = [name for name in stage.writes if not name.endswith("_explored")]
    found = read_columns(dataset, [stage], [*own, stage.problem]).collect()
    missing = found.filter(found["key"] == rows[3]["key"]).row(0, named=True)
    assert [missing[name] for name in own] == [None] * len(own)
    assert missing[stage.problem] == f"abstained: {words}"
    assert len(judge.asked) == len(rows) - 1


def test_why_tells_of_every_picture_what_the_tables_hold(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2), shard_rows=5)
    stages = [look, judge_stage(asks.alignment(), Counting(scores))]
    run(dataset, stages)
    columns = [column for stage in stages for column in (*stage.writes, stage.problem)]
    table = read_columns(dataset, stages, ["prompt", "sha256", *columns]).collect()
    places = [(shard.name, row) for shard in dataset.shards for row in range(1, shard.rows + 1)]
    for (shard, row), facts in zip(places, table.iter_rows(named=True), strict=True):
        told = why(dataset, stages, facts["key"])
        assert (told["shard"], told["row"]) == (shard, row)
        assert (told["prompt"], told["sha256"]) == (facts["prompt"], facts["sha256"])
        for stage, entry in zip(stages, told["stages"], strict=True):
            values = {stage.problem if name == "problem" else name: each for name, each in entry["values"].items()}
            assert values == {name: facts[name] for name in (*stage.writes, stage.problem)}


def test_why_agrees_with_every_saved_selection_and_names_the_conditions_that_fail(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2), shard_rows=5)
    run(dataset, [look])
    middle = read_columns(dataset, [look], ["sharpness"]).collect()["sharpness"].median()
    stages = [look, judge_stage(asks.alignment(), Counting(scores), when=f"contrast > 1 AND sharpness >= {middle}")]
    run(dataset, stages)
    table = read_columns(dataset, stages, ["sharpness", "alignment"]).collect()
    assert 0 < table["alignment"].null_count() < len(table)
    conditions = {"sharp": f"sharpness >= {middle}", "plain": "contrast > 1", "aligned": "alignment >= 1"}
    for name, chosen in (("all", list(conditions)), ("one", ["sharp"])):
        saved = select(dataset, stages, {each: conditions[each] for each in chosen}, name)
        save_selection(dataset, stages, saved)
        for key, kept in zip(table["key"], saved.mask, strict=True):
            assert why(dataset, stages, key)["selections"][name]["kept"] == kept
    for row in table.iter_rows(named=True):
        told = why(dataset, stages, row["key"])["selections"]["all"]
        assert ("sharp" in told["fails"]) == (row["sharpness"] < middle)
        assert ("aligned" in told["no_value"]) == (row["alignment"] is None)
        assert all(sql == conditions[name] for name, sql in told["fails"].items() if name in conditions)
    assert not any(why(dataset, [], key)["selections"]["one"]["kept"] for key in table["key"])  # no stage: no value


def test_why_has_no_value_of_a_condition_that_todays_columns_no_longer_take(tmp_path):
    """A saved selection compares a number; the stage that wrote it writes a text now."""
    (tmp_path / "a.png").write_bytes(jpeg())
    (tmp_path / "rows.jsonl").write_text('{"key": "a", "image": "a.png", "score": "7"}\n')
    dataset = made(tmp_path / "d", tmp_path / "rows.jsonl")
    for kind, told in (("float", {}), ("text", {"high": "score >= 5"}), ("bool", {"high": "score >= 5"})):
        stages = [fields(score=kind)]
        run(dataset, stages, engine=inline)
        if kind == "float":
            save_selection(dataset, stages, select(dataset, stages, {"high": "score >= 5"}, "v1"))
        found = why(dataset, stages, "a")["selections"]["v1"]
        assert (found["no_value"], found["kept"]) == (told, not told), kind


@pytest.mark.parametrize(
    ("costs", "total"),
    [([], 0.0), ([0.0], 0.0), ([0.0, 0.25], 0.25), ([0.5, 0.25], 0.75), ([None, 0.25], None), ([None], None)],
)
def test_what_a_part_s_answers_cost_is_counted_once_and_unknown_where_one_has_no_price(tmp_path, costs, total):
    path, tokens = tmp_path / "journal.jsonl", [None, 3, 4][: len(costs)]
    with ReplyJournal.open(path) as journal:
        for place, (cost, number) in enumerate(zip(costs, tokens, strict=True)):
            journal.add(f"{place}", Reply("yes", usage=Usage(number, number, cost)), "k")
        spent = journal.spent()
    counts = (len(costs), sum(filter(None, tokens)), sum(filter(None, tokens)))
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == counts
    assert (spent.cost_usd, spent.replayed) == (total, 0)
    with ReplyJournal.open(path) as journal:
        assert journal.spent() == Spent()
        for place in [*range(len(costs))] * 2:
            assert journal.known(f"{place}").text == "yes"
        assert journal.known("another") is None
        assert journal.spent() == replace(spent, replayed=len(costs))


def test_a_part_costs_the_bytes_that_it_reads_and_those_that_it_writes(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2), shard_rows=5)
    stages = [look, fields(good="bool"), judge_stage(asks.alignment(), Counting(scores), when="contrast > 0")]
    run(dataset, stages)
    expected = {}
    for stage, parts in zip(stages, expected_parts(dataset, stages).values(), strict=True):
        for shard, part in zip(dataset.shards, parts, strict=True):
            picture = dataset.shard_path(shard.name).stat().st_size if "image" in stage.reads else 0
            inputs = sum((dataset.folder / each).stat().st_size for each in part.inputs)
            expected[stage.name, shard.name] = (inputs + picture, (dataset.folder / part.path).stat().st_size)
    lines = [json.loads(line) for line in (dataset.folder / COSTS).read_text().splitlines()]
    names = {stage.identity: stage.name for stage in stages}
    assert {(names[line["stage"]], line["shard"]): (line["bytes_read"], line["bytes_written"]) for line in lines} == expected


def test_a_journal_keeps_the_log_probabilities_of_a_reply_and_old_lines_have_none(tmp_path):
    path, token = tmp_path / "journal.jsonl", Token("Yes", -0.25, (("Yes", -0.25), ("No", -1.5)))
    with ReplyJournal.open(path) as journal:
        journal.add("soft", Reply("Yes", tokens=(token,)), "k")
        journal.add("hard", Reply("Yes"), "k")
    assert {request: reply.tokens for request, reply, _ in read_journal(path)} == {"soft": (token,), "hard": ()}
    assert '"tokens"' not in path.read_text().splitlines()[1]


OPTIONS = {"captions": {"style": 7, "entity": 6}, "translation": {"column": "prompt"}}


@pytest.mark.parametrize("name", sorted({*asks.ASKS} - {"suite"}))
def test_every_question_about_a_picture_is_answered_without_chance_and_with_room_for_a_page(name):
    content = jpeg()
    ask = asks.ASKS[name](**OPTIONS.get(name, {}))
    row = {"key": "k", **dict.fromkeys(ask.needs, 'A sign says "open".'), "edited": content, "style": 9, "entity": 9}
    examination = ask.examine(row, prepare_bytes(content, JUDGED_PICTURES).media)
    questions = [next(examination).question]
    with suppress(StopIteration):
        while True:
            questions.append(examination.send(Unscored(Reason.EMPTY, "no answer")).question)
    assert {(each.decoding.temperature, each.decoding.max_tokens) for each in questions} == {(0.0, 2048)}
