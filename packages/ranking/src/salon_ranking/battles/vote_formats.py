"""How other arenas spell their votes, and model names that are spelled in several ways."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.errors import BattleError, OptionError, RankingError
from salon_ranking.files import reading
from salon_taxonomy.enums import Winner

_OUR_WORDS = {winner.value for winner in Winner}


@dataclass(frozen=True)
class VoteFormat:
    """What a table calls its columns and its winners.

    Attributes:
        columns: our name of a column by the table's.
        winners: our word by the table's: ``{"tie (bothbad)": "both_bad"}``. Our own words may be used beside them. Case and
            spaces around a word do not matter, unless two words of this mapping differ by nothing else.
        flags: our word by a column of 0 and 1 that is 1 for it, in place of a column of winners.
        named: whether a winner is the name of the model that won; other words stay as they are.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    winners: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    named: bool = False

    def with_own(self, columns: Mapping[str, str], winners: Mapping[str, str]) -> "VoteFormat":
        """Return the format with further names of columns and words for winners; they replace its own.

        Raises:
            OptionError: ``columns`` or ``winners`` is no mapping.
        """
        for name, value in (("columns", columns), ("winner_words", winners)):
            if not isinstance(value, Mapping):
                raise OptionError(f"{name} must be a mapping from the table's words to ours, not", value=value)
        return replace(self, columns={**self.columns, **columns}, winners={**self.winners, **winners})

    def read(self, frame: pl.LazyFrame, source: str) -> pl.LazyFrame:
        """Return the frame with our columns and words; words that are unknown stay, and are refused where they are read.

        Raises:
            BattleError: a column is missing, or our name of one is taken by another.
            OptionError: a word is none of our winners.
        """
        for word in (*self.winners.values(), *self.flags.values()):
            if word not in _OUR_WORDS:
                raise OptionError("unknown winner", value=word, allowed=sorted(_OUR_WORDS))
        frame = with_our_columns(frame, self.columns, source, BattleError, others=self.flags)
        if self.flags:
            is_one = {name: pl.col(self.columns.get(name, name)).cast(pl.Float64, strict=False) == 1 for name in self.flags}
            several = pl.sum_horizontal(flag.cast(pl.Int64) for flag in is_one.values()) > 1
            named = (pl.when(flag).then(pl.lit(name)) for name, flag in is_one.items())
            chosen = (pl.when(flag).then(pl.lit(self.flags[name])) for name, flag in is_one.items())
            both = pl.concat_str(*named, separator=" and ", ignore_nulls=True)  # no winner of ours, so that it is refused
            frame = frame.with_columns(pl.when(several).then(both).otherwise(pl.coalesce(*chosen)).alias("winner"))
        if self.named:
            name = pl.col("winner").cast(pl.String)
            sides = (pl.when(name == pl.col(each).cast(pl.String)).then(pl.lit(each)) for each in ("model_a", "model_b"))
            frame = frame.with_columns(pl.coalesce(*sides, name).alias("winner"))
        if not self.winners:
            return frame
        winner = pl.col("winner").cast(pl.String)
        words = {word: word for word in _OUR_WORDS} | {word.strip().lower(): ours for word, ours in self.winners.items()}
        lowered = winner.str.strip_chars().str.to_lowercase().replace_strict(words, default=winner)
        return frame.with_columns(winner.replace_strict(dict(self.winners), default=lowered))


def with_our_columns(
    frame: pl.LazyFrame,
    columns: Mapping[str, str],
    source: str,
    error: type[RankingError],
    *,
    others: Collection[str] = (),
) -> pl.LazyFrame:
    """Return the frame with our names of columns.

    Args:
        columns: our name of a column by the table's.
        source: what errors call the table.
        error: what is raised.
        others: columns that must exist, too.

    Raises:
        error: a column is missing, or our name of one is taken by another.
        OptionError: ``columns`` is no mapping of names.
    """
    if not (isinstance(columns, Mapping) and all(isinstance(name, str) for pair in columns.items() for name in pair)):
        raise OptionError("columns must be a mapping from the table's names to ours, not", value=columns)
    with reading(source, error):
        names = frame.collect_schema().names()
    for name in (*columns, *others):
        if name not in names:
            raise error("missing column", source=source, value=name, found=names)
    for name, ours in columns.items():
        if name != ours and ours in names and ours not in columns:
            hint = f"Name it otherwise too: {ours}=other_{ours}."
            raise error(f"has a column {ours!r} already, beside", source=source, value=name, hint=hint)
    return frame.rename(dict(columns))


