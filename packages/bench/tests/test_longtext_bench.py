"""LongText-Bench as a suite file: by the scorer ``ocr:longtext``, its numbers are those of the released script."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from salon_bench.suites import Case, Inquiry, suite_named
from salon_bench.suites.contract.suite import RunContext
from salon_judges.asking.inquiry import drive
from salon_judges.clients.scorer import ScoreAnswer
from salon_judges.scorers.ocr import OcrScorer
from salon_judges.scorers.text_matching import longtext_share
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason, Scored, Unscored

FILE = Path(__file__).parents[3] / "examples/suites/longtext_bench.toml"
ENGLISH = ["OPEN DAILY, 9 - 5", "Café & tea: don't miss it", "The bell rings twice, the bell rings", "No. 7 (seven)"]
CHINESE = ["每日新鲜，8点开门", "清茶 A级", "请勿触摸！", "2026年 Salon 展"]
RELEASED = {"en": 158 / 228, "zh": 194 / 324, "sign": 104 / 120}
"""``match_score`` of ``textbench/summary_scores.py`` (X-Omni-Team/X-Omni at 2b8237b) of :func:`read`; en, zh, en's signs."""


def texts(bank: list[str], number: int) -> list[str]:
    return [bank[(number + step * step) % len(bank)] for step in range(1 + number % 3)]


def read(words: list[str], number: int) -> list[str]:
    """What an OCR makes of a picture: it loses letters and a line, changes case, and finds text that nobody asked for."""
    lines = [line[: len(line) - (number + at) % 4] for at, line in enumerate(words)]
    lines = [line.upper() if number % 2 else line for line in lines[number % 2 :]]
    return [*reversed(lines), "The exit 出口"][: len(lines) + number % 4 // 2]


def write(folder: Path) -> None:
    """Write files of the released shape: 24 prompts of each language, whose numbers are not contiguous."""
    for name, bank in (("text_prompts", ENGLISH), ("text_prompts_zh", CHINESE)):
        rows = [
            {
                "category": ("sign", "label")[number % 2],
                "length": "short",
                "prompt": f"a picture of {number}",
                "text": texts(bank, number),
                "text_length": 1,
                "prompt_id": number + number // 12 * 7,
            }
            for number in range(24)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def cases(suite: Any, folder: Path) -> Iterator[Case]:
    """Yield a case of each prompt, named after it."""
    for item in suite.prompts(folder):
        name = item.prompt.prompt_id
        case = Case(name, suite.name, "m", item.prompt, facts=item.facts, generation_ids=(name,))
        object.__setattr__(case, "context", RunContext("run", "ocr", "1"))
        yield case


def numbers(folder: Path, unscored: str = "") -> dict[tuple[str, str | None], float]:
    """Return the suite's table for pictures that :func:`read` reads."""
    suite: Any = suite_named(str(FILE))
    rows: list[Any] = []
    for case in cases(suite, folder):

        def verdict(inquiry: Inquiry[Any], words: Any = case.facts["words"], name: str = case.case_id) -> Any:
            number = int(name[3:])
            number -= 7 if number > 12 else 0
            scorer = OcrScorer("longtext", lambda image: read(words, number), "1", pattern=".+")
            prompt = inquiry.question.prompt
            assert prompt == "\n".join(words)
            if name == unscored:
                return Unscored(Reason.BAD_MEDIA, "gone")
            return Scored(ScoreAnswer(scorer([None], [prompt])[0]))

        text, units = drive(suite.examine(case), verdict)
        assert (suite.reward.of(text), suite.reward.of(units)) == (text.value, None), "a reward is the score, not its units"
        rows += [text.model_dump(), units.model_dump()]
    table = suite.aggregate(pl.DataFrame(rows, infer_schema_length=None), pl.DataFrame()).table
    assert table.filter((pl.col("ci_low") > pl.col("value")) | (pl.col("ci_high") < pl.col("value"))).is_empty()
    return {(row["metric"], row["group"]): row["value"] for row in table.iter_rows(named=True)}


def test_longtext_bench_gives_the_released_scripts_numbers_on_equal_readings(tmp_path: Path) -> None:
    write(tmp_path)
    table = numbers(tmp_path)
    assert table["text", "en"] == pytest.approx(RELEASED["en"], abs=1e-8)
    assert table["text", "zh"] == pytest.approx(RELEASED["zh"], abs=1e-8)
    (tmp_path / "text_prompts_zh.jsonl").unlink()
    alone = numbers(tmp_path)
    assert alone["text", None] == table["text", "en"]
    assert alone["text", "sign"] == pytest.approx(RELEASED["sign"], abs=1e-8)


def test_a_picture_without_a_verdict_leaves_its_words_out_of_both_sums(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "text_prompts_zh.jsonl").unlink()
    table = numbers(tmp_path, unscored="en_003")
    words, read_there = texts(ENGLISH, 3), read(texts(ENGLISH, 3), 3)
    share = longtext_share(words, read_there) or 0.0
    units = 228 - 23 * table["text.units", "en"]
    assert units == pytest.approx(len(" ".join(words).replace(" - ", " ").split()))
    assert table["text", "en"] == pytest.approx((158 - share * units) / (228 - units), abs=1e-8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('answer = "score"', 'answer = "yes/no"', "units belongs to answer"),
        ('units = "units"', "", "nothing"),
        ('units = "units"', 'units = "words"', "units are a number above 0"),
        ('units = "units"', 'units = "count"', "column that .* names .text.*count"),
        ('prompt = "words"', 'prompt = "text"', "column that .* names .text.*text"),
    ],
)
def test_columns_for_scorers_are_checked(tmp_path: Path, old: str, new: str, message: str) -> None:
    write(tmp_path)
    text = FILE.read_text()
    assert old in text
    (tmp_path / "own.toml").write_text(text.replace(old, new))
    if message == "nothing":
        suite: Any = suite_named(str(tmp_path / "own.toml"))
        assert len(suite.prompts(tmp_path)) == 48
        return
    with pytest.raises(InputError, match=message):
        suite_named(str(tmp_path / "own.toml")).prompts(tmp_path)


def test_a_property_of_a_schema_that_is_called_units_stays_a_number(tmp_path: Path) -> None:
    schema = '{ type = "object", properties = { units = { type = "integer" } } }'
    (tmp_path / "own.toml").write_text(f'name = "own"\n[[question]]\nid = "all"\nask = "How many?"\nanswer = {schema}\n')
    reward = suite_named(str(tmp_path / "own.toml")).reward
    assert reward.why_not is None


@pytest.mark.study
def test_the_released_prompts_ask_for_4263_words_and_7944_characters() -> None:
    folder = os.environ.get("LONGTEXT_BENCH")
    if folder is None:
        pytest.skip("LONGTEXT_BENCH names no folder with the released text_prompts.jsonl and text_prompts_zh.jsonl")
    units = {"en": 0, "zh": 0}
    for item in suite_named(str(FILE)).prompts(Path(folder)):
        units[item.prompt.prompt_id[:2]] += item.facts["units"]  # type: ignore[operator]
    assert units == {"en": 4_263, "zh": 7_944}
