"""OneIG-Bench's text dimension as a suite file: by our OCR's measures, its numbers are those of the released script."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_longtext_bench import CHINESE, ENGLISH, cases, texts

from salon_bench.suites import Inquiry, suite_named
from salon_judges.asking.inquiry import drive
from salon_judges.clients.scorer import ScoreAnswer
from salon_judges.scorers.ocr import OcrScorer
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import checked_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored

FILE = Path(__file__).parents[3] / "examples/suites/oneig_text.toml"
RELEASED = {
    "en": (225 / 24, 5 / 24, 138 / 228, 0.970703125),
    "zh": (83 / 24, 7 / 24, 275 / 324, 0.9925905564128944),
}
"""``ED``, ``CR``, ``WAC`` and ``text score`` of ``scripts/text`` (OneIG-Bench/OneIG-Benchmark) of :func:`read`."""


def read(words: list[str], number: int) -> list[str]:
    """What an OCR makes of a picture: it loses letters, changes case, and finds text that nobody asked for."""
    lines = [line[: len(line) - (number + at) % 4] if number % 3 else line for at, line in enumerate(words)]
    lines = [line.upper() if number % 5 == 1 else line for line in lines]
    return [*lines, "The exit 出口"][: len(lines) + (number % 7 == 2)]


def write(folder: Path) -> None:
    """Write files of the released shape: 24 prompts of each language."""
    (folder / "scripts/text").mkdir(parents=True)
    for name, column, bank in (("text_content", "prompt_en", ENGLISH), ("text_content_zh", "prompt_cn", CHINESE)):
        with (folder / f"scripts/text/{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["", "id", column, "text_content"])
            rows.writerows([number, f"{number:03}", f"a sign, {number}", str(texts(bank, number))] for number in range(24))


def numbers(folder: Path, unscored: str = "") -> dict[tuple[str, str | None], float | None]:
    """Return the suite's table for pictures that :func:`read` reads."""
    suite: Any = suite_named(str(FILE))
    rows: list[Any] = []
    for case in cases(suite, folder):

        def verdict(inquiry: Inquiry[Any], name: str = case.case_id) -> Any:
            bank, number = (ENGLISH if name.startswith("en") else CHINESE), int(name[3:])
            if name == unscored:
                return Unscored(Reason.BAD_MEDIA, "gone")
            scorer = OcrScorer(f"oneig-{inquiry.step}", lambda image: read(texts(bank, number), number), "1", pattern=".+")
            checked = checked_scorer(scorer)
            return Scored(ScoreAnswer.of(checked, scorer([None], [str(inquiry.question.prompt)])[0]))

        rows += [row.model_dump() for row in drive(suite.examine(case), verdict)]
    table = suite.aggregate(pl.DataFrame(rows, infer_schema_length=None), pl.DataFrame()).table
    return {(row["metric"], row["group"]): row["value"] for row in table.iter_rows(named=True)}


def test_the_numbers_are_those_of_the_released_script_on_equal_readings(tmp_path: Path) -> None:
    write(tmp_path)
    table = numbers(tmp_path)
    for language, released in RELEASED.items():
        found = [table[name, language] for name in ("edits", "complete", "words", "overall")]
        assert found == [-released[0], *(pytest.approx(each, abs=1e-7) for each in released[1:])]


def test_a_picture_without_a_verdict_is_in_no_mean(tmp_path: Path) -> None:
    write(tmp_path)
    whole, without = numbers(tmp_path), numbers(tmp_path, unscored="en_003")
    assert without["overall", "zh"] == whole["overall", "zh"]
    assert without["overall", "en"] != whole["overall", "en"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('over = "means"', 'over = "prompts"', "means"),
        ("(1 - words)", "(1 - most)", "neither a number of the suite"),
    ],
)
def test_a_number_of_means_reads_numbers_alone(tmp_path: Path, old: str, new: str, message: str) -> None:
    write(tmp_path)
    Path(tmp_path, "mine.toml").write_text(FILE.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        suite_named(str(tmp_path / "mine.toml")).prompts(tmp_path)
