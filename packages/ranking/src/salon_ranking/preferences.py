"""Votes as preference data: one row per pair of pictures, chosen and rejected, split by prompt."""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Final

import polars as pl

from salon_console.numbers import counted
from salon_ranking.battles import Battles
from salon_ranking.errors import BattleError
from salon_ranking.options import Range, Seed, checked

_GENERATIONS: Final = ("generation_a", "generation_b")
_COLUMNS: Final = (
    *("prompt_id", "prompt", "chosen", "rejected", "chosen_model", "rejected_model"),
    *("votes_chosen", "votes_rejected", "ties", "margin", "split"),
)


@dataclass(frozen=True, eq=False)
class PreferencePairs:
    """Preference data from votes.

    Attributes:
        table: one row per pair that more votes chose than rejected: ``prompt_id``, ``prompt`` (its text; null where it is not
            known), ``chosen`` and ``rejected`` (where the pictures are, else their ids, else the models), ``chosen_model``,
            ``rejected_model``, ``votes_chosen``, ``votes_rejected``, ``ties`` (sums of weights), ``margin`` ((votes_chosen -
            votes_rejected) over all three, above 0 and at most 1) and ``split`` (train or test).
        undecided: pairs with as many votes for the one as for the other, which are left out.
        battles: votes that were read.
    """

    table: pl.DataFrame
    undecided: int
    battles: int

    @property
    def header(self) -> str:
        """One sentence on what was made of the votes."""
        held_out = self.table.filter(split="test").height
        disputed = self.table.filter(pl.col("votes_rejected") > 0).height
        pairs, undecided = counted(self.table.height, "pair"), counted(self.undecided, "undecided pair")
        return (
            f"{counted(self.battles, 'vote')}: {pairs}, {disputed:,} of them with votes for either, {held_out:,} for testing; "
            f"{undecided} left out."
        )


