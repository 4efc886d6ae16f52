"""Soft questions of suite files: a run, a resumption, a rescoring, a cache and a reward give one value, or none and say why."""

import asyncio
import io
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_bench.runs.view import RunView
from salon_bench.suites import Case, dry_run, suite_named
from salon_bench.suites.contract.questions import Expected, Scale, YesNo, form_of
from salon_bench.suites.contract.soft_answers import soft_form
from salon_console import main
from salon_judges.testing.mock_server import MockServer, Script, ScriptLine, fixed, serving
from salon_rewards import make_reward
from salon_taxonomy.answers import Parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply, Token
from salon_taxonomy.records import Finish, Prompt, Score
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge

SOFT = """\
name = "soft"
prompts = "prompts.csv"
overall = "geometric_mean"
soft = true

[[question]]
id = "there"
ask = "Is there {prompt}?"
answer = "yes/no"

[[question]]
id = "sharp"
ask = "How sharp is {prompt}?"
answer = "1-5"
"""
STAR = ({"Yes": 0.7, " yes": 0.1, "No": 0.15, "It": 0.05},)
CUBE = ({" ": 0.9, "No": 0.1}, {"No": 0.5, "Yes": 0.5})
MARK = ({"4": 0.6, "five": 0.2, "5": 0.1, "The": 0.1},)
LINES = (
    ScriptLine(contains="Is there <data>\na star", tokens=STAR),
    ScriptLine(contains="Is there <data>\na cube", tokens=CUBE, finish="length"),
    ScriptLine(contains="How sharp", tokens=MARK),
)
SHARP = (4 * 0.6 + 5 * 0.3) / 0.9
WANTED = {"star": {"there": 0.8, "sharp": SHARP}, "cube": {"there": 0.45, "sharp": SHARP}}


def token(*pairs: tuple[str, float]) -> Token:
    return Token(pairs[0][0], math.log(pairs[0][1]), tuple((text, math.log(share)) for text, share in pairs))


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("soft.toml").write_text(SOFT)
    Path("prompts.csv").write_text("prompt_id,prompt\nstar,a star\ncube,a cube\n")
    Path("pictures").mkdir()
    for name in ("star", "cube"):
        Image.new("RGB", (8, 8), "red").save(f"pictures/{name}.png")
    return tmp_path


def run(judge: str, *more: object) -> dict[str, Any]:
    given = ("--model", "ours", "--generations", "pictures", "--judge", judge, "--format", "json")
    return json.loads(salon("bench", "run", "./soft.toml", *given, *more).stdout)[0]


def values(run_id: str, store: str = "results") -> dict[str, dict[str, float | str | None]]:
    rows = RunView(Path(store).absolute(), run_id).scores.sort("prompt_id")
    found: dict[str, dict[str, float | str | None]] = {}
    for row in rows.iter_rows(named=True):
        value = row["value"] if row["unscored_reason"] is None else row["unscored_reason"]
        found.setdefault(row["prompt_id"], {})[row["dimension"]] = value
    return found


def bodies(server: MockServer) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in server.seen]


def test_a_run_gives_the_probability_of_yes_and_the_mean_mark_and_says_what_is_off_the_menu(folder: Path) -> None:
    with serving(Script(LINES)) as server:
        report = run(f"vllm:mock@{server.url}")
        asked = bodies(server)
    assert len(asked) == 4
    assert all(body["logprobs"] is True and body["top_logprobs"] == 20 for body in asked)
    found = values(report["run_id"])
    for prompt, wanted in WANTED.items():
        assert {name: found[prompt][name] for name in wanted} == pytest.approx(wanted)
        of_a_scale = (SHARP - 1) / 4
        assert found[prompt]["overall"] == pytest.approx(math.sqrt(wanted["there"] * of_a_scale))
    assert (found["star"]["there.off_menu"], found["star"]["sharp.off_menu"]) == (pytest.approx(0.05), pytest.approx(0.1))
    assert found["cube"]["there.off_menu"] == pytest.approx(0.0, abs=1e-9)
    assert "Soft answers, by the judge's log-probabilities: there, sharp" in " ".join(report["models"][0]["notes"])


