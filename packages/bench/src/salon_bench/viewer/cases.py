"""Cases of runs, with their verdicts and labels, and the filters over them.

A case is one row: a model, a prompt and a picture of one run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import polars as pl

from salon_bench.viewer.rendering import Query, last
from salon_bench.viewer.store_tables import StoreTables
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

CASE: Final = ("run_id", "subject_model", "prompt_id", "generation_id")
"""The columns that name a case."""
UNSCORED: Final = "unscored"
PEOPLE: Final = pl.col("run_id").str.starts_with("arena-") & pl.col("judge_version").is_null()
"""Which rows of ``scores`` are a person's: those that ``salon arena export`` writes; ``judge`` is the rater then."""
_OF_SCORES: Final = (*CASE, "suite", "task", "dimension", "value", "unscored_reason", "judge", "judge_version")
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
        people: whose picture people scored or rated.
        disagree: whose picture people and judges see differently (:func:`disagreements`).
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
    people: bool = False
    disagree: bool = False
    text: str = ""
    where: str = ""

    @classmethod
    def read(cls, query: Query) -> "CaseFilter":
        """Return the filter of an address.

        Raises:
            InputError: a value is too long, or the verdict is neither a number nor ``unscored``.
        """
        refuse_long(query, (field.name for field in fields(cls)))
        one = {name: last(query, name) for name in ("task", "question", "verdict", "reason", "label", "text", "where")}
        if one["verdict"] not in ("", UNSCORED):
            try:
                float(one["verdict"])
            except ValueError:
                raise InputError("is no number", source="filter", column="verdict", value=one["verdict"]) from None
        models = tuple(value for value in query.get("model", ()) if value)
        differs, people, disagree = (last(query, name) == "1" for name in ("differs", "people", "disagree"))
        return cls(models, differs=differs, people=people, disagree=disagree, **one)


def refuse_long(query: Query, names: Iterable[str]) -> None:
    """Refuse values of a filter that are too long to be typed.

    Raises:
        InputError: one is.
    """
    for name in names:
        for value in query.get(name, ()):
            if len(value) > _LONGEST:
                raise InputError("is too long", source="filter", column=name, value=f"{value[:40]}…")


def run_cases(tables: StoreTables, run_ids: Sequence[str]) -> pl.DataFrame:
    """Return the cases of runs, by prompt, model and sample.

    Returns:
        The columns of :data:`CASE`; ``sample`` and ``turn``; ``text`` of the prompt (null where the store has none); ``chips``:
        a list of ``task``, ``dimension``, ``value`` and ``reason`` of each verdict, and whether its dimension
        is ``graded``, as its run has other values than 0 and 1; ``labels``: names of labels; ``differs``:
        whether verdicts of one question about the picture differ, among all runs of the store; ``people``: whether people
        scored or rated it; ``disagree``: the questions in which people and judges see it differently (:func:`disagreements`).
    """
    state = tables.state("scores", "ratings", "assessments", "generations", "prompts", "run_prompts")
    return tables.kept(("cases", *run_ids), state, lambda: _run_cases(tables, run_ids))


def _run_cases(tables: StoreTables, run_ids: Sequence[str]) -> pl.DataFrame:
    mine = pl.col("run_id").is_in(list(run_ids))
    of_a_prompt = mine & pl.col("prompt_id").is_not_null()
    scores = tables.rows("scores", of_a_prompt, *_OF_SCORES)
    pictures = scores["generation_id"].drop_nulls().unique().implode()
    others = tables.rows("scores", pl.col("generation_id").is_in(pictures) & ~of_a_prompt, *_OF_SCORES)
    everywhere = pl.concat([scores.drop_nulls("generation_id"), others])
    ratings = tables.rows("ratings", pl.col("generation_id").is_in(pictures))
    seen = pl.concat([everywhere.filter(PEOPLE)["generation_id"], ratings["generation_id"]]).unique().implode()
    disagree = (
        disagreements(everywhere.filter(pl.col("generation_id").is_in(seen)), ratings)
        .sort("dimension")
        .group_by("generation_id")
        .agg(disagree="dimension")
    )
    generations = tables.rows("generations", pl.col("generation_id").is_in(pictures), "generation_id", "sample", "turn")
    graded = (~pl.col("value").is_in([0.0, 1.0])).any().over("run_id", "dimension")
    chip = pl.struct("task", "dimension", "value", "graded", reason="unscored_reason")
    order = ("prompt_id", "subject_model", "run_id", "sample", "turn", "generation_id")
    cases = (
        scores.with_columns(graded=graded)
        .join(generations, on="generation_id", how="left")
        .sort(*order, "task", "dimension")
        .group_by(*CASE, "sample", "turn", maintain_order=True)
        .agg(chip.alias("chips"))
    )
    labels = (
        tables.rows("assessments", mine & pl.col("present"))
        .sort("label")
        .group_by("run_id", "generation_id")
        .agg(labels=pl.col("label").unique(maintain_order=True))
    )
    cases = cases.join(labels, on=["run_id", "generation_id"], how="left", nulls_equal=True, maintain_order="left")
    cases = cases.join(_texts(tables, scores, mine), on=["run_id", "prompt_id"], how="left", maintain_order="left")
    marks = {"differs": _contested(everywhere.filter(~PEOPLE).drop_nulls("value")), "people": seen}
    return cases.join(disagree, on="generation_id", how="left", maintain_order="left").with_columns(
        pl.col("disagree").fill_null([]),
        *(pl.col("generation_id").is_in(of).fill_null(value=False).alias(name) for name, of in marks.items()),
    )


