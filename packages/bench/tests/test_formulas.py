"""Formulas of suite files compute what Python computes, know nothing else, and make no number of a missing answer."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites import Case, dry_run, suite_named
from salon_bench.suites.contract.formulas import FUNCTIONS, Formula
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Scored, Unscored

NAMES = ("a", "b", "c")
leaves = st.sampled_from([*NAMES, "0", "1", "2.5", "flag"])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(st.sampled_from(["+", "-", "*", "/", "<", "<=", "==", "!="]), inner, inner)
    both = st.tuples(st.sampled_from(["and", "or"]), inner, inner)
    calls = st.tuples(st.sampled_from(["min", "max", "mean"]), st.lists(inner, min_size=2, max_size=3))
    choices = st.tuples(inner, inner, inner)
    return st.one_of(
        pairs.map(lambda pair: f"({pair[1]} {pair[0]} {pair[2]})"),
        both.map(lambda pair: f"((not not {pair[1]}) {pair[0]} (not not {pair[2]}))"),
        calls.map(lambda call: f"{call[0]}({', '.join(call[1])})"),
        choices.map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        inner.map(lambda part: f"(not {part})"),
    )


@given(st.recursive(leaves, grown, max_leaves=12), st.tuples(*[st.integers(-5, 5)] * 3), st.booleans())
def test_a_formula_is_what_python_computes(text: str, values: tuple[int, ...], flag: bool) -> None:
    numbers = {name: float(value) for name, value in zip(NAMES, values, strict=True)}
    mine = Formula(text).value({name: Scored(value) for name, value in numbers.items()}, {"flag": flag})
    try:
        oracle = eval(text, {"__builtins__": {}}, {**FUNCTIONS, **numbers, "flag": flag})
    except ZeroDivisionError:
        assert isinstance(mine, Unscored)
    else:
        assert isinstance(mine, Scored)
        assert mine.value == pytest.approx(float(oracle), abs=1e-12)


@for_each(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "a.b.c",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "min",
        "min(*a)",
        "min()",
        "open('x')",
        "a[0]",
        "f'{a}'",
        "a := 1",
        "1 if",
        "",
        "a\0",
        "None",
        "a @ b",
        "a is b",
        "-" * 1900 + "a",
        "1+" * 950 + "a",
        "1+" * 1200 + "1",
    ],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Formula(text).value({"a": Scored(1.0)}, {})


NO_NUMBERS = [
    "9.0 ** 9 ** 9",
    "1 / 0",
    "sqrt(-1)",
    "(0 - 8) ** .5",
    "1e999",
    "1e200 * 1e200",
    "min(1, 1e999)",
    "1e308",
    "0 - 1e101",
    "min(1, lost)",
    "lost > 0",
    "1 if endless > 0 else 0",
    "min(1, answer)",
    "not lost",
]


@for_each("text", NO_NUMBERS)
def test_where_there_is_no_number_there_is_no_score(text: str) -> None:
    verdict = Formula(text).value({"answer": Scored(math.nan)}, {"lost": math.nan, "endless": math.inf})
    assert isinstance(verdict, Unscored)
    assert verdict.reason is Reason.NOT_REPORTED


@for_each("text", ["'ab' * 3", "'a' + 'b'", "-'a'", "min('a', 1)", "word + 1", "nothing", "'a' < 1", "'words'"])
def test_texts_are_no_numbers(text: str) -> None:
    with pytest.raises(InputError):
        Formula(text).value({}, {"word": "x"})


def test_a_missing_answer_leaves_no_number_where_it_is_read_and_only_there() -> None:
    numbers: dict[str, Any] = {"a": Scored(1.0), "lost": Unscored(Reason.REFUSED)}
    assert Formula("a + lost").value(numbers, {}) == Unscored(Reason.REFUSED)
    assert Formula("a if a else lost").value(numbers, {}) == Scored(1.0)
    assert Formula("x_y in ('p', 'q')").holds({"x_y": "p"})
    assert math.isclose(float(getattr(Formula("x_y * 2").value({"x-y": Scored(2.0)}, {}), "value", 0)), 4)


SUITE = """\
name = "gated"
prompts = "prompts.jsonl"
group = "kind"
over = "groups"
question = [
  { id = "done", ask = "Is it done?", answer = "1-5" },
  { id = "extra", ask = "And more?", answer = "yes/no", when = "kind == 'b'" }]