def test_a_stopped_run_a_rescored_one_and_one_from_a_cache_have_the_values_of_the_live_one(folder: Path) -> None:
    with serving(Script(LINES)) as server:
        live = values(run(f"vllm:mock@{server.url}", "--store", "live")["run_id"], "live")
        stopped = run(f"vllm:mock@{server.url}", "--max-calls", 3, "--concurrency", 1)["run_id"]
        assert salon("bench", "resume", stopped).exit_code == 0
        assert server.stats.requests == 8, "the reply to the first question of the open case was stored"
        assert values(stopped) == live
        again = json.loads(salon("bench", "rescore", stopped, "--format", "json").stdout)[0]
        assert (again["changes"]["same"], again["changes"]["other_value"]) == (10, 0)
        assert values(again["run_id"]) == live
        cached = [run(f"cache:replies=vllm:mock@{server.url}", "--store", store)["run_id"] for store in ("one", "two")]
        assert server.stats.requests == 12, "the reply that was cut off behind its answer is whole"
        assert values(cached[0], "one") == values(cached[1], "two") == live
        replayed = run("replay:replies", "--store", "three")["run_id"]
    assert values(replayed, "three") == live


def test_a_stored_reply_without_log_probabilities_is_unscored_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salon_bench.runs.suite_runner.tokens_text", lambda tokens: None)
    with serving(Script(LINES)) as server:
        run_id = run(f"vllm:mock@{server.url}")["run_id"]
    again = json.loads(salon("bench", "rescore", run_id, "--format", "json").stdout)[0]
    assert again["changes"]["now_unscored"] == 10
    assert {value for row in values(again["run_id"]).values() for value in row.values()} == {"not_reported"}


def test_a_judge_without_log_probabilities_gives_no_verdict_and_is_asked_once(folder: Path) -> None:
    with serving(Script(rule=fixed("yes"))) as server:
        run_id = run(f"vllm:mock@{server.url}", "--store", "mute")["run_id"]
        assert server.stats.requests == 4
    assert {value for row in values(run_id, "mute").values() for value in row.values()} == {"not_reported"}
    calls = RunView(Path("mute").absolute(), run_id).calls
    assert calls["parse_status"].unique().to_list() == ["not_reported"]


@for_each("judge", ["pixels:", "judge.toml", "there=pixels:", "cache:replies=pixels:"])
def test_a_judge_that_never_reports_log_probabilities_is_refused_before_a_call(folder: Path, judge: str) -> None:
    Path("judge.toml").write_text('kind = "vllm"\nmodel = "m"\n[decoding]\ntop_logprobs = 0\n')
    more = ("--judge", "vllm:m@127.0.0.1:9") if judge.startswith("there") else ()
    words = ("--model", "ours", "--generations", "pictures", "--judge", judge, *more)
    result = salon("bench", "run", "./soft.toml", *words)
    assert result.exit_code == 2
    assert "the question 'there' of soft is soft, and this judge reports no log-probabilities" in result.output.replace(
        "\n", " "
    )
    assert not Path("results").exists()


@for_each(
    ("old", "new", "message"),
    [
        ('answer = "1-5"', 'answer = "1-10"', "cannot tell '1' from '10'"),
        ('answer = "1-5"', 'answer = ["photo", "painting"]', "the answer to a soft question is"),
        ('answer = "1-5"', 'answer = "score"', "the answer to a soft question is"),
        ('answer = "1-5"', 'answer = "yes/no"\nneeds = ["there"]', "a yes-or-no question can need earlier ones"),
        ('answer = "1-5"', 'answer = "expected"', "write each = COLUMN"),
        ("soft = true", 'soft = "yes"', "soft"),
        ('"geometric_mean"', '"median"', "overall"),
    ],
)
def test_a_question_that_has_no_soft_form_is_an_error_of_its_line(folder: Path, old: str, new: str, message: str) -> None:
    Path("soft.toml").write_text(SOFT.replace(old, new))
    with pytest.raises(InputError) as refused:
        suite_named("./soft.toml")
    assert message in str(refused.value)
    assert "soft.toml" in str(refused.value)


