"""Two runs side by side, paired by prompt: mean differences with intervals, by category, and where they part most.

    rows of A ┐   mean over samples     both scored ── difference ── paired bootstrap over prompts
    rows of B ┘── per prompt ──────────► one scored ── counted, in no difference

A difference is A less B in the unit of the rows, which is the suite's own (PRISM-Bench: points of 10; MagicBench: 1 is free of
the flaw). The suite's own totals are in :meth:`~salon_bench.runs.view.RunView.summaries`.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from salon_bench.analysis.comparison import ChangedPrompt, ComparedSide, Comparison, Gap, ScoreChange
from salon_bench.runs.status import RunState, RunStatus, run_status
from salon_bench.runs.view import RunView
from salon_ranking.agreement import paired_bootstrap
from salon_ranking.uncertainty.quantiles import least_units
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

BIGGEST: Final = 12
"""Prompts in the list of biggest changes."""
_ITEM: Final = ("dimension", "task", "prompt_id")
_FEWEST: Final = 2


def compare(
    store: StoreAddress,
    run_a: str,
    run_b: str,
    *,
    model_a: str | None = None,
    model_b: str | None = None,
    across_versions: bool = False,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    biggest: int = BIGGEST,
) -> Comparison:
    """Pair the rows of two runs of one suite by task, dimension and prompt.

    Args:
        store: the results' directory.
        run_a, run_b: which runs; one run twice for two of its models.
        model_a, model_b: whose rows; needed where a run has several models.
        across_versions: compare although judge, suite or the rule of asking differ between the two.
        replicates: of the paired bootstrap over prompts; 0: no intervals.
        confidence: of the intervals.
        seed: of its draws.
        biggest: how many changes to list.

    Raises:
        InputError: a run is not there or holds no scores, the suites differ, the versions do and that was not allowed, a
            model is missing or ambiguous, both sides are the same, they have no prompt in common, or an id means another
            prompt in either run.
        SalonError: options outside their range, or a store that cannot be read.
    """
    if replicates < 0 or biggest < 0:
        raise InputError("must be 0 or more", key="replicates" if replicates < 0 else "biggest", value=min(replicates, biggest))
    view_a, view_b = (RunView(store, run_status(store, each)) for each in (run_a, run_b))
    (side_a, rows_a), (side_b, rows_b) = _side(view_a, model_a), _side(view_b, model_b)
    _refuse(side_a, side_b, across_versions=across_versions)
    texts = _same_texts(view_a.prompts, view_b.prompts)
    pairs = _paired(rows_a, rows_b)
    if not pairs.drop_nulls(["n_a", "n_b"]).height:
        raise InputError("the two runs have no prompt in common", value=f"{run_a}, {run_b}")
    gaps = [
        _gap(part, str(name), None, replicates, confidence, seed)
        for (name,), part in pairs.group_by("dimension", maintain_order=True)
    ]
    gaps += [
        _gap(part, str(name), str(task), replicates, confidence, seed)
        for (name, task), part in pairs.filter(pl.col("task").n_unique().over("dimension") > 1).group_by(
            "dimension", "task", maintain_order=True
        )
    ]
    changes = _changes(pairs)
    listed = tuple(replace(each, text=texts.get(each.prompt_id)) for each in changes[:biggest])
    notes = tuple(_notes(side_a, side_b, (view_a.status, view_b.status), rows_a, rows_b, replicates, confidence, seed))
    prompts = pairs["prompt_id"].n_unique()
    return Comparison(side_a, side_b, tuple(gaps), listed, len(changes), prompts, confidence, replicates, seed, notes)


# ---------------------------------------------------------------------------------------------------------------- the sides


def _side(view: RunView, model: str | None) -> tuple[ComparedSide, pl.DataFrame]:
    models = view.models
    if not models:
        raise InputError("the run holds no scores yet", value=view.run_id, hint="salon bench runs says how far it is.")
    if model is None and len(models) > 1:
        hint = "Say whose rows: --model-a NAME, --model-b NAME."
        raise InputError("the run has several models", value=view.run_id, allowed=models, hint=hint)
    if model is not None and model not in models:
        raise InputError(f"the run {view.run_id} has no model", value=model, allowed=models)
    mine = view.of(model or models[0])
    first = mine.row(0, named=True)
    side = ComparedSide(view.run_id, first["suite"], first["subject_model"], first["judge"], first["judge_version"] or "")
    return side, mine


def _refuse(a: ComparedSide, b: ComparedSide, *, across_versions: bool) -> None:
    if a.suite != b.suite:
        raise InputError("the runs are of different suites", value=f"{a.suite}, {b.suite}")
    if (a.run_id, a.model) == (b.run_id, b.model):
        raise InputError("both sides are the same model in the same run", value=a.run_id)
    if a.judge != b.judge and a.judge_version == b.judge_version and not across_versions:
        hint = "A difference would be the judges' as well as the models': --across-versions compares all the same."
        raise InputError("the runs were judged by different judges", value=f"{a.judge}, {b.judge}", hint=hint)
    if a.judge_version != b.judge_version and not across_versions:
        raise InputError(
            "the runs were judged by different versions of judge, suite or rule of asking",
            value=f"{a.judge} {a.judge_version}, {b.judge} {b.judge_version}",
            hint="Judge both with one version, or compare all the same: --across-versions.",
        )


def _same_texts(of_a: Mapping[str, str], of_b: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of both sides; prompts that share an id must share their text."""
    for prompt_id in of_a.keys() & of_b.keys():
        if of_a[prompt_id] != of_b[prompt_id]:
            hint = "The runs were given different files of prompts; there is nothing to pair."
            raise InputError("means another text in either run: the prompt", value=prompt_id, hint=hint)
    return {**of_a, **of_b}


