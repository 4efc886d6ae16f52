"""The evaluation of an assessor as a suite: any judge labels annotated pictures, and its labels are held against people's.

    salon bench run magicdata --prompts test.jsonl --generations pictures.csv --model magicdata --judge …

Here the judge is what is under test; the "subject" only names the pictures. The rows of one picture are sparse: one for the
verdict, and one for each label that people or the judge gave. ``task`` says what people say of the label (``present`` or
``absent``), ``value`` whether the judge gave it, so true positives, false positives and misses are plain SQL.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from salon_bench.suites.assessors.evaluation import Evaluation, evaluate
from salon_bench.suites.assessors.label_space import LABELS, label_names
from salon_bench.suites.assessors.magicdata import UnreadableRow, magicdata_rows
from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, SuitePrompt, Summary
from salon_bench.suites.magicbench import MagicBench
from salon_console.table_rows import BadRow, usable_rows
from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, Outcome, Parsed, Unparsed, parse_magicmirror
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt, Record
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl


_PRESENT, _ABSENT = "present", "absent"
_NO_PROMPT = "(the prompt is not known)"


class AssessorEvaluation(SuiteBase):
    """The suite ``magicdata``; asks MagicBench's question about artifacts, with its templates.

    Args:
        magicbench: whose question is asked; default: MagicBench with our templates.
    """

    name = "magicdata"
    steps = ("assessment",)

    def __init__(self, magicbench: MagicBench | None = None) -> None:
        self._magicbench = magicbench or MagicBench()
        self.pictures = self._magicbench.pictures

    @property
    def version(self) -> str:
        """A digest that follows MagicBench's."""
        return digest("magicdata", {"magicbench": self._magicbench.version, "rules": 1})

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the annotated images: the image's path is the prompt's id, the labels of people are the facts.

        A row that cannot be used, or whose image an earlier row has, is left out and named.

        Raises:
            InputError: without a file, or when none of its rows can be used.
        """
        hint = "Give your copy of MagicData340K's test part with --prompts, or any file with images and response."
        file = given(source, "the evaluation of an assessor needs a file of labels", hint)
        return usable_rows(file, _annotated(file))

    reward = RewardSpec(lambda row: row.value if row.value is None or row.task == _PRESENT else 1 - row.value, answers=True)

    def examine(self, case: Case) -> Examination:
        """Ask once for the labels."""
        question = self._magicbench.questions.assessment(case.image, prompt=str(case.facts["prompt"]))
        verdict: Verdict[MagicMirrorAnswer] = yield Inquiry("assessment", question, parse_magicmirror)
        return _rows(case, set(cast("tuple[str, ...]", case.facts["truth"])), verdict)

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return F1 of artifact or not, of the four main L2 labels, and their averages, 0 to 100.

        ``group`` is null for F1; rows of precision and recall follow with ``group`` set to their name.
        """
        import polars as pl

        truth, answers = outcomes_in(scores)
        schema = {"metric": pl.String, "group": pl.String, **dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64)}
        schema |= dict.fromkeys(("scored", "unscored"), pl.Int64)
        if not truth:
            return Summary(pl.DataFrame(schema=schema), ("There is no image.",))
        result = evaluate(truth, answers)
        rows = [
            _line(result, row, metric)
            for metric in ("f1", "precision", "recall")
            for row in result.table.filter(pl.col("level") != "L3").iter_rows(named=True)
        ]
        return Summary(pl.DataFrame(rows, schema=schema), (result.header,))


def _annotated(source: Path) -> Iterator[tuple[int, SuitePrompt] | BadRow]:
    """Yield the annotated images of a file with the numbers of their rows, and the rows that cannot be used."""
    seen: dict[str, int] = {}
    for number, row in enumerate(magicdata_rows(source), 1):
        try:
            if isinstance(row, UnreadableRow):
                problem = row.problem.partition(": ")[2] or row.problem
                raise InputError(problem, source=source, row=number, column=row.column, value=row.value)
            if row.image in seen:
                raise InputError(f"is the image of row {seen[row.image]} already:", source=source, row=number, value=row.image)
            seen[row.image] = number
            facts = {"truth": label_names(row.answer), "prompt": row.prompt or ""}
            yield number, SuitePrompt(_prompt(row.image, row.prompt, source), facts)
        except InputError as error:
            yield BadRow(number, error)


def outcomes_in(scores: "pl.DataFrame") -> tuple[list[MagicMirrorAnswer], list[Outcome[MagicMirrorAnswer]]]:
    """Truth and answer of every image, from the suite's rows, images in alphabetical order."""
    import polars as pl

    known = scores.filter(pl.col("dimension").is_in([label.name for label in LABELS]))
    truth: list[MagicMirrorAnswer] = []
    answers: list[Outcome[MagicMirrorAnswer]] = []
    key = ["prompt_id", "generation_id"]
    for _, rows in known.sort(*key, "dimension", nulls_last=True).group_by(key, maintain_order=True):
        present = rows.filter(pl.col("task") == _PRESENT)["dimension"].to_list()
        truth.append(answer_of(present))
        reason = rows["unscored_reason"].drop_nulls()
        if len(reason):
            answers.append(Unparsed(Reason(reason[0]), "no answer"))
        else:
            answers.append(Parsed(answer_of(rows.filter(pl.col("value") > 0.5)["dimension"].to_list())))
    return truth, answers


def answer_of(names: Iterable[str]) -> MagicMirrorAnswer:
    """Return the answer that gives these labels: the way back from ``label_names``.

    Example:
        >>> answer_of(["artifact", "L2: Abnormal Object Morphology"]).artifacts
        (Artifact(l2='L2: Abnormal Object Morphology', l3=()),)
    """
    labels = set(names)
    artifacts = [
        Artifact(l2, tuple(case for case in cases if case in labels)) for l2, cases in MAGICMIRROR_MENU.items() if l2 in labels
    ]
    return MagicMirrorAnswer("artifact" not in labels, tuple(artifacts) if "artifact" in labels else ())


def _prompt(image: str, text: str | None, source: Path) -> Prompt:
    if len(image) > 200:  # the longest key that a table takes
        raise InputError("the image's name is longer than 200 characters:", source=source, value=image)
    return Prompt(prompt_id=image, suite=AssessorEvaluation.name, text=text or _NO_PROMPT)


def _rows(case: Case, truth: set[str], reply: Verdict[MagicMirrorAnswer]) -> list[Record]:
    named = set(label_names(reply.value)) if isinstance(reply, Scored) else set[str]()
    rows: list[Record] = []
    for label in LABELS:
        if label.name != "artifact" and label.name not in truth | named:
            continue
        verdict: Verdict[float] = reply if isinstance(reply, Unscored) else Scored(float(label.name in named))
        rows.append(case.score(_PRESENT if label.name in truth else _ABSENT, label.name, verdict))
    return rows


def _line(result: Evaluation, row: dict[str, float | None], metric: str) -> dict[str, object]:
    numbers = (row[metric], row[f"{metric}_low"], row[f"{metric}_high"])
    value, low, high = (None if number is None else 100 * number for number in numbers)
    counts = {"scored": result.valid, "unscored": result.images - result.valid}
    ends = {"value": value, "ci_low": low, "ci_high": high}
    return {"metric": row["label"], "group": None if metric == "f1" else metric, **ends, **counts}


suite = AssessorEvaluation()
"""The entry point ``magicdata`` of the group ``salon.suites``."""