@checked
def preference_pairs(
    battles: Battles,
    *,
    generations: pl.DataFrame | None = None,
    prompts: pl.DataFrame | None = None,
    held_out: Annotated[float, Range(0.0, 1.0)] = 0.0,
    seed: Seed = 0,
) -> PreferencePairs:
    """Turn votes into pairs of a chosen and a rejected picture.

    All votes on one pair are one row, whatever sides they were shown on. Prompts of one text (case and spaces aside) are in one
    split; whether a prompt is held out depends on its text and the seed, not on the other prompts.

    Args:
        battles: with ``generation_a`` and ``generation_b``, or with ``prompt_id``: then a pair is of two models on one prompt.
        generations: ``generation_id`` and ``uri``, for where pictures are; each id once.
        prompts: ``prompt_id`` and ``text``; an id has one text.
        held_out: the share of prompts that is for testing, from 0 to 1.
        seed: of the split.

    Raises:
        BattleError: the battles have no such columns, a generation is missing, or an id means two pictures or texts.

    Example:
        >>> votes = {"prompt_id": ["p"] * 4, "model_a": ["x", "y", "x", "x"], "model_b": ["y", "x", "y", "z"]}
        >>> winners = ["model_a", "model_b", "model_b", "tie"]
        >>> found = preference_pairs(Battles.from_frame({**votes, "winner": winners}))
        >>> found.table.select("chosen", "rejected", "votes_chosen", "votes_rejected").row(0), found.undecided
        (('x', 'y', 2.0, 1.0), 1)
    """
    frame = battles.frame.collect()
    has_generations = {*_GENERATIONS} <= {*frame.columns} and not frame.select(_GENERATIONS).null_count().sum_horizontal()[0]
    if not has_generations and "prompt_id" not in frame.columns:
        hint = "Pairs are of pictures (generation_a, generation_b) or of models on a prompt (prompt_id)."
        raise BattleError("missing column", source=battles.source, value="prompt_id", found=frame.columns, hint=hint)
    a, b = (pl.col(name).cast(pl.String) for name in (_GENERATIONS if has_generations else ("model_a", "model_b")))
    prompt = pl.col("prompt_id").cast(pl.String) if "prompt_id" in frame.columns else pl.lit(None, dtype=pl.String)
    in_order, winner = a <= b, pl.col("winner").cast(pl.String)
    weight = pl.lit(1.0) if battles.weight is None else pl.col(battles.weight).cast(pl.Float64)

    def side(one: pl.Expr, other: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        return pl.when(in_order).then(one).otherwise(other), pl.when(in_order).then(other).otherwise(one)

    first, second = side(a, b)
    first_model, second_model = side(pl.col("model_a"), pl.col("model_b"))
    first_wins, second_wins = side(winner == "model_a", winner == "model_b")
    votes = frame.filter(weight > 0.0).select(
        prompt_id=prompt,
        first=first,
        second=second,
        first_model=first_model.cast(pl.String),
        second_model=second_model.cast(pl.String),
        first_wins=first_wins.cast(pl.Float64) * weight,
        second_wins=second_wins.cast(pl.Float64) * weight,
        ties=(~winner.is_in(["model_a", "model_b"])).cast(pl.Float64) * weight,
    )
    key = ["prompt_id", "first", "second"]
    counts = votes.group_by(key, maintain_order=True).agg(
        pl.col("first_model", "second_model").first(), pl.col("first_wins", "second_wins", "ties").sort().sum()
    )
    decided = counts.filter(pl.col("first_wins") != pl.col("second_wins"))
    won = pl.col("first_wins") > pl.col("second_wins")
    table = decided.select(
        "prompt_id",
        chosen=pl.when(won).then("first").otherwise("second"),
        rejected=pl.when(won).then("second").otherwise("first"),
        chosen_model=pl.when(won).then("first_model").otherwise("second_model"),
        rejected_model=pl.when(won).then("second_model").otherwise("first_model"),
        votes_chosen=pl.max_horizontal("first_wins", "second_wins"),
        votes_rejected=pl.min_horizontal("first_wins", "second_wins"),
        ties="ties",
    )
    told = pl.col("votes_chosen") + pl.col("votes_rejected") + pl.col("ties")
    table = table.with_columns(margin=(pl.col("votes_chosen") - pl.col("votes_rejected")) / told)
    if generations is not None and has_generations:
        table = _with_places(table, generations, battles.source)
    table = _with_texts(table, prompts, battles.source)
    text = pl.coalesce(pl.col("prompt"), pl.col("prompt_id"), pl.lit(""))
    parts = {name: _part(name, held_out, seed) for name in table.select(text).to_series().unique()}
    table = table.with_columns(split=text.replace_strict(parts, return_dtype=pl.String) if parts else pl.lit("train"))
    undecided = counts.height - decided.height
    return PreferencePairs(table.select(_COLUMNS).sort("prompt_id", "chosen", "rejected"), undecided, votes.height)


def _with_places(table: pl.DataFrame, generations: pl.DataFrame, source: str) -> pl.DataFrame:
    places = generations.select(pl.col("generation_id").cast(pl.String), pl.col("uri").cast(pl.String)).unique()
    _refuse_twice(places, "generation_id", source)
    known = dict(places.iter_rows())
    missing = sorted({*table["chosen"], *table["rejected"]} - known.keys())
    if missing:
        what = f"{counted(len(missing), 'picture')} of the votes are not among the generations, such as"
        raise BattleError(what, source=source, column="generation_a", value=missing[0])
    return table.with_columns(pl.col("chosen", "rejected").replace_strict(known, return_dtype=pl.String))


def _with_texts(table: pl.DataFrame, prompts: pl.DataFrame | None, source: str) -> pl.DataFrame:
    if prompts is None:
        return table.with_columns(prompt=pl.lit(None, dtype=pl.String))
    used = table["prompt_id"].drop_nulls().unique().implode()
    texts = prompts.select(pl.col("prompt_id").cast(pl.String), prompt=pl.col("text").cast(pl.String)).unique()
    texts = texts.filter(pl.col("prompt_id").is_in(used))
    _refuse_twice(texts, "prompt_id", source)
    return table.join(texts, on="prompt_id", how="left", maintain_order="left")


def _refuse_twice(rows: pl.DataFrame, column: str, source: str) -> None:
    twice = rows.filter(pl.col(column).is_duplicated()).sort(column)
    if twice.height:
        raise BattleError("an id means two things:", source=source, column=column, value=twice[column][0])


def _part(text: str, held_out: float, seed: int) -> str:
    plain = " ".join(text.casefold().split())
    number = int.from_bytes(hashlib.sha256(f"{seed} {plain}".encode()).digest()[:8], "big")
    return "test" if number < held_out * 2**64 else "train"
