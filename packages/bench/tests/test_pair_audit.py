"""Judges and scorers held against people's choices about pairs: ``salon bench audit`` and its two suites."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from salon_bench.suites import dry_run, suite_named
from salon_bench.suites.contract.dry_run import shape
from salon_bench.suites.contract.suite import Case
from salon_console import main
from salon_judges.testing.mock_server import Asked, Script, ScriptLine, fixed, serving
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import MediaKind, Prompt, Score
from salon_taxonomy.testing import HOSTILE_REPLIES

SCORERS = """
def light(images, prompts):
    return [float(image.getpixel((0, 0))[0]) for image in images]

def dark(images, prompts):
    return light(images, prompts)
dark.higher_is_better = False

def none(images, prompts):
    return [float("nan") for image in images]

def same(images, prompts):
    return [1.0 for image in images]
"""
ORDERED = ("left", "right", "both good", "both bad")


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve pairs: people chose the lighter picture, which is picture a in every other pair; category is its parity."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.py").write_text(SCORERS)
    rows = []
    for number in range(12):
        for side, light in (("a", number % 2 == 0), ("b", number % 2 == 1)):
            shade = 200 + number if light else 20 + number
            Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / f"{number}{side}.png")
        chosen = "model_a" if number % 2 == 0 else "model_b"
        names = {side: f"{number}{side[-1]}.png" for side in ("picture_a", "picture_b")}
        rows.append({"battle_id": f"p{number}", "prompt": "a lamp", **names, "winner": chosen, "category": str(number % 2)})
    write(tmp_path / "pairs.csv", rows)
    return tmp_path


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def audited(*words: object, pairs: str = "pairs.csv") -> dict[str, Any]:
    result = salon("bench", "audit", *words, "--pairs", pairs, "--format", "json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def eyes(folder: Path) -> Script:
    """A judge that prefers the lighter picture, wherever it is shown."""
    shades = {}
    for file in folder.glob("*.png"):
        shades[hashlib.sha256(file.read_bytes()).hexdigest()] = Image.open(file).getpixel((0, 0))[0]  # type: ignore[index]

    def answer(asked: Asked) -> str:
        left, right = (shades[each] for each in asked.image_sha256s)
        return json.dumps({"reason": "", "verdict": "left" if left > right else "right"})

    return Script(rule=answer)


def case(kind: MediaKind = MediaKind.IMAGE, pictures: int = 2) -> Case:
    media = tuple(Media.from_bytes(bytes([number]), kind) for number in range(pictures))
    return Case("c", "pairs", "set", Prompt(prompt_id="p", suite="pairs", text="a lamp"), media=media)


@pytest.mark.parametrize("reply", [*HOSTILE_REPLIES, '{"reason": "", "verdict": "a"}', '{"verdict": ["left"]}'])
def test_a_reply_that_cannot_be_read_is_no_verdict(reply: str) -> None:
    rows = dry_run(suite_named("pairs"), case(), [reply, reply]).records
    assert [(row.value, row.unscored_reason is None) for row in rows if isinstance(row, Score)] == [(None, False)] * 2


@pytest.mark.parametrize("first", ORDERED)
@pytest.mark.parametrize("second", ORDERED)
def test_exchanging_the_pictures_exchanges_the_verdict(first: str, second: str) -> None:
    """What is said of the left picture is said of picture b in the second order."""
    replies = [json.dumps({"reason": "", "verdict": word}) for word in (first, second)]
    rows = {(row.task, row.dimension): row.value for row in dry_run(suite_named("pairs"), case(), replies).records}  # type: ignore[attr-defined]
    share = {"left": 1.0, "right": 0.0}
    assert rows["a left", "a is better"] == share.get(first, 0.5)
    assert rows["a right", "a is better"] == 1.0 - share.get(second, 0.5)
    assert rows.get(("a left", "both good")) == {"both good": 1.0, "both bad": 0.0}.get(first)
    assert rows.get(("a right", "both good")) == {"both good": 1.0, "both bad": 0.0}.get(second)


def test_the_question_of_an_edit_shows_the_source_first_and_that_of_a_video_says_so() -> None:
    suite = suite_named("pairs")
    edit = dry_run(suite, case(pictures=3), [])
    assert [str(shape(each.question)["parts"])[:64] for each in edit.inquiries] == [
        "('Before:', '<image/>', 'Left:', '<image/>', 'Right:', '<image/>"
    ] * 2
    assert edit.inquiries[0].question.media[0] == edit.inquiries[1].question.media[0] == case(pictures=3).media[2]
    assert edit.inquiries[0].question.media[1:] == edit.inquiries[1].question.media[:0:-1]
    video = dry_run(suite, case(MediaKind.VIDEO), []).inquiries[0].question
    assert "move as they should" in video.text
    assert "move as they should" not in edit.inquiries[0].question.text


def test_a_judge_that_sees_is_right_and_one_that_says_left_only_is_known_by_its_order(world: Path) -> None:
    with serving(eyes(world)) as server:
        right = audited(f"openai:seer@{server.url}")["rows"][0]
    assert (right["accuracy"], right["same_in_both_orders"], right["first"], right["missing"]) == (1.0, 1.0, 0.5, 0)
    with serving(Script(rule=fixed('{"reason": "", "verdict": "left"}'))) as server:
        left = audited(f"openai:lefty@{server.url}")["rows"][0]
    assert (left["accuracy"], left["same_in_both_orders"], left["first"]) == (0.5, 0.0, 1.0)


def test_a_scorer_is_right_where_its_higher_number_is_and_equal_or_missing_numbers_decide_nothing(world: Path) -> None:
    scorers = [f"scorer:./metrics.py:{name}" for name in ("light", "dark", "same", "none")]
    document = audited(*scorers, "--by", "category")
    rows = {(row["judge"], row["part"]): row for row in document["rows"]}
    assert [rows[name, None]["accuracy"] for name in ("light", "dark", "same", "none")] == [1.0, 0.0, 0.5, None]
    assert rows["none", None]["missing"] == 12
    assert rows["light", "1"]["pairs"] == 6
    assert rows["light", None]["first"] is None  # a scorer sees no order
    assert {row["judge"]: row["calls"] for row in document["cost"]} == dict.fromkeys(("light", "dark", "same", "none"), 24)


def test_a_pair_without_its_picture_is_missing_and_named(world: Path) -> None:
    (world / "3b.png").unlink()
    result = salon("bench", "audit", "scorer:./metrics.py:light", "--pairs", "pairs.csv", "--format", "json")
    assert result.exit_code == 0, result.output
    [row] = json.loads(result.stdout)["rows"]
    assert (row["missing"], row["accuracy"], round(row["exact"] * 12)) == (1, 1.0, 11)
    assert "3b.png" in result.stderr


def test_new_choices_of_people_need_no_new_verdicts_and_the_order_of_rows_changes_nothing(world: Path) -> None:
    rows = rows_of(world / "pairs.csv")
    first = audited("scorer:./metrics.py:light")
    write(world / "pairs.csv", [{**row, "winner": "tie"} for row in rows])
    result = salon("bench", "audit", "scorer:./metrics.py:light", "--pairs", "pairs.csv", "--format", "json")
    assert "nothing is left to do" in result.stderr
    assert json.loads(result.stdout)["rows"][0]["decided"] == 0.0
    write(world / "pairs.csv", rows[::-1])
    assert audited("scorer:./metrics.py:light")["rows"] == first["rows"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("../secret.png", "leads out of the table's folder"),
        ("/etc/passwd", "absolute paths are not allowed"),
        ("https://x/y.png", "is an address, not a file"),
    ],
)
def test_a_picture_outside_of_the_folder_is_refused_by_row_and_column(world: Path, cell: str, words: str) -> None:
    rows = rows_of(world / "pairs.csv")
    rows[4]["picture_b"] = cell
    write(world / "pairs.csv", rows)
    result = salon("bench", "audit", "scorer:./metrics.py:light", "--pairs", "pairs.csv")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "row 5, column 'picture_b'" in result.stderr
    assert not (world / "salon-results").exists()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"battle_id": "x" * 201}, "row 5, column 'battle_id': has more than 200 characters"),
        ({"prompt": "x" * 8001}, "row 5, column 'prompt': has more than 8000 characters"),
        ({"battle_id": "p0"}, "two pairs have one id: 'p0'"),
        ({"winner": "b"}, "row 5, column 'winner': is wrong: 'b'"),
    ],
)
def test_a_wrong_pair_is_named_before_a_judge_is_asked(world: Path, cells: dict[str, str], words: str) -> None:
    rows = rows_of(world / "pairs.csv")
    rows[4] |= cells
    write(world / "pairs.csv", rows)
    with serving(eyes(world)) as server:
        result = salon("bench", "audit", f"openai:seer@{server.url}", "--pairs", "pairs.csv")
        assert result.exit_code == 2
        assert words in result.stderr
        assert server.stats.requests == 0


def test_an_empty_id_of_a_pair_in_json_is_named(world: Path) -> None:
    with (world / "pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows[3]["battle_id"] = ""
    (world / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = salon("bench", "audit", "scorer:./metrics.py:light", "--pairs", "pairs.jsonl")
    assert (done.exit_code, "row 4, column 'battle_id': is empty" in done.stderr) == (2, True), done.output
    assert not (world / "results").exists()


def test_the_page_shows_the_wrong_pairs_alone_with_what_people_chose(world: Path) -> None:
    rows = rows_of(world / "pairs.csv")
    rows[2]["winner"] = "model_b"
    write(world / "pairs.csv", rows)
    with serving(eyes(world)) as server:
        words = ("bench", "audit", f"openai:seer@{server.url}", "--pairs", "pairs.csv")
        assert salon(*words, "--wrong", "wrong.html").exit_code == 0
        assert salon(*words, "--wrong", "wrong.csv").exit_code == 0
        write(world / "pairs.csv", rows[3:])
        assert salon(*words, "--wrong", "none.html").exit_code == 0
    page = (world / "wrong.html").read_text()
    assert page.count("People chose b; seer: a (a left), a (a right).") == 1
    assert "Where people chose otherwise: pairs.csv" in page
    assert ">p2<" in page
    assert ">p3<" not in page
    assert set(pl.read_csv(world / "wrong.csv")["battle_id"]) == {"p2"}
    assert "People chose" not in (world / "none.html").read_text()


def test_work_that_is_left_is_no_audit(world: Path) -> None:
    with serving(eyes(world)) as server:
        result = salon("bench", "audit", f"openai:seer@{server.url}", "--pairs", "pairs.csv", "--max-calls", "5")
        assert result.exit_code == 1
        assert "accuracy" not in result.stdout
        assert audited(f"openai:seer@{server.url}")["rows"][0]["accuracy"] == 1.0


def test_an_audit_whose_limit_leaves_a_judge_unasked_is_of_the_others(world: Path) -> None:
    with serving(eyes(world)) as one, serving(eyes(world)) as two:
        judges = (f"openai:seer@{one.url}", f"openai:other@{two.url}")
        words = (*judges, "--pairs", "pairs.csv", "--max-calls", "5", "--concurrency", "1", "--allow-incomplete")
        result = salon("bench", "audit", *words)
        assert (result.exit_code, two.stats.requests) == (0, 0), result.output
    assert "not begun" in result.stderr
    assert "other" not in result.stdout


def test_a_column_that_the_pairs_lack_is_refused_before_a_judge_is_asked(world: Path) -> None:
    with serving(eyes(world)) as server:
        result = salon("bench", "audit", f"openai:seer@{server.url}", "--pairs", "pairs.csv", "--by", "colour")
        assert result.exit_code == 2
        assert "the pairs have no column 'colour'" in result.stderr
        assert server.stats.requests == 0


def test_why_verdicts_are_missing_is_said_under_the_table(world: Path) -> None:
    with serving(Script(rule=fixed("I like both."))) as server:
        result = salon("bench", "audit", f"openai:talker@{server.url}", "--pairs", "pairs.csv")
    assert result.exit_code == 0
    assert "talker: all 24 questions without a verdict: 24 malformed" in " ".join(result.stdout.split())


def test_pairs_without_an_answer_are_named_and_a_draw_without_answers_asks_nobody(world: Path) -> None:
    rows = rows_of(world / "pairs.csv")
    write(world / "pairs.csv", [{**row, "winner": row["winner"] if number == 0 else ""} for number, row in enumerate(rows)])
    with serving(eyes(world)) as server:
        words = ("bench", "audit", f"openai:seer@{server.url}", "--pairs", "pairs.csv")
        result = salon(*words, "--limit", "1", "--seed", "1")
        assert result.exit_code == 2
        assert "people answered about none of the pairs that --limit draws" in result.stderr
        assert server.stats.requests == 0
        result = salon(*words, "--format", "json")
    assert "11 of the pairs have no winner yet" in result.stderr
    assert json.loads(result.stdout)["rows"][0]["pairs"] == 1


def test_another_order_of_rows_is_the_same_run_and_remarks_of_judges_in_the_file_are_no_pairs(world: Path) -> None:
    rows = rows_of(world / "pairs.csv")
    audited("scorer:./metrics.py:light")
    write(world / "pairs.csv", rows[::-1])
    result = salon("bench", "audit", "scorer:./metrics.py:light", "--pairs", "pairs.csv")
    assert "nothing is left to do" in result.stderr
    named = [{**row, "judge": judge, "verdict": "tie", "reason": f"{judge} says so"} for row in rows for judge in ("u", "v")]
    write(world / "pairs.csv", named)
    assert audited("scorer:./metrics.py:light")["rows"][0]["pairs"] == 12


def test_pairs_that_people_left_open_and_a_judge_named_twice_are_refused(world: Path) -> None:
    judge = "scorer:./metrics.py:light"
    assert "the same judge was named twice" in salon("bench", "audit", judge, judge, "--pairs", "pairs.csv").stderr
    write(world / "pairs.csv", [{**row, "winner": ""} for row in rows_of(world / "pairs.csv")])
    assert "people answered about none of the pairs" in salon("bench", "audit", judge, "--pairs", "pairs.csv").stderr


LONG = ({'{"reason": "': 1.0}, *({f" word{number}": 1.0} for number in range(60)), {'", "verdict":': 1.0}, {' "': 1.0})
LEANS_LEFT = (*LONG, {"left": 0.5, "right": 0.3, "both": 0.2}, {'"}': 1.0})
SAYS_BOTH = (*LONG, {"both": 0.7, "left": 0.1, "right": 0.1, "and": 0.1}, {" bad": 0.6, " good": 0.4}, {'"}': 1.0}, {"\n": 1.0})


def judge_file(folder: Path, url: str, top: int = 5) -> str:
    (folder / "judge.toml").write_text(f'kind = "vllm"\nmodel = "m"\nbase_url = "{url}"\n[decoding]\ntop_logprobs = {top}\n')
    return "judge.toml"


def test_chances_are_those_of_the_verdict_s_tokens_and_their_mean_over_both_orders_has_no_side(world: Path) -> None:
    with serving(Script((ScriptLine(tokens=LEANS_LEFT),))) as server:
        judge = judge_file(world, server.url)
        words = ("bench", "audit", judge, "--pairs", "pairs.csv", "--wrong", "wrong.csv", "--output", "audit.html")
        document = json.loads(salon(*words, "--format", "json").stdout)
        asked = server.stats.requests
        assert audited(judge)["rows"] == document["rows"]
        assert server.stats.requests == asked, "the stored tokens are those of the live reply"
    [row] = document["rows"]
    assert (row["brier"], row["ece"], row["first"]) == (pytest.approx(0.25), pytest.approx(0.0), 1.0)
    assert [(each["pairs"], each["chance"], each["share"]) for each in document["calibration"]] == [
        (12, pytest.approx(0.5), 0.5)
    ]
    wrong = pl.read_csv(world / "wrong.csv")
    for side, chance in wrong.select("side_a_shown", "chance_a").iter_rows():
        assert chance == pytest.approx(0.5 if side == "left" else 0.3)
    assert wrong["chance_tie"].to_list() == pytest.approx([0.2] * 12)
    page = (world / "audit.html").read_text()
    assert "Calibration" in page and "p3" in page and "<svg" in page


def test_a_tie_of_the_judge_is_a_chance_of_a_half_and_its_menu_is_renormalised(world: Path) -> None:
    with serving(Script((ScriptLine(tokens=SAYS_BOTH),))) as server:
        words = ("bench", "audit", judge_file(world, server.url), "--pairs", "pairs.csv", "--format", "json")
        result = salon(*words, "--wrong", "wrong.csv")
    [row] = json.loads(result.stdout)["rows"]
    assert (row["accuracy"], row["brier"]) == (0.5, pytest.approx(0.25))


@pytest.mark.parametrize("top", [0, 5])
def test_without_log_probabilities_of_the_verdict_there_is_no_calibration(world: Path, top: int) -> None:
    other = ({'{"reason": "", "verdict": "left"': 0.9, "x": 0.1}, {"}": 1.0})  # one token for all: nothing of its own
    with serving(Script((ScriptLine(tokens=other),) if top else (), fixed('{"reason": "", "verdict": "left"}'))) as server:
        document = audited(judge_file(world, server.url, top))
    assert document["rows"][0]["brier"] is None and document["rows"][0]["accuracy"] == 0.5
    assert "calibration" not in document


def test_the_page_of_wrong_pairs_begins_where_most_people_agreed(world: Path) -> None:
    votes = {f"p{number}": (3, 0) if number == 7 else (2, 1) for number in range(12)}
    rows = [
        {**row, **dict(zip(("votes_a", "votes_b"), votes[row["battle_id"]], strict=True))}
        for row in rows_of(world / "pairs.csv")
    ]
    write(world / "pairs.csv", rows)
    salon(
        "bench", "audit", "scorer:./metrics.py:dark", "--pairs", "pairs.csv", "--wrong", "wrong.html", "--output", "audit.html"
    )
    page = (world / "wrong.html").read_text()
    assert min((page.index(f">p{number}<"), number) for number in range(12))[1] == 7
