"""Combine several judges into one panel, and measure how far its members agree.

Scores are means over the members that scored; labels go by majority. Every member's own rows stay under its own name, so
this is a function of rows and can be computed again at any time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import combinations
from typing import Any

import polars as pl

from salon_bench.analysis.panel_agreement import LabelAgreement, label_agreement, score_agreement
from salon_bench.runs.plan import SHARDS, RunPlan
from salon_bench.runs.session import run_row
from salon_bench.runs.view import RunView
from salon_store import ResultStore
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import RunEvent, RunEventKind
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason

RULE = "mean-majority-1"
"""Part of a panel's version: raised when members' rows are combined otherwise."""
_ITEM = ("suite", "task", "subject_model", "prompt_id", "generation_id", "dimension")
_LABEL = ("generation_id", "taxonomy", "label")


@dataclass(frozen=True, slots=True)
class Panel:
    """The run of a panel and the agreement of its members.

    ``agreement``: a dict for every task and dimension, with a ``sentence`` for people. ``labels``: Cohen's κ of every label.
    """

    run_id: str
    agreement: list[dict[str, Any]]
    labels: list[LabelAgreement]


def combined_scores(members: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return one row per item: the mean over the members that scored it; ``abstained`` where none did.

    Args:
        members: each member's rows of ``scores``, by its name.

    Example:
        >>> row = {"suite": "s", "task": "t", "subject_model": "m", "prompt_id": "p", "generation_id": None, "dimension": "d"}
        >>> one, two = (pl.DataFrame([{**row, "value": value, "unscored_reason": None}]) for value in (1.0, 0.0))
        >>> combined_scores({"a": one, "b": two})["value"].to_list()
        [0.5]
    """
    rows = pl.concat([frame.select(*_ITEM, "value") for frame in members.values()], how="vertical_relaxed")
    together = rows.group_by(_ITEM, maintain_order=True).agg(pl.col("value").mean())
    return together.with_columns(
        unscored_reason=pl.when(pl.col("value").is_null()).then(pl.lit(Reason.ABSTAINED.value)).otherwise(None)
    )


