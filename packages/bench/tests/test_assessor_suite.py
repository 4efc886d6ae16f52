"""The evaluation of an assessor as a suite: hostile answers first, then the same numbers as from files."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_problems import problem_of

from for_each import for_each
from salon_bench.suites import Case, RunContext, Suite, suite_named
from salon_bench.suites.assessors import evaluate, suite
from salon_bench.suites.assessors.label_space import label_names
from salon_bench.suites.assessors.suite import outcomes_in
from salon_taxonomy.answers import MagicMirrorAnswer, Parsed, Unparsed, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Prompt
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers
from salon_taxonomy.verdict import Reason, Scored, Unscored

NORMAL = MagicMirrorAnswer(True)


def a_case(number, truth):
    facts = {"truth": label_names(truth), "prompt": "A hand."}
    prompt = Prompt(prompt_id=f"{number}.png", suite="magicdata", text="A hand.")
    seen = {"media": (Media.from_bytes(b"picture"),), "generation_ids": (f"g{number}",)}
    context = RunContext("run", "assessor", "v1")
    return Case(f"case{number}", "magicdata", "pictures", prompt, facts=facts, context=context, **seen)


def rows_of(pairs):
    """Rows of score for truths and verdicts."""
    rows = []
    for number, (truth, verdict) in enumerate(pairs):
        examination = suite.examine(a_case(number, truth))
        assert next(examination).step == "assessment"
        with pytest.raises(StopIteration) as end:
            examination.send(verdict)
        rows += end.value.value
    known = {"value": pl.Float64, "unscored_reason": pl.String}
    return pl.DataFrame([row.model_dump() for row in rows], schema_overrides=known, infer_schema_length=None)


@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_answer_gives_no_score(reply):
    inquiry = next(suite.examine(a_case(0, NORMAL)))
    outcome = inquiry.parse(reply)
    assert isinstance(outcome, Unparsed)
    rows = rows_of([(NORMAL, outcome.unscored(reply))])
    assert rows["value"].to_list() == [None]
    assert rows["unscored_reason"].to_list() == [str(outcome.reason)]


def test_rows_say_what_people_say_and_what_the_assessor_says():
    truth = labels('{"L2: Abnormal Human Anatomy": ["L3: Hand Structure Deformity"]}')
    given_ = labels('{"L2: Abnormal Human Anatomy": [], "L2: Abnormal Object Morphology": true}')
    rows = rows_of([(truth, Scored(given_))])
    assert dict(zip(rows["dimension"], zip(rows["task"], rows["value"], strict=True), strict=True)) == {
        "artifact": ("present", 1.0),
        "L2: Abnormal Human Anatomy": ("present", 1.0),
        "L2: Abnormal Object Morphology": ("absent", 1.0),
        "L3: Hand Structure Deformity": ("present", 0.0),
    }


def labels(text):
    from salon_bench.suites.assessors import labels_in

    return labels_in(json.dumps({"Whether Normal": False, "Type of Deformity": json.loads(text)})).answer


verdicts = magicmirror_answers().map(Scored) | st.sampled_from([Reason.TIMEOUT, Reason.MALFORMED]).map(Unscored)


@settings(max_examples=25)
@given(st.lists(st.tuples(magicmirror_answers(), verdicts), min_size=1, max_size=6))
def test_the_suite_and_the_files_give_the_same_numbers(pairs):
    rows = rows_of(pairs)
    answers = [Parsed(v.value) if isinstance(v, Scored) else Unparsed(v.reason, "") for _, v in pairs]
    expected = evaluate([truth for truth, _ in pairs], answers)
    truth, found = outcomes_in(rows)
    assert evaluate(truth, found).table.equals(expected.table)
    summary = suite.aggregate(rows, pl.DataFrame())
    [f1] = summary.table.filter(pl.col("metric") == "artifact", pl.col("group").is_null())["value"].to_list()
    wanted = expected.table.row(0, named=True)["f1"]
    assert f1 == (None if wanted is None else pytest.approx(100 * wanted))
    assert summary.table["scored"][0] + summary.table["unscored"][0] == len(pairs)


def test_truth_and_answers_are_in_the_alphabetical_order_of_images():
    flawed = labels('{"L2: Abnormal Human Anatomy": []}')
    pairs = [(flawed if number % 3 else NORMAL, Scored(flawed if number % 2 else NORMAL)) for number in range(60)]
    rows = rows_of(pairs)
    truth, found = outcomes_in(rows.sample(fraction=1, shuffle=True, seed=1))
    ids = rows["prompt_id"].unique().sort().to_list()
    order = [rows["prompt_id"].unique(maintain_order=True).to_list().index(name) for name in ids]
    assert truth == [pairs[place][0] for place in order]
    assert [each.answer for each in found] == [pairs[place][1].value for place in order]


def test_the_summary_names_every_main_label_with_f1_first():
    table = suite.aggregate(rows_of([(NORMAL, Scored(NORMAL))]), pl.DataFrame()).table
    assert table["group"].to_list() == [None] * 9 + ["precision"] * 9 + ["recall"] * 9
    assert table["metric"][:2].to_list() == ["artifact", "L2: Irrational Element Interaction"]


def test_no_rows_give_an_empty_summary():
    assert suite.aggregate(rows_of([(NORMAL, Scored(NORMAL))]).clear(), pl.DataFrame()).table.height == 0


def test_the_suite_is_installed():
    assert isinstance(suite, Suite)
    assert suite_named("magicdata") is suite


def test_prompts_are_the_annotated_images(tmp_path):
    row = {"images": "part1/1.jpg", "response": '{"Whether Normal": true}'}
    (tmp_path / "test.jsonl").write_text(json.dumps(row) + "\n")
    [prompt] = suite.prompts(tmp_path / "test.jsonl")
    assert (prompt.prompt.prompt_id, prompt.facts["truth"], prompt.facts["prompt"]) == ("part1/1.jpg", (), "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "there is no row"),
        ('{"images": "1", "response": "no"}\n', "row 1, column 'response'"),
        ('{"images": "1", "response": "{\\"Whether Normal\\": true}"}\n' * 2, "is the image of row 1 already"),
        ('{"images": "' + "x" * 300 + '", "response": "{\\"Whether Normal\\": true}"}\n', "longer than 200"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_typed_error(content, message, tmp_path):
    (tmp_path / "test.jsonl").write_text(content)
    assert message in str(problem_of(suite.prompts, tmp_path / "test.jsonl"))


def test_a_run_without_labels_says_what_to_give():
    with pytest.raises(InputError, match="--prompts"):
        suite.prompts(None)


def test_a_reply_of_the_papers_assessor_is_read():
    inquiry = next(suite.examine(a_case(0, NORMAL)))
    assert inquiry.parse(render_magicmirror(NORMAL, "fine")).answer == NORMAL