def _contested(answers: pl.DataFrame) -> pl.Series:
    """Return the pictures about which one question has several values, as one list."""
    judged = answers.select("run_id", "suite", "judge", "judge_version")
    if judged.select(pl.all().eq_missing(pl.all().first()).all()).row(0) == (True,) * judged.width:
        return pl.Series("generation_id", [], pl.String).implode()  # one judge asks each question of a run once
    question = ("generation_id", "task", "dimension")
    values = answers.select(*question, "value").unique()
    return values.filter(pl.struct(question).is_duplicated())["generation_id"].unique().implode()


def disagreements(scores: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return where people and judges see a picture differently, question by question.

    People's scores and judges' differ where their medians do. Ratings have a scale of their own: a rating differs where
    people put the picture above the middle of what they rated and judges below the middle of the same pictures, or the other
    way round.

    Args:
        scores: rows of ``scores`` of judges and people.
        ratings: rows of ``ratings`` about the same pictures.

    Returns:
        Columns ``generation_id`` and ``dimension``.
    """
    key = ("generation_id", "dimension")
    judges = scores.filter(~PEOPLE & pl.col("value").is_not_null()).group_by(key).agg(pl.col("value").median())
    people = scores.filter(PEOPLE & pl.col("value").is_not_null()).group_by(key).agg(other=pl.col("value").median())
    rated = ratings.group_by(key).agg(other=pl.col("value").median()).join(judges, on=key)
    sides = [(pl.col(name) - pl.col(name).median().over("dimension")).sign() for name in ("value", "other")]
    return pl.concat(
        [
            people.join(judges, on=key).filter(pl.col("value") != pl.col("other")).select(key),
            rated.filter(sides[0] * sides[1] < 0).select(key),
        ]
    ).unique()


def _texts(tables: StoreTables, scores: pl.DataFrame, mine: pl.Expr) -> pl.DataFrame:
    """Return the text of each prompt of each run: as the run had it, else as its suite has it."""
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
        asked &= chip.field("task").is_in(called(wanted.task, chips.field("task")))
    if wanted.question:
        asked &= chip.field("dimension").is_in(called(wanted.question, chips.field("dimension")))
    if wanted.verdict == UNSCORED:
        asked &= chip.field("value").is_null()
    elif wanted.verdict:
        asked &= chip.field("value") == float(wanted.verdict)
    if wanted.reason:
        asked &= chip.field("reason").is_in(called(wanted.reason, chips.field("reason")))
    condition = pl.col("chips").list.eval(asked.fill_null(value=False)).list.any()
    if wanted.model:
        condition &= pl.col("subject_model").is_in(
            [name for model in wanted.model for name in called(model, cases["subject_model"])]
        )
    if wanted.label:
        labels = called(wanted.label, cases["labels"].explode())
        condition &= pl.col("labels").list.eval(pl.element().is_in(labels)).list.any().fill_null(value=False)
    for name in ("differs", "people"):
        if getattr(wanted, name):
            condition &= pl.col(name)
    if wanted.disagree:
        condition &= pl.col("disagree").list.len() > 0
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


def called(name: str, values: pl.Series) -> list[str]:
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
    people: int
    disagreeing: int


_MOST_CHOICES: Final = 200
_MOST_VERDICTS: Final = 12
_CHIP: Final = {"task": pl.String, "dimension": pl.String, "value": pl.Float64, "reason": pl.String}


def choices(cases: pl.DataFrame) -> Choices:
    """Return the values that filters offer for these cases; numbers as verdicts only where they are few."""
    chips = cases.select("chips").explode("chips").unnest("chips") if cases.height else pl.DataFrame(schema=_CHIP)
    verdicts = sorted(counts(chips["value"]))
    return Choices(
        models=sorted(counts(cases["subject_model"])),
        tasks=sorted(counts(chips["task"])),
        questions=sorted(counts(chips["dimension"])),
        verdicts=verdicts if len(verdicts) <= _MOST_VERDICTS else [],
        reasons=counts(chips["reason"]),
        labels=counts(cases["labels"].explode()),
        differing=int(cases["differs"].sum()),
        people=int(cases["people"].sum()),
        disagreeing=int((cases["disagree"].list.len() > 0).sum()),
    )


def counts(column: pl.Series) -> list[tuple[Any, int]]:
    """Return the values of a column and their counts, the most frequent first."""
    listed = column.drop_nulls().alias("value").value_counts(name="times").sort("times", "value", descending=[True, False])
    return list(listed.head(_MOST_CHOICES).iter_rows())