def test_one_question_may_be_hard_in_a_soft_file_and_soft_in_a_hard_one(folder: Path) -> None:
    Path("soft.toml").write_text(SOFT.replace('answer = "1-5"', 'answer = "1-5"\nsoft = false'))
    mixed = suite_named("./soft.toml")
    assert mixed.soft_steps == ("there",)
    Path("soft.toml").write_text(SOFT.replace("soft = true\n", "").replace('answer = "1-5"', 'answer = "1-5"\nsoft = true'))
    assert suite_named("./soft.toml").soft_steps == ("sharp",)
    Path("soft.toml").write_text(SOFT.replace("soft = true\n", ""))
    assert suite_named("./soft.toml").soft_steps == ()


def case() -> Case:
    return Case("c", "soft", "ours", Prompt(prompt_id="star", suite="soft", text="a star"), generation_ids=("g",))


@for_each("reply", HOSTILE_REPLIES)
def test_a_text_is_no_soft_answer_whatever_it_says(folder: Path, reply: str) -> None:
    for text in (reply, "yes", "4"):
        rows = [row for row in dry_run(suite_named("./soft.toml"), case(), [text] * 2).records if isinstance(row, Score)]
        assert [row.value for row in rows] == [None] * 5


def test_prose_a_refusal_and_a_number_of_another_menu_are_no_answers(folder: Path) -> None:
    suite = suite_named("./soft.toml")
    prose = Reply("The star", tokens=(token(("The", 0.6), ("Yes", 0.4)),))
    withheld = Reply("Yes", finish=Finish.FILTERED, tokens=(token(("Yes", 1.0)),))
    nine = Reply("9", tokens=(token(("9", 0.7), ("4", 0.3)),))
    for first, second, reasons in ((prose, nine, ("off_menu", "off_menu")), (withheld, prose, ("refused", "off_menu"))):
        verdicts = dry_run(suite, case(), [first, second]).verdicts
        assert tuple(str(each.reason) for each in verdicts) == reasons
    assert (
        "0.400 of the probability is on yes, no; the reply begins with 'the'"
        in dry_run(suite, case(), [prose]).verdicts[0].detail
    )


def test_a_reward_pays_the_soft_value(folder: Path) -> None:
    encoded = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(encoded, format="PNG")
    picture = encoded.getvalue()
    replies = [Reply("Yes", tokens=(token(("Yes", 0.64), ("No", 0.36)),)), Reply("5", tokens=(token(("5", 1.0)),))]
    reward = make_reward("suite:./soft.toml", judge=ReplayJudge(replies), concurrency=1)
    assert asyncio.run(reward([""], images=[picture], prompt_id=["star"])) == [pytest.approx(0.8)]
    silent = make_reward("suite:./soft.toml", judge=ReplayJudge(["yes", "5"]), concurrency=1)
    assert asyncio.run(silent([""], images=[picture], prompt_id=["star"])) == [None]
    from salon_judges.clients import open_judge

    with pytest.raises(InputError, match="reports no log-probabilities"):
        make_reward("suite:./soft.toml", judge=open_judge("pixels:"))


