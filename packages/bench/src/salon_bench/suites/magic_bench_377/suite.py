"""Magic-Bench-377, picture by picture: is every test point met, and which marks does the picture deserve?

    picture ─┬─ "check:<test point>", one for each of the prompt's ──► scores 0/1, task test_points ──► salon ratings pass-rates
             └─ "mark:<dimension>", three of them ──► ratings 1–5, and scores of task mos ──► salon ratings mos, votes drivers

MEF, sections 5.2 and 6.3, appendices D and E. One question at a time: no mark rubs off on another.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, RunContext, SuitePrompt, Summary
from salon_bench.suites.magic_bench_377.questions import MOS, TEST_POINTS, MarkDimension, Questions
from salon_bench.suites.magic_bench_377.replies import HIGHEST, LOWEST, parse_check, parse_mark
from salon_judges.asking.templates import Templates
from salon_judges.formats.magic_bench_377_labels import points
from salon_judges.formats.magic_bench_377_prompts import LANGUAGES, SUITE, read_prompts
from salon_judges.media import PicturePolicy
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Rating, Record
from salon_taxonomy.verdict import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl


PICTURES: Final = PicturePolicy(longest_side=1536)
"""How judges are shown pictures: written words stay legible, and most generators' pictures stay as they are."""

_RULES_VERSION = 1  # raised by hand when parsers or rows change their meaning
_FOLDER = Path(__file__).with_name("prompts")
_NAME_LENGTH = 400


class PromptFileSuite(SuiteBase):
    """What the suites of the benchmark share: the pictures that judges see, the questions, and prompts from a file.

    Args:
        language: ``en`` or ``zh``: only prompts in this language; None: see ``salon_judges.formats.magic_bench_377_prompts``.

    Raises:
        InputError: for another language.
    """

    pictures = PICTURES

    def __init__(self, language: str | None = None) -> None:
        if language not in (None, *LANGUAGES):
            raise InputError("unknown language", value=language, allowed=LANGUAGES)
        self.language = language

    @cached_property
    def questions(self) -> Questions:
        """The questions, with their templates compiled once."""
        return Questions(Templates(_FOLDER))

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts of a file; Salon ships none.

        Raises:
            InputError: without a file, or when it is wrong.
        """
        return required_prompts(source, self.language)


class MagicBench377(PromptFileSuite):
    """The suite ``magic-bench-377``: test points and marks; ``magic-bench-377-zh`` takes the Chinese prompts."""

    steps = (*(f"check:{point}" for point in points()), *(f"mark:{each.template}" for each in MarkDimension))
    """The steps that :meth:`examine` may ask; each may have a judge of its own."""
    reward = RewardSpec(lambda row: row.value if row.value is None or row.task != MOS else (row.value - 1) / 4)

    @property
    def name(self) -> str:
        """``magic-bench-377``, with ``-zh`` for the Chinese prompts."""
        return SUITE + ("-zh" if self.language == "zh" else "")

    @cached_property
    def version(self) -> str:
        """A digest of templates, test points, rules and parsers."""
        names = ("check", *(each.template for each in MarkDimension))
        templates = {name: self.questions.templates.texts[name] for name in names}
        labels = {point: [label.name, label.definition] for point, label in points().items()}
        return digest(SUITE, {"templates": templates, "points": labels, "rules": _RULES_VERSION})

    def examine(self, case: Case) -> Examination:
        """Ask for every test point of the prompt, then for the three marks."""
        rows: list[Record] = []
        text = case.prompt.text
        checks: Any = case.facts[TEST_POINTS]
        for point, demand in checks:
            question = self.questions.check(case.image, prompt=text, point=point, demand=demand)
            met: Verdict[bool] = yield Inquiry(f"check:{point}", question, parse_check)
            rows.append(case.score(TEST_POINTS, points()[point].name, met))
        for dimension in MarkDimension:
            question = self.questions.mark(case.image, dimension, prompt=text)
            mark: Verdict[int] = yield Inquiry(f"mark:{dimension.template}", question, parse_mark)
            rows.append(case.score(MOS, dimension, mark))
            if isinstance(mark, Scored):
                rows.append(_rating(case, dimension, mark.value))
        return rows

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return mean marks and shares of test points met (see :func:`~.scoring.summarize_marks`)."""
        from salon_bench.suites.magic_bench_377.scoring import summarize_marks

        return summarize_marks(scores)


def required_prompts(source: Path | None, language: str | None = None) -> Sequence[SuitePrompt]:
    """Return the prompts of a file, in one language where it is given.

    Raises:
        InputError: without a file, or when it is wrong.
    """
    hint = (
        "Give your copy of the released file (data set ByteDance-Seed/MagicBench) with --prompts, or a file of your own: "
        "columns prompt, labels, scenario, and if wanted test_points."
    )
    file = given(source, "Magic-Bench-377 needs a file of prompts", hint)
    return read_prompts(file, language)


def rater(context: RunContext) -> str:
    """Return a judge's name as a rater, with its version, so that two versions are two raters.

    Example:
        >>> rater(RunContext("run", "qwen", "0123456789abcdef"))
        'qwen@01234567'
    """
    return f"{context.judge[: _NAME_LENGTH - 9]}@{context.judge_version[:8]}"


def _rating(case: Case, dimension: MarkDimension, mark: int) -> Rating:
    """Return a row of ``ratings``. Its key is rater, picture and dimension: a second run by the same judge adds none."""
    name = rater(case.context)
    generation = case.generation_id or case.case_id
    return Rating(
        rating_id=digest("rating", {"rater": name, "generation": generation, "dimension": str(dimension)}),
        prompt_id=case.prompt.prompt_id,
        generation_id=generation,
        model=case.subject_model,
        dimension=dimension,
        value=float(mark),
        scale_min=float(LOWEST),
        scale_max=float(HIGHEST),
        rater_id=name,
    )