_BOTH_BAD = Winner.BOTH_BAD.value
VOTE_FORMATS: dict[str, VoteFormat] = {
    "evalica": VoteFormat({"left": "model_a", "right": "model_b"}, {"left": "model_a", "right": "model_b"}),
    "genai-arena": VoteFormat(
        {"left_model": "model_a", "right_model": "model_b", "vote_type": "winner"},
        {"leftvote": "model_a", "rightvote": "model_b", "tievote": "tie", "bothbad_vote": _BOTH_BAD},
    ),
    "lmarena": VoteFormat(winners={"tie (bothbad)": _BOTH_BAD}),
    "lmarena-kaggle": VoteFormat(
        flags={"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"},
    ),
    "named": VoteFormat(named=True),
}
"""Formats of released votes: evalica's example files (``left, right, winner``), the votes of GenAI-Arena as GenAI-Bench
releases them (``left_model, right_model, vote_type``), LMArena's and FastChat's (``tie (bothbad)``, or ``both_bad``),
LMArena's data of 55,000 votes with one column of 0 and 1 per outcome, and tables whose winner is the name of a model."""


def format_of(votes: VoteFormat | str) -> VoteFormat:
    """Return a format, or the one of that name.

    Raises:
        OptionError: no format has that name.

    Example:
        >>> format_of("evalica").columns["left"]
        'model_a'
    """
    if isinstance(votes, VoteFormat):
        return votes
    known = VOTE_FORMATS.get(votes) if isinstance(votes, str) else None
    if known is None:
        raise OptionError("unknown format of votes", value=votes, allowed=VOTE_FORMATS)
    return known


def renamed(frame: pl.LazyFrame, names: Mapping[str, str], columns: Sequence[str] = ("model_a", "model_b")) -> pl.LazyFrame:
    """Return the frame with other names of models, by their old ones."""
    return frame.with_columns(pl.col(columns).cast(pl.String).replace(dict(names)))


def alike_names(models: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that differ only by case, spaces or Unicode form, in ascending order.

    Example:
        >>> alike_names(["GPT 4", "gpt4", "other"])
        [('GPT 4', 'gpt4')]
    """
    groups: dict[str, list[str]] = {}
    for name in models:
        groups.setdefault("".join(unicodedata.normalize("NFKC", name).casefold().split()), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def with_model_names(
    frame: pl.DataFrame, names: Mapping[str, str] | Literal["merge"] | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table with one spelling of each model in its column ``model``, and remarks on what was merged.

    Args:
        frame: marks or checks.
        names: a model's name by each of its other spellings; ``"merge"``: names that differ only by case, spaces or Unicode
            form become the one with the most rows; None: names stay as they are.

    Raises:
        OptionError: ``names`` is anything else.

    Example:
        >>> frame, remarks = with_model_names(pl.DataFrame({"model": ["GPT 4", "gpt4", "GPT 4"]}), "merge")
        >>> frame["model"].to_list(), remarks
        (['GPT 4', 'GPT 4', 'GPT 4'], ("merged 'gpt4' into 'GPT 4'",))
    """
    if names is None:
        return frame, ()
    if not (names == "merge" or isinstance(names, Mapping)):
        raise OptionError("names must be a mapping or 'merge', not", value=names)
    models = frame["model"].cast(pl.String)
    remarks: tuple[str, ...] = ()
    if isinstance(names, str):
        counts = models.drop_nulls().value_counts(name="count").sort("model")
        known = counts["model"].to_list()
        names = merged_names(alike_names(known), known, counts["count"].to_numpy().astype(np.float64))
        remarks = (f"merged {', '.join(f'{other!r} into {name!r}' for other, name in names.items())}",) if names else ()
    return frame.with_columns(model=models.replace(dict(names))), remarks


def merged_names(groups: Sequence[tuple[str, ...]], models: Sequence[str], matches: "NDArray[np.float64]") -> dict[str, str]:
    """Return the spelling with the most battles, by every other of its group; of equals the first in ascending order."""
    number = dict(zip(models, matches, strict=True))
    best = {group: max(group, key=lambda name: number[name]) for group in groups}
    return {name: chosen for group, chosen in best.items() for name in group if name != chosen}