@for_each(
    ("expected", "pairs", "value"),
    [
        ("Yes", (("Yes", 0.8), (" yes", 0.1), ("No", 0.1)), 0.9),
        ("no", (("Yes", 0.8), ("No", 0.2)), 0.2),
        ("four", (("four", 0.5), ("4", 0.25), ("five", 0.25)), 0.75),
        (4, (("twelve", 0.9), ("4", 0.1)), 0.1),
        ("4", (("12", 0.9), ("Four", 0.1)), 0.1),
        ("4", (("There", 0.9), ("4", 0.1)), None),
    ],
)
def test_an_expected_answer_is_worth_the_probability_of_its_spellings(
    expected: object, pairs: Any, value: float | None
) -> None:
    outcome = soft_form(Expected().of(expected)).weigh([token(*pairs)])
    assert (outcome.answer.value if isinstance(outcome, Parsed) else None) == (None if value is None else pytest.approx(value))


@for_each("answer", ["maybe", "", 10, "ten", None, -1, "4.0", "²", True])
def test_an_expected_answer_off_the_menu_is_refused(answer: object) -> None:
    with pytest.raises(InputError, match="that an item expects"):
        Expected().of(answer)


def test_a_hard_expected_answer_is_right_or_wrong_or_nothing() -> None:
    four, yes = Expected().of("four"), Expected().of("Yes")
    assert [four.values(four.parse(text).answer)[""] for text in ("Answer: 4", "4", "Answer: 40")] == [1.0, 1.0, 0.0]
    assert [yes.values(yes.parse(text).answer)[""] for text in ("Answer: yes", "No.")] == [1.0, 0.0]
    assert not isinstance(four.parse("some"), Parsed)
    assert form_of("expected") == Expected()


@given(st.dictionaries(st.sampled_from(["1", "2", "3", "4", "5", "five", "The"]), st.floats(0.001, 1.0), min_size=1))
def test_a_mean_mark_is_the_weighted_mean_of_the_scale_or_nothing(weights: dict[str, float]) -> None:
    whole = sum(weights.values())
    shares = {text: weight / whole for text, weight in weights.items()}
    outcome = soft_form(Scale(1, 5)).weigh([token(*shares.items())])
    marks = [(int(text.replace("five", "5")), share) for text, share in shares.items() if text != "The"]
    on_scale = sum(share for _, share in marks)
    if isinstance(outcome, Parsed):
        assert 1 <= outcome.answer.value <= 5
        assert outcome.answer.value == pytest.approx(sum(mark * share for mark, share in marks) / on_scale)
        assert outcome.answer.off_menu == pytest.approx(1 - on_scale, abs=1e-9)
    else:
        assert on_scale < 0.5 + 1e-9


def test_the_soft_value_of_a_certain_judge_is_the_hard_value() -> None:
    for form, text in ((YesNo(), "yes"), (YesNo(), "no"), (Scale(1, 5), "4"), (Scale(0, 9), "9")):
        soft = soft_form(form)
        assert soft.values(soft.weigh([token((text, 1.0))]).answer)[""] == form.values(form.parse(text).answer)[""]
        assert soft.spans[""] == form.spans[""]


def test_geneval2_is_the_mean_of_the_geometric_means_of_the_summed_spellings(folder: Path) -> None:
    rows = [
        {"prompt": "two stars", "atom_count": 3, "vqa_list": [["How many stars?", "two"], ["Are there stars?", "Yes"]]},
        {"prompt": "a red cube", "atom_count": 4, "vqa_list": [["How many cubes?", "one"], ["Is the cube red?", "Yes"]]},
    ]
    Path("data").mkdir()
    Path("data/geneval2_data.jsonl").write_text(
        "".join(json.dumps({**row, "skills": ["count", "object"]}) + "\n" for row in rows)
    )
    Path("made").mkdir()
    for number in (1, 2):
        Image.new("RGB", (8, 8), "red").save(f"made/{number:03d}.png")
    shares = {"How many stars?": ("two", "2", 0.9), "Are there stars?": ("Yes", "yes", 0.4),
              "How many cubes?": ("one", "1", 0.2), "Is the cube red?": ("Yes", " YES", 1.0)}  # fmt: skip
    lines = tuple(
        ScriptLine(
            contains=question, tokens=({first: share * 0.75, second: share * 0.25, "No": 1 - share + 1e-9, "three": 1e-9},)
        )
        for question, (first, second, share) in shares.items()
        if question != "How many cubes?"
    )
    cubes = ScriptLine(contains="How many cubes?", tokens=({"three": 0.8, "one": 0.15, "1": 0.05},))
    example = Path(__file__).parents[3] / "examples/suites/geneval2.toml"
    with serving(Script((*lines, cubes))) as server:
        given = ("--model", "ours", "--prompts", "data", "--generations", "made", "--judge", f"vllm:mock@{server.url}")
        report = json.loads(salon("bench", "run", example, *given, "--format", "json").stdout)[0]
    table = pl.DataFrame(report["models"][0]["table"], infer_schema_length=None)
    [gm] = table.filter((pl.col("metric") == "overall") & pl.col("group").is_null())["value"]
    assert gm == pytest.approx((math.sqrt(0.9 * 0.4) + math.sqrt(0.2 * 1.0)) / 2)
    groups = table.filter(pl.col("metric") == "overall")["group"].drop_nulls().to_list()
    assert sorted(groups) == ["3 atoms", "4 atoms"]