# ------------------------------------------------------------------------------------------------------------------- pairs


def _paired(rows_a: pl.DataFrame, rows_b: pl.DataFrame) -> pl.DataFrame:
    """Join the rows of both sides by dimension, task and prompt.

    Where both sides have rows of the same generations, as two judges of one model, only generations that both scored are in a
    prompt's means: else a judge that is silent on the hard ones would seem the milder one.

    Columns: ``a``, ``b`` (means over samples; null where nothing is scored, or nothing by both),
    ``n_a``, ``n_b`` (rows; null where a side has none), ``scored_a``, ``scored_b``, ``generations_a``, ``generations_b``.
    """
    known = [rows.filter(pl.col("prompt_id").is_not_null()) for rows in (rows_a, rows_b)]
    key = [*_ITEM, "generation_id"]
    scored = [rows.filter(pl.col("value").is_not_null()).select(key).unique() for rows in known]
    shared = known[0].select(key).drop_nulls().join(known[1].select(key), on=key, how="semi").select(_ITEM).unique()
    both = scored[0].join(scored[1], on=key, how="semi").with_columns(in_both=pl.lit(True))
    sides = [
        rows.join(shared.with_columns(is_shared=pl.lit(True)), on=_ITEM, how="left")
        .join(both, on=key, how="left")
        .group_by(_ITEM)
        .agg(
            pl.col("value").filter(pl.col("is_shared").is_null() | pl.col("in_both")).sort().mean().alias(mark),
            pl.len().alias(f"n_{mark}"),
            pl.col("value").count().alias(f"scored_{mark}"),
            pl.col("generation_id").drop_nulls().unique().sort().alias(f"generations_{mark}"),
        )
        for mark, rows in zip("ab", known, strict=True)
    ]
    return sides[0].join(sides[1], on=_ITEM, how="full", coalesce=True).sort(_ITEM)


