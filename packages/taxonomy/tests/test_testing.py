"""What other packages' tests lean on: the replay judge, and strategies that reach what they promise."""

import asyncio
import subprocess
import sys

import pytest
from hypothesis import Phase, find, given, settings

from salon_taxonomy.answers import Parsed, Unparsed, parse_magicmirror, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply
from salon_taxonomy.records import TABLES, CallStatus, LeaderboardRow
from salon_taxonomy.testing import ReplayJudge, magicmirror_answers, reasonings, records, spoiled

REPLIES = magicmirror_answers().map(render_magicmirror)


def test_a_replay_judge_answers_in_order_and_remembers_the_questions():
    judge = ReplayJudge(["one", Reply("", CallStatus.TIMEOUT)], version="v7")
    questions = [Question((text,)) for text in "ab"]
    replies = [asyncio.run(judge.ask(question)) for question in questions]
    assert replies == [Reply("one", version="v7"), Reply("", CallStatus.TIMEOUT)]
    assert judge.asked == questions
    assert isinstance(judge, Judge)


def test_a_replay_judge_that_is_out_of_replies_says_so():
    with pytest.raises(InputError, match="has no reply left"):
        asyncio.run(ReplayJudge([]).ask(Question(("a",))))


def test_spoiled_replies_are_sometimes_still_answers_and_sometimes_not():
    assert find(spoiled(REPLIES), lambda text: isinstance(parse_magicmirror(text), Parsed)) is not None
    assert find(spoiled(REPLIES), lambda text: isinstance(parse_magicmirror(text), Unparsed)) is not None


def test_generated_answers_include_the_awkward_ones():
    assert find(magicmirror_answers(), lambda answer: answer.normal)
    assert find(magicmirror_answers(), lambda answer: not answer.normal and not answer.artifacts) is not None
    assert find(magicmirror_answers(), lambda answer: len(answer.artifacts) == 6)
    assert find(reasonings(), lambda reasoning: reasoning == "") == ""


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_optional_columns_are_sometimes_given_and_sometimes_not(table):
    optional = {name for name, field in table.model_fields.items() if field.default is None}
    given_columns: set[str] = set()
    empty_columns: set[str] = set()

    @settings(max_examples=60, phases=[Phase.generate], database=None, derandomize=True)
    @given(row=records(table))
    def collect(row):
        given_columns.update(name for name in optional if getattr(row, name) is not None)
        empty_columns.update(name for name in optional if getattr(row, name) is None)

    collect()
    assert given_columns == empty_columns == optional


@given(row=records(LeaderboardRow))
def test_bounds_are_drawn_from_the_record_itself(row):
    assert row.rank >= 1
    assert 0 <= row.win_rate <= 1
    assert row.confidence is None or 0 < row.confidence < 1


def test_without_hypothesis_the_import_error_says_what_to_install():
    code = "import sys; sys.modules['hypothesis'] = None; import salon_taxonomy.testing"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "ImportError: salon_taxonomy.testing needs Hypothesis; install it with: pip install hypothesis" in run.stderr


def test_nothing_else_in_the_package_imports_hypothesis():
    code = "import salon_taxonomy, salon_taxonomy.answers, salon_taxonomy.protocols, sys; print('hypothesis' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