def combined_labels(members: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Return the labels by majority, and the number of tied labels, which have no row.

    A member that labelled the generation, but says nothing of the label, withheld it.
    """
    columns = (*_LABEL, "present")
    rows = pl.concat([frame.select(columns).with_columns(member=pl.lit(name)) for name, frame in members.items()])
    voters = rows.group_by("generation_id", "taxonomy").agg(voters=pl.col("member").n_unique())
    votes = rows.group_by(_LABEL, maintain_order=True).agg(given=pl.col("present").sum())
    counted = votes.join(voters, on=["generation_id", "taxonomy"], how="left").with_columns(
        withheld=pl.col("voters") - pl.col("given")
    )
    decided = counted.filter(pl.col("given") != pl.col("withheld"))
    labels = decided.select(*_LABEL, present=pl.col("given") > pl.col("withheld"))
    return labels, counted.height - decided.height


def agreement(members: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Return the agreement of all pairs of members, for every task and dimension.

    It has the share of equal values where both scored an item, the mean absolute difference, and Krippendorff's α.
    """
    alphas = {(each.task, each.dimension): each.alpha for each in score_agreement(members)}
    pairs: dict[tuple[str, str], list[tuple[int, int, float]]] = {}
    for one, other in combinations(members.values(), 2):
        both = one.join(other, on=_ITEM, how="inner", nulls_equal=True).drop_nulls(["value", "value_right"])
        gap = (pl.col("value") - pl.col("value_right")).abs()
        for row in (
            both.group_by("task", "dimension").agg(n=pl.len(), same=(gap == 0).sum(), gap=gap.sum()).iter_rows(named=True)
        ):
            pairs.setdefault((row["task"], row["dimension"]), []).append((row["n"], row["same"], row["gap"]))
    return [
        _agreed(task, dimension, counts, alphas.get((task, dimension))) for (task, dimension), counts in sorted(pairs.items())
    ]


def _agreed(task: str, dimension: str, counts: Sequence[tuple[int, int, float]], alpha: float | None) -> dict[str, Any]:
    pairs, same, gap = (sum(each[place] for each in counts) for place in range(3))
    share = f"{same} of {pairs} pairs of verdicts agree ({same / pairs:.1%})"
    words = f"{task}, {dimension}: {share}, mean difference {gap / pairs:.4g}"
    words += "" if alpha is None else f", Krippendorff's α {alpha:.3f}"
    return {
        "task": task,
        "dimension": dimension,
        "pairs": pairs,
        "same": same,
        "mean_difference": gap / pairs,
        "alpha": alpha,
        "sentence": words,
    }


def judge_together(plans: Sequence[RunPlan], store: StoreAddress) -> Panel:
    """Combine the runs of several judges into the rows of a panel, and store them.

    Combining the same rows again changes nothing; once a member has more or other rows, the panel's run gets another id.
    The panels of all shards make one run, as the shards do.

    Raises:
        InputError: for fewer than two members, or two with one name and version.
    """
    if len({(plan.judge, plan.judge_version) for plan in plans}) < max(len(plans), 2):
        raise InputError("a panel needs two or more different judges, not", value=[plan.judge for plan in plans])
    names = [f"{plan.judge} {plan.judge_version}" for plan in plans]
    views = {name: RunView(store, plan.run_id) for name, plan in zip(names, plans, strict=True)}
    scores = {name: view.scores for name, view in views.items()}
    labels = {name: view.assessments for name, view in views.items()}
    rows = {name: _content(frame, labels[name]) for name, frame in scores.items()}
    made_of: dict[str, Digestible] = {
        "rule": RULE,
        "members": {plan.run_id: rows[name] for name, plan in zip(names, plans, strict=True)},
    }
    judge_version = digest("panel", {"rule": RULE, "members": sorted(names)}, length=16)
    run_id = f"{plans[0].suite}-panel-{digest('panel-run', made_of, length=12)}"
    stamp = [pl.lit(run_id).alias("run_id"), pl.lit("panel").alias("judge"), pl.lit(judge_version).alias("judge_version")]
    stamp.append(pl.lit(f"panel of {len(plans)} judges").alias("made_of"))
    decided, tied = combined_labels(labels)
    key = pl.concat_str(pl.lit(run_id), *_LABEL, separator="\0").map_elements(
        lambda text: digest("assessment", text), return_dtype=pl.String
    )
    now = datetime.now(UTC)
    row = run_row(
        run_id,
        plans[0].suite,
        subject=plans[0].subjects[0].name if len(plans[0].subjects) == 1 else None,
        judge=("panel", judge_version),
        settings=_settings(plans) or None,
        source=f"panel of {', '.join(plan.run_id for plan in plans)}; {tied} labels tied",
    )
    combined = combined_scores(scores)
    cases = combined.select("subject_model", "prompt_id", "generation_id").n_unique()
    counted = {"cases_done": cases, "cases_total": cases, "at": now, "detail": f"{tied} labels tied"}
    event = RunEvent(event_id=digest("run_event", run_id), run_id=run_id, kind=RunEventKind.FINISHED, **counted)
    with ResultStore.open(store) as opened:
        opened.append("scores", combined.with_columns(stamp), run_id=run_id, on_duplicate="skip")
        opened.append("assessments", decided.with_columns(stamp, assessment_id=key), run_id=run_id, on_duplicate="skip")
        opened.append("runs", [row], run_id=run_id, on_duplicate="skip")
        used = views[names[0]].run_prompts.with_columns(stamp[0])
        opened.append("run_prompts", used, run_id=run_id, on_duplicate="skip")
        opened.append("run_events", [event], run_id=run_id, on_duplicate="skip")
    return Panel(run_id, agreement(scores), label_agreement(labels))


def _settings(plans: Sequence[RunPlan]) -> dict[str, Digestible]:
    """Return the settings of a panel's run: the file of its suite, and the whole of which it is a shard."""
    settings: dict[str, Digestible] = {}
    if plans[0].suite_file is not None:
        settings["suite_file"] = plans[0].suite_file
    shard, wholes = plans[0].shard, [plan.whole_id for plan in plans]
    if shard is not None and {plan.shard for plan in plans} == {shard}:
        key = digest("panel-run", {"rule": RULE, "shards of": sorted(map(str, wholes))}, length=12)
        settings |= {"whole_id": f"{plans[0].suite}-panel-{shard[1]}{SHARDS}-{key}", "shard": [*shard]}
    return settings


def _content(scores: pl.DataFrame, labels: pl.DataFrame) -> str:
    """Return the SHA-256 of what a member's rows say, in any order."""
    frames = (scores.select(*_ITEM, "value"), labels.select(*_LABEL, "present"))
    return sha256("".join(frame.sort(frame.columns).write_csv() for frame in frames).encode()).hexdigest()