def _gap(part: pl.DataFrame, dimension: str, category: str | None, replicates: int, confidence: float, seed: int) -> Gap:
    """Return the difference over the prompts of ``part``, each prompt once: the mean over its tasks that both sides scored."""
    scored = {mark: pl.col(f"scored_{mark}").fill_null(0) > 0 for mark in "ab"}
    both = pl.col("a").is_not_null() & pl.col("b").is_not_null()
    prompts = part.group_by("prompt_id", maintain_order=True).agg(
        *(pl.col(mark).filter(both).mean() for mark in "ab"), *(scored[mark].any().alias(f"some_{mark}") for mark in "ab")
    )
    paired = prompts.drop_nulls(["a", "b"])
    low = high = None
    if paired.height >= _FEWEST and replicates:
        difference = paired_bootstrap(paired["a"], paired["b"], replicates=replicates, confidence=confidence, seed=seed)
        low, high = (None if math.isnan(end) else end for end in (difference.ci_low, difference.ci_high))
    mean_a, mean_b = (_mean(paired[mark]) for mark in "ab")
    alone = prompts.filter(pl.col("a").is_null())
    only_a = alone.filter(pl.col("some_a") & ~pl.col("some_b")).height
    only_b = alone.filter(pl.col("some_b") & ~pl.col("some_a")).height
    unscored = [int((part[f"n_{mark}"] - part[f"scored_{mark}"]).sum()) for mark in "ab"]
    return Gap(
        dimension,
        category,
        mean_a,
        mean_b,
        None if mean_a is None or mean_b is None else mean_a - mean_b,
        low,
        high,
        paired.height,
        only_a,
        only_b,
        prompts.height - paired.height - only_a - only_b,
        *unscored,
    )


def _mean(values: pl.Series) -> float | None:
    return float(values.to_numpy().mean()) if len(values) else None


def _changes(pairs: pl.DataFrame) -> list[ChangedPrompt]:
    """Return every prompt on which the sides differ, the biggest change first; texts are filled in later."""
    both = pairs.drop_nulls(["a", "b"])
    lowest, highest = pl.min_horizontal("a", "b").min(), pl.max_horizontal("a", "b").max()
    moved = both.with_columns(part=(pl.col("a") - pl.col("b")) / (highest - lowest).over("dimension")).filter(
        pl.col("a") != pl.col("b")
    )
    changed = []
    for (prompt_id,), part in moved.group_by("prompt_id", maintain_order=True):
        rows = part.sort(pl.col("part").abs(), "dimension", "task", descending=[True, False, False])
        moves = tuple(ScoreChange(*row) for row in rows.select("task", "dimension", "a", "b").iter_rows())
        ids = [tuple(sorted({each for row in part[f"generations_{mark}"] for each in row})) for mark in "ab"]
        size, balance = float(rows["part"].abs().sum()), float(rows["part"].sum())
        changed.append(ChangedPrompt(str(prompt_id), tuple(sorted(set(part["task"]))), None, moves, size, balance, *ids))
    return sorted(changed, key=lambda change: (-round(change.size, 9), change.categories, change.prompt_id))


def _notes(
    a: ComparedSide,
    b: ComparedSide,
    stands: tuple[RunStatus, RunStatus],
    rows_a: pl.DataFrame,
    rows_b: pl.DataFrame,
    replicates: int,
    confidence: float,
    seed: int,
) -> list[str]:
    notes = []
    if a.judge != b.judge and a.judge_version == b.judge_version:
        notes.append(f"The judges differ: A by {a.judge}, B by {b.judge}. A difference may be theirs, not the models'.")
    if a.judge_version != b.judge_version:
        notes.append(
            f"The judge versions differ: A by {a.judge} {a.judge_version}, B by {b.judge} {b.judge_version}. A difference may "
            "be the judge's, not the models'."
        )
    for mark, stand in zip("AB", stands, strict=True):
        if stand.state in (RunState.RUNNING, RunState.UNFINISHED):
            notes.append(
                f"Run {mark} is {stand.state.value}: {stand.cases_done or 0} of {stand.cases_total or '?'} cases have rows."
            )
    whole = rows_a["prompt_id"].null_count() + rows_b["prompt_id"].null_count()
    if whole:
        notes.append(f"{whole} rows are about no single prompt and cannot be paired.")
    if replicates:
        notes.append(
            f"{100 * confidence:.4g}% intervals of the difference: Student's t, paired bootstrap over prompts, {replicates:,} "
            f"replicates, seed {seed}; none of fewer than {least_units(confidence, clustered=True)} prompts; not corrected for "
            "the number of rows."
        )
    notes.append(
        "Several samples for a prompt are one number, their mean; where both sides have the same generations, of those both "
        "scored. Prompts with a score on one side only are in no difference."
    )
    return notes
