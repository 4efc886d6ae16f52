"""Cases of runs, with their verdicts and labels, and the filters over them.

A case is one row: a model, a prompt and a picture of one run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import polars as pl

from salon_bench.viewer.store_tables import StoreTables
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

CASE: Final = ("run_id", "subject_model", "prompt_id", "generation_id")
"""The columns that name a case."""
UNSCORED: Final = "unscored"
_SECONDS: Final = 5.0
_LONGEST: Final = 2000
"""Characters of one value of a filter."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which cases a page shows; an empty value holds for all.

    Attributes:
        model: of these models.
        task: with a verdict of this task (a suite's category).
        question: with a verdict of this question (a dimension).
        verdict: with this number as a verdict (of the question, if one is named), or ``unscored``.
        reason: with a verdict that is missing for this reason.
        label: with this label.
        differs: whose picture got different verdicts from judges or runs.
        text: whose prompt, or its id, contains these words.
        where: for which this condition over the table ``scores`` holds, in SQL.
    """

    model: tuple[str, ...] = ()
    task: str = ""
    question: str = ""
    verdict: str = ""
    reason: str = ""
    label: str = ""
    differs: bool = False
    text: str = ""
    where: str = ""

    @classmethod
    def read(cls, query: Mapping[str, Sequence[str]]) -> "CaseFilter":
        """Return the filter of an address.

        Raises:
            InputError: a value is too long, or the verdict is neither a number nor ``unscored``.
        """
        for name in (field.name for field in fields(cls)):
            for value in query.get(name, ()):
                if len(value) > _LONGEST:
                    raise InputError("is too long", source="filter", column=name, value=f"{value[:40]}…")
        one = {
            name: (query.get(name) or [""])[-1] for name in ("task", "question", "verdict", "reason", "label", "text", "where")
        }
        if one["verdict"] not in ("", UNSCORED):
            try:
                float(one["verdict"])
            except ValueError:
                raise InputError("is no number", source="filter", column="verdict", value=one["verdict"]) from None
        models = tuple(value for value in query.get("model", ()) if value)
        return cls(model=models, differs=last(query, "differs") == "1", **one)


def last(query: Mapping[str, Sequence[str]], name: str) -> str:
    """Return the last value of a name in an address; empty without one."""
    return (query.get(name) or [""])[-1]


def run_cases(tables: StoreTables, run_ids: Sequence[str]) -> pl.DataFrame:
    """Return the cases of runs, by prompt, model and sample.

    Returns:
        The columns of :data:`CASE`; ``sample``; ``text`` of the prompt (null where the store has none); ``chips``: a list of
        ``task``, ``dimension``, ``value`` and ``reason`` of each verdict; ``labels``: names of labels; ``differs``: whether
        verdicts of one question about the picture differ, among all runs of the store.
    """
    state = tables.state("scores", "assessments", "generations", "prompts", "run_prompts")
    return tables.kept(("cases", *run_ids), state, lambda: _run_cases(tables, run_ids))


def _run_cases(tables: StoreTables, run_ids: Sequence[str]) -> pl.DataFrame:
    mine = pl.col("run_id").is_in(list(run_ids))
    scores = tables.rows("scores", mine & pl.col("prompt_id").is_not_null())
    pictures = scores["generation_id"].drop_nulls().unique().implode()
    everywhere = tables.rows("scores", pl.col("generation_id").is_in(pictures))
    answers = everywhere.group_by("generation_id", "task", "dimension").agg(pl.col("value").drop_nulls().n_unique())
    contested = answers.filter(pl.col("value") > 1)["generation_id"].unique().implode()
    chip = pl.struct("task", "dimension", "value", reason="unscored_reason")
    cases = scores.sort("task", "dimension").group_by(CASE).agg(chip.alias("chips"))
    labels = (
        tables.rows("assessments", mine & pl.col("present"))
        .sort("label")
        .group_by("run_id", "generation_id")
        .agg(labels=pl.col("label").unique(maintain_order=True))
    )
    generations = tables.rows("generations", pl.col("generation_id").is_in(pictures)).select("generation_id", "sample")
    cases = cases.join(labels, on=["run_id", "generation_id"], how="left", nulls_equal=True)
    cases = cases.join(generations, on="generation_id", how="left")
    cases = cases.join(_texts(tables, scores, mine), on=["run_id", "prompt_id"], how="left")
    return cases.with_columns(differs=pl.col("generation_id").is_in(contested).fill_null(value=False)).sort(
        "prompt_id", "subject_model", "run_id", "sample", "generation_id"
    )


def _texts(tables: StoreTables, scores: pl.DataFrame, mine: pl.Expr) -> pl.DataFrame:
    """Return the text of each prompt of each run: of the content that the run had, or else of its suite."""
    named = scores.select("run_id", "prompt_id", "suite").unique(["run_id", "prompt_id"])
    texts = tables.rows("prompts", pl.col("prompt_id").is_in(named["prompt_id"].unique().implode()))
    texts = texts.select("prompt_id", "prompt_key", "text", of="suite")
    keys = tables.rows("run_prompts", mine).select("run_id", "prompt_id", "prompt_key")
    of_run = named.join(keys, on=["run_id", "prompt_id"]).join(texts, on=["prompt_id", "prompt_key"])
    of_suite = named.join(texts, on="prompt_id").filter(
        (pl.col("suite") == pl.col("of")) | pl.col("suite").str.starts_with(pl.col("of") + "-")
    )
    of_suite = of_suite.sort(pl.col("of").str.len_bytes(), maintain_order=True)  # "magicbench-zh" after "magicbench"
    columns = ("run_id", "prompt_id", "text")
    return pl.concat([of_suite.select(columns), of_run.select(columns)]).unique(columns[:2], keep="last", maintain_order=True)


def filtered(tables: StoreTables, cases: pl.DataFrame, wanted: CaseFilter) -> pl.DataFrame:
    """Return the cases that a filter lets through, in their order.

    Raises:
        QueryError: the condition in SQL is wrong.
    """
    chip = pl.element().struct
    chips = cases["chips"].explode().struct
    asked = pl.lit(value=True)
    if wanted.task:
        asked &= chip.field("task").is_in(_called(wanted.task, chips.field("task")))
    if wanted.question:
        asked &= chip.field("dimension").is_in(_called(wanted.question, chips.field("dimension")))
    if wanted.verdict == UNSCORED:
        asked &= chip.field("value").is_null()
    elif wanted.verdict:
        asked &= chip.field("value") == float(wanted.verdict)
    if wanted.reason:
        asked &= chip.field("reason").is_in(_called(wanted.reason, chips.field("reason")))
    condition = pl.col("chips").list.eval(asked.fill_null(value=False)).list.any()
    if wanted.model:
        condition &= pl.col("subject_model").is_in(
            [name for model in wanted.model for name in _called(model, cases["subject_model"])]
        )
    if wanted.label:
        labels = _called(wanted.label, cases["labels"].explode())
        condition &= pl.col("labels").list.eval(pl.element().is_in(labels)).list.any().fill_null(value=False)
    if wanted.differs:
        condition &= pl.col("differs")
    if wanted.text:
        words = wanted.text.lower()
        condition &= pl.any_horizontal(
            pl.col(name).str.to_lowercase().str.contains(words, literal=True).fill_null(value=False)
            for name in ("text", "prompt_id")
        )
    kept = cases.filter(condition)
    if wanted.where.strip():
        named = tables.cases_where(wanted.where, seconds=_SECONDS)
        kept = kept.join(named, on=CASE, how="semi", nulls_equal=True, maintain_order="left")
    return kept


def _called(name: str, values: pl.Series) -> list[str]:
    """Return the values that a form calls by this name: a field of a form cannot hold what acts unseen."""
    unseen = (value for value in values.drop_nulls().unique() if visible(value) == name) if "\\" in name else ()
    return [name, *unseen]


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that the filters of a page offer, each with the number of cases that have it."""

    models: list[tuple[str, int]]
    tasks: list[tuple[str, int]]
    questions: list[tuple[str, int]]
    verdicts: list[tuple[float, int]]
    reasons: list[tuple[str, int]]
    labels: list[tuple[str, int]]
    differing: int


_MOST_CHOICES: Final = 200
_MOST_VERDICTS: Final = 12
_CHIP: Final = {"task": pl.String, "dimension": pl.String, "value": pl.Float64, "reason": pl.String}


def choices(cases: pl.DataFrame) -> Choices:
    """Return the values that filters offer for these cases; numbers as verdicts only where they are few."""
    chips = cases.select("chips").explode("chips").unnest("chips") if cases.height else pl.DataFrame(schema=_CHIP)
    verdicts = sorted(_counts(chips["value"]))
    return Choices(
        models=sorted(_counts(cases["subject_model"])),
        tasks=sorted(_counts(chips["task"])),
        questions=sorted(_counts(chips["dimension"])),
        verdicts=verdicts if len(verdicts) <= _MOST_VERDICTS else [],
        reasons=_counts(chips["reason"]),
        labels=_counts(cases["labels"].explode()),
        differing=int(cases["differs"].sum()),
    )


def _counts(column: pl.Series) -> list[tuple[Any, int]]:
    """Return the values of a column and their counts, the most frequent first."""
    counts = column.drop_nulls().alias("value").value_counts(name="times").sort("times", "value", descending=[True, False])
    return list(counts.head(_MOST_CHOICES).iter_rows())