def test_an_item_that_expects_what_is_on_no_menu_names_the_prompt(folder: Path) -> None:
    Path("data").mkdir()
    row = {"prompt": "stars", "atom_count": 3, "vqa_list": [["How many stars?", "some"]]}
    Path("data/geneval2_data.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=r"(?s)the prompt '001'.*that an item expects.*some"):
        suite_named(str(Path(__file__).parents[3] / "examples/suites/geneval2.toml")).prompts(Path("data"))


@pytest.mark.parametrize(
    ("word", "share", "expected"), [("3", 0.3, "3"), ("Pretty", 0.9, "3"), ("Plenty", 0.9, "3"), ("Empty", 0.9, "0")]
)
def test_a_word_that_is_no_further_number_keeps_the_rule_of_half(word: str, share: float, expected: str) -> None:
    token = Token(word, math.log(share), ((word, math.log(share)), ("The", math.log(0.05))))
    outcome = soft_form(Expected(expected)).weigh([token])
    assert not isinstance(outcome, Parsed)
    twelve = [Token("12", math.log(0.9), (("12", math.log(0.9)),))]
    assert isinstance(soft_form(Expected(expected)).weigh(twelve), Parsed)


def test_the_first_token_alone_counts_whatever_it_is_where_a_file_says_so(tmp_path: Path) -> None:
    """As ``send_message_with_image`` of GenEval 2's ``evaluation.py`` sums the first token's spellings of the answer."""
    row = {"prompt": "stars", "atom_count": 3, "vqa_list": [["How many stars?", "three"]]}
    (tmp_path / "geneval2_data.jsonl").write_text(json.dumps(row) + "\n")
    examples = Path(__file__).parents[3] / "examples/suites"
    first = Token("The", math.log(0.7), (("The", math.log(0.7)), (" 3", math.log(0.1)), ("Three", math.log(0.05))))
    tokens = [first, Token(" 3", math.log(0.9), ((" 3", math.log(0.9)),))]
    for name, value in (("geneval2-released", 0.15), ("geneval2", None)):
        suite = suite_named(str(examples / f"{name}.toml"))
        [item] = suite.prompts(tmp_path)
        [(_, question)] = suite._asked(item.facts, item.prompt.text)
        outcome = question.form.weigh(tokens)
        assert (pytest.approx(outcome.answer.value) if isinstance(outcome, Parsed) else None) == value
    blank = [Token(" ", math.log(0.9), ((" ", math.log(0.9)), ("3", math.log(0.1)))), Token("3", 0.0, (("3", 0.0),))]
    assert soft_form(Expected("3"), first=True).weigh(blank).answer.value == pytest.approx(0.1)
    assert not isinstance(soft_form(Expected("3"), first=True).weigh([]), Parsed)
    assert not isinstance(soft_form(Scale(5, 9), first=True).weigh(tokens[:1]), Parsed)