number = [
  { id = "overall", range = [1, 5], formula = "(done + 4 * extra) / 2 if kind == 'b' else done", units = "1 + (kind == 'b')" },
  { id = "best", formula = "overall == 5" }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite file with formulas, and prompts of two groups."""
    monkeypatch.chdir(tmp_path)
    Path("gated.toml").write_text(SUITE)
    Path("prompts.jsonl").write_text("".join(f'{{"prompt": "p{n}", "kind": "{k}"}}\n' for n, k in enumerate("aab")))
    return tmp_path


def test_numbers_are_rows_and_groups_count_alike(folder: Path) -> None:
    import polars as pl

    suite: Any = suite_named("./gated.toml")
    rows = []
    for item, replies in zip(suite.prompts(None), ("5", "3", "5 yes"), strict=True):
        case = Case(
            item.prompt.prompt_id, suite.name, "m", item.prompt, facts=item.facts, generation_ids=(item.prompt.prompt_id,)
        )
        records = dry_run(suite, case, [f"Answer: {reply}" for reply in replies.split()]).records
        rows += [row.model_dump() for row in records]
        paid = [value for row in records if (value := suite.reward.of(row)) is not None]
        assert paid == [{"5": 1.0, "3": 0.5, "5 yes": 0.875}[replies]]
    table = suite.aggregate(pl.DataFrame(rows, infer_schema_length=None), pl.DataFrame()).table
    found = {(row["metric"], row["group"]): row["value"] for row in table.iter_rows(named=True)}
    assert found["overall", "a"] == 4
    assert found["overall", "b"] == 4.5
    assert found["overall", None] == 4.25, "each group counts alike, however many pictures and units it has"
    assert found["best", None] == pytest.approx((0.5 + 0) / 2)
    assert found["extra", None] == 1, "who was not asked does not count"


def test_no_reply_makes_a_number_by_accident(folder: Path) -> None:
    suite: Any = suite_named("./gated.toml")
    item = suite.prompts(None)[2]
    for reply in HOSTILE_REPLIES:
        dimensions = {
            row.dimension: row
            for row in dry_run(suite, Case("1", suite.name, "m", item.prompt, facts=item.facts), [reply] * 2).records
        }
        row: Any = dimensions["overall"]
        assert row.value is None or 1 <= row.value <= 5
        assert row.value is not None or dimensions["overall.units"].value is None


@for_each(
    ("old", "new", "key"),
    [
        ("overall == 5", "overall is 5", "formula"),
        ("kind == 'b'\"", 'open(kind)"', "when"),
        ("range = [1, 5]", "range = [5, 1]", "range"),
        ('id = "best"', 'id = "done"', "id"),
        ('group = "kind"\n', "", "over"),
        ('over = "groups"', 'overall = "mean"', "overall"),
    ],
)
def test_faults_of_a_file_are_named_with_their_key(folder: Path, old: str, new: str, key: str) -> None:
    Path("gated.toml").write_text(SUITE.replace(old, new))
    with pytest.raises(InputError) as caught:
        suite_named("./gated.toml")
    assert caught.value.key == key
    assert caught.value.line is not None


@for_each(("old", "new"), [("overall == 5", "overal == 5"), ("1 + (kind", "(kind"), ("+ 4 *", "+ kind *")])
def test_what_does_not_fit_the_prompts_is_named_before_a_judge_is_asked(folder: Path, old: str, new: str) -> None:
    Path("gated.toml").write_text(SUITE.replace(old, new))
    with pytest.raises(InputError, match="the prompt '000"):
        suite_named("./gated.toml").prompts(None)


@given(st.recursive(st.sampled_from([*NAMES, "0", "1", "kind", "'b'", "flag", "tpyo"]), grown, max_leaves=8), st.data())
def test_what_the_check_passes_is_computed_whatever_the_answers_are(text: str, data: st.DataObject) -> None:
    facts = {"flag": True, "kind": "b"}
    numbers = {name: Scored(float(data.draw(st.integers(-2, 2)))) for name in NAMES}
    try:
        Formula(text).check(NAMES, facts)
    except InputError:
        return
    Formula(text).value(numbers, facts)


@for_each(
    "text",
    ["a if a == 1 else tpyo", "a if a == 1 else 'none'", "a == 1 or tpyo", "min(a, 'x' if a else 1)", "a == 1 or 'a' < a"],
)
def test_a_branch_that_other_answers_take_is_checked(text: str) -> None:
    with pytest.raises(InputError):
        Formula(text).check(["a"], {})


def test_min_max_and_mean_take_all_answers_to_a_question_and_one_missing_leaves_none() -> None:
    several = (Scored(1.0), Scored(0.0), Scored(0.5))
    numbers = {"there": several, "kept": Scored(4.0), "none": ()}
    values = [
        Formula(text).value(numbers, {}) for text in ("mean(there)", "max(there, kept)", "min(there) + mean(there, kept)")
    ]
    assert values == [Scored(0.5), Scored(4.0), Scored(1.375)]
    missing = Unscored(Reason.REFUSED)
    assert Formula("mean(there)").value({"there": (*several, missing)}, {}) == missing
    assert isinstance(Formula("mean(none)").value(numbers, {}), Unscored)
    with pytest.raises(InputError):
        Formula("there * 2").value(numbers, {})


@for_each("text", ["stages == 2", "stages != 2", "2 == stages", "stages in (2, 3)", "stages not in [2]", "2 in marks"])
def test_a_text_that_is_compared_with_a_number_is_an_error_and_not_always_false(text: str) -> None:
    """The cells of a CSV file are texts, so that such a question was never asked, and such a number always 0."""
    facts = {"stages": "2", "marks": ["1", "2"]}
    for compute in (Formula(text).holds, lambda row: Formula(text).check([], row), lambda row: Formula(text).value({}, row)):
        with pytest.raises(InputError, match="never equals"):
            compute(facts)
    typed = {"stages": 2, "marks": [1, 2]}
    assert Formula(text).holds(typed) is not Formula(text).holds({"stages": 4, "marks": [1]})
    assert not Formula("stages == 2").holds({"stages": ""}) and not Formula("stages == 2").holds({"stages": None})


@for_each("text", ["a if kind == 'b' else kind * 2", "kind == 'b' or a * tpyo", "a if a in (1, kind) else 2"])
def test_a_branch_that_the_prompt_decides_is_not(text: str) -> None:
    Formula(text).check(["a"], {"kind": "b"})


@for_each(
    ("old", "new", "words"),
    [
        ('id = "best", formula = "overall == 5"', 'id = "best", formula = "best + 1"', "is no earlier number"),
        (
            'id = "best", formula = "overall == 5"',
            'id = "x", formula = "y + 1" }, { id = "y", formula = "1"',
            "is no earlier number",
        ),
        ('ask = "And more?"', 'ask = "And {each}?", each = "more"', "for each item"),
        (
            'id = "done", ask',
            'id = "e-x", ask = "?", answer = "yes/no" }, { id = "e_x", ask = "?", answer = "yes/no" }, { id = "done", ask',
            "",
        ),
    ],
)
def test_a_formula_reads_no_name_that_stands_for_no_one_number(folder: Path, old: str, new: str, words: str) -> None:
    text = SUITE.replace(old, new)
    Path("gated.toml").write_text(text if words else text.replace("overall == 5", "e_x"))
    with pytest.raises(InputError, match=words or "name of several numbers") as caught:
        suite_named("./gated.toml")
    assert caught.value.key == "formula"


def records_of(text: str, replies: list[str], facts: dict[str, Any]) -> dict[str, Any]:
    Path("own.toml").write_text(f'name = "own"\nprompts = "prompts.jsonl"\n{text}')
    suite: Any = suite_named("./own.toml")
    item = suite.prompts(None)[0]
    case = Case("1", suite.name, "m", item.prompt, facts=facts, generation_ids=("1",))
    return {row.dimension: row for row in dry_run(suite, case, replies).records}


@for_each("rule", ["all", "mean", "geometric_mean"])
def test_where_nothing_was_asked_there_is_no_overall_number(folder: Path, rule: str) -> None:
    question = '[[question]]\nid = "done"\nask = "Done?"\nanswer = "yes/no"\nwhen = "kind == \'z\'"'
    row = records_of(f'overall = "{rule}"\n{question}', [], {"kind": "a"})["overall"]
    assert (row.value, row.unscored_reason) == (None, "not_reported")


@for_each(("formula", "value"), [("mark * 2", None), ("0 - mark", None), ("mark", 4.0), ("1.1 * mark - 0.4 + 1e-12 + 1", 5.0)])
def test_a_number_outside_of_its_range_is_none(folder: Path, formula: str, value: float | None) -> None:
    question = '[[question]]\nid = "mark"\nask = "How good?"\nanswer = "1-5"\n'
    row = records_of(f'{question}[[number]]\nid = "overall"\nrange = [0, 5]\nformula = "{formula}"', ["Answer: 4"], {})[
        "overall"
    ]
    assert row.value == value
