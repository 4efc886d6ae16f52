"""Battles, the pairwise comparisons with their winners, or rankings: from a frame, a file, or a result store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import polars as pl

from salon_console.numbers import counted
from salon_ranking import _core
from salon_ranking.battles.encoding import BattleColumns, counting, encode, numbered, weight_of
from salon_ranking.battles.rankings import Orders, encode_rankings, is_of_rankings
from salon_ranking.battles.repeated_ids import ID, refuse_repeated
from salon_ranking.battles.row_selection import Copies, NoWinner, RowSelection, unnamed_ids
from salon_ranking.battles.vote_formats import VoteFormat, alike_names, format_of, merged_names, renamed
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import Frame, as_lazy, reading, scan
from salon_ranking.table_checks import TRUTH, all_wrong, truth_of

ANCHOR = "is_anchor"
"""The column of rows whose answer is known: they test raters, not models."""
ALIKE = "WARNING: names that differ only by case, spaces or Unicode form are ranked apart"
PAIR_WEIGHT = "pair_weight"
"""The column with the weights of :meth:`Battles.with_equal_pairs`."""
Anchors: TypeAlias = Literal["leave_out", "count"]

_COUNTS = ("wins", "ties", "losses", "win_rate", "replicates_used")
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Battles:
    """A set of battles, checked and counted. Build with :meth:`from_frame` or :meth:`read`.

    Attributes:
        source: what errors and headers call it: a path, or ``"battles"``.
        models: names of all models with a battle, in ascending order.
        cluster_by: the column (or the two columns) whose values are the clusters of clustered intervals; None without.
        weight: the column with each battle's weight; None: every battle weighs 1.
        cells: the counts, for the numeric core.
        frame: the battles that count, with the columns that were given; without anchors.
        everything: the same with anchors, for checks of raters; None without anchors.
        remarks: what a header says of how the battles were read: anchors left out, names that are nearly the same.
        both_bad: battles that were left out because they were judged both-bad; None: all are counted.
        orders: the rankings, where the table holds rankings: ``cells`` are then the pairs that they compare. None: battles.
    """

    source: str
    models: tuple[str, ...]
    cluster_by: str | tuple[str, str] | None
    weight: str | None
    cells: _core.Cells
    frame: pl.LazyFrame
    everything: pl.LazyFrame | None = None
    remarks: tuple[str, ...] = ()
    both_bad: pl.LazyFrame | None = None
    orders: Orders | None = None

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        source: str = "battles",
        cluster_by: str | Sequence[str] | None = None,
        weight: str | bool | None = True,
        ids: str | None = ID,
        *,
        anchors: Anchors = "leave_out",
        names: Mapping[str, str] | Literal["merge"] | None = None,
        votes: VoteFormat | str | None = None,
        columns: Mapping[str, str] | None = None,
        winner_words: Mapping[str, str] | None = None,
        where: str | None = None,
        no_winner: NoWinner = "refuse",
        copies: Copies = "refuse",
    ) -> "Battles":
        """Check and count the rows of a table with the columns ``model_a``, ``model_b`` and ``winner``.

        ``winner`` is one of ``model_a``, ``model_b``, ``both_good``, ``both_bad``, ``tie``. Other columns may be there; only
        those below are read. A battle of weight 0 is left out, and nothing in its row is checked.
        No id may be in two rows: a vote that was exported twice would count twice.

        A table with the column ``place`` and none of these three holds rankings, one row per ranked picture: ``ranking_id``,
        ``model`` and ``place`` (1 is best; equal places are ties; ``unplaced`` is below all others). Clusters and weights are
        those of a ranking.

        Args:
            frame: a frame of polars, pandas or pyarrow, or any table that :data:`salon_ranking.files.Frame` lists.
            cluster_by: a column (a prompt), or two (a prompt and a rater): votes with equal values may depend on each other.
            weight: the column with each battle's weight. True: the column ``weight`` where there is one; False: none.
            ids: the column that tells battles apart; ``battle_id`` may be absent. None: repetitions are counted.
            anchors: what to do with rows whose ``is_anchor`` is true. Their answer is known: they test raters, not models.
            names: a model's name by each of its other spellings; ``"merge"``: names that differ only by case, spaces or
                Unicode form become the one with the most battles.
            votes: how the table spells columns and winners, or the name of a known format (``VOTE_FORMATS``).
            columns: Salon's name of a column by the table's, beside those of ``votes``: ``{"left": "model_a"}``.
            winner_words: Salon's word for a winner by the table's, in the same way: ``{"left": "model_a"}``.
            where: an SQL condition over the columns as the table names them; only the rows that meet it are read.
            no_winner: what to do with rows without a winner: refuse them, or leave them out and count them.
            copies: what to do with rows that equal another with the same id in every column: refuse, or keep the first.

        Raises:
            BattleError: a column is missing or of the wrong type, or a row is wrong or an id repeated; names the first one,
                and counts every kind.
            OptionError: more than two columns to cluster by, or the same one twice; an unknown format; an option of winners or
                ids for rankings.

        Example:
            >>> frame = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]})
            >>> Battles.from_frame(frame).models
            ('x', 'y')
        """
        _check_options(weight, ids, anchors, names)
        selection = RowSelection(where, no_winner, copies)
        lazy, matched = selection.matching(as_lazy(frame, source), source)
        spelling = format_of(votes or VoteFormat()).with_own(columns or {}, winner_words or {})
        lazy = spelling.read(lazy, source)
        lazy, dropped = selection.usable(lazy, ids, source)
        clusters = cluster_columns(cluster_by)
        with reading(source):
            schema = lazy.collect_schema()
            column = "weight" if weight is True and "weight" in schema else weight if isinstance(weight, str) else None
            remarks = [*matched, *dropped]
            remarks += ["the column weight is not used"] if weight is False and "weight" in schema else []
            left_out = _count_anchors(lazy, schema[ANCHOR], source) if anchors == "leave_out" and ANCHOR in schema else 0
            everything = lazy if left_out else None
            if left_out:
                lazy = numbered(lazy).filter(~truth_of(ANCHOR, schema[ANCHOR]).fill_null(False))
                remarks.append(f"{counted(left_out, 'anchor battle')} left out")
        if is_of_rankings(schema.names()):
            _refuse_of_battles(
                source, ids=ids != ID, votes=votes, winner_words=winner_words, no_winner=no_winner, copies=copies
            )
            return cls._of_rankings(lazy, source, clusters, column, weight is True, names, remarks)
        lazy = lazy if names is None or isinstance(names, str) else renamed(lazy, names)
        try:
            encoded = encode(lazy, BattleColumns(weight=column, cluster=clusters), source)
        except BattleError as error:
            raise _and_repeated(error, counting(numbered(lazy), column), ids, source) from error.__cause__
        refuse_repeated(lazy, ids, source, rows=encoded.cells.battles, weight=column)
        remarks += unnamed_ids(lazy, ids, encoded.cells.battles, source)
        if column is not None and not encoded.cells.battles:
            with reading(source):
                rows = lazy.select(pl.len()).collect().item()
            remarks += [f"{counted(rows, 'battle')} of weight 0 left out"] if rows else []
        if column is not None and weight is True and (encoded.cells.columns()[5] == 1.0).all():
            lazy, column = counting(numbered(lazy), column), None  # a result store has the column in any case
        alike = alike_names(encoded.models)
        if alike and names == "merge":
            chosen = merged_names(alike, encoded.models, encoded.cells.records()[0])
            lazy = renamed(lazy, chosen)
            encoded = encode(lazy, BattleColumns(weight=column, cluster=clusters), source)
            remarks.append("merged " + ", ".join(f"{other!r} into {name!r}" for other, name in chosen.items()))
        elif alike:
            pairs = ", ".join(" and ".join(map(repr, group)) for group in alike)
            remarks.append(f"{ALIKE}: {pairs} (--names merge merges them)")
        cells = encoded.cells
        if len(clusters) == 2:
            cells = _core.crossed(cells, *(key.number for key in encoded.keys))
        return cls(source, encoded.models, _as_declared(clusters), column, cells, lazy, everything, tuple(remarks))

    @classmethod
    def _of_rankings(
        cls,
        frame: pl.LazyFrame,
        source: str,
        clusters: tuple[str, ...],
        weight: str | None,
        is_default: bool,
        names: Mapping[str, str] | Literal["merge"] | None,
        remarks: Sequence[str],
    ) -> "Battles":
        """Check and count a table of rankings; ``is_default``: weights that are all 1 count as none."""
        if isinstance(names, Mapping) and "model" in frame.collect_schema():
            frame = renamed(frame, names, ["model"])
        encoded = encode_rankings(frame, weight, clusters, source)
        alike = alike_names(encoded.models)
        name_notes: tuple[str, ...] = (
            (f"{ALIKE}: {', '.join(' and '.join(map(repr, group)) for group in alike)}",) if alike else ()
        )
        if alike and names == "merge":
            chosen = merged_names(alike, encoded.models, encoded.orders.cells(len(encoded.models)).records()[0])
            frame = renamed(frame, chosen, ["model"])
            encoded = encode_rankings(frame, weight, clusters, source)
            name_notes = ("merged " + ", ".join(f"{other!r} into {name!r}" for other, name in chosen.items()),)
        cells = encoded.orders.cells(len(encoded.models))
        if weight is not None and is_default and (encoded.orders.weight == 1.0).all():
            frame, weight = counting(numbered(frame), weight), None
        notes = (*remarks, *name_notes)
        return cls(source, encoded.models, _as_declared(clusters), weight, cells, frame, None, notes, orders=encoded.orders)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        cluster_by: str | Sequence[str] | None = None,
        weight: str | bool | None = True,
        ids: str | None = ID,
        anchors: Anchors = "leave_out",
        names: Mapping[str, str] | Literal["merge"] | None = None,
        votes: VoteFormat | str | None = None,
        columns: Mapping[str, str] | None = None,
        winner_words: Mapping[str, str] | None = None,
        where: str | None = None,
        no_winner: NoWinner = "refuse",
        copies: Copies = "refuse",
    ) -> "Battles":
        """Read a file, folder, pattern of files, DuckDB table, standard input, or the ``battles`` of a result store.

        :func:`salon_ranking.files.scan` lists the kinds of files, :meth:`from_frame` explains the options. Of CSV, JSON Lines
        and Parquet files only the needed columns are read, in batches: memory does not grow with the number of battles, but
        with that of the pairs that met and, with ``cluster_by``, of the clusters in which they did. Looking through a column
        of ids takes another reading of it, and at most half a gibibyte.

        Raises:
            BattleError: the file cannot be read, or as :meth:`from_frame`.
        """
        return cls.from_frame(
            scan(path),
            source=str(path),
            cluster_by=cluster_by,
            weight=weight,
            ids=ids,
            anchors=anchors,
            names=names,
            votes=votes,
            columns=columns,
            winner_words=winner_words,
            where=where,
            no_winner=no_winner,
            copies=copies,
        )

    def with_equal_pairs(self, min_pair_count: int = 50) -> "Battles":
        """Return the same battles, weighed so that all pairs of models with enough battles count alike.

        A battle weighs 1 / max(battles of its pair, ``min_pair_count``), times its own weight; weights are scaled to a mean of
        1. Ratings then depend less on which pairs met often (inverse propensity weights, as in arena-rank).

        Args:
            min_pair_count: pairs with fewer battles count less, so that a few battles do not outweigh the rest.

        Raises:
            OptionError: ``min_pair_count`` is not a whole number of 1 or more.
            BattleError: the battles are counts alone, as those of a :class:`GrowingLeague`.

        Example:
            >>> rows = [("x", "y")] * 3 + [("y", "z")]
            >>> votes = pl.DataFrame(rows, schema=["model_a", "model_b"], orient="row").with_columns(winner=pl.lit("tie"))
            >>> Battles.from_frame(votes).with_equal_pairs(1).cells.records()[0].tolist()
            [2.0, 4.0, 2.0]
        """
        if isinstance(min_pair_count, bool) or not isinstance(min_pair_count, Integral) or not 1 <= min_pair_count < 1 << 53:
            raise OptionError("min_pair_count must be a whole number of 1 or more, not", value=min_pair_count)
        if self.orders is not None:
            raise OptionError("equal weights of pairs are for battles, not for rankings", source=self.source)
        if self.count and not self.frame.head(1).collect().height:
            raise BattleError("only counts are left; weigh the battles before they are counted", source=self.source)
        first, second, _, _, count, weight = self.cells.columns()
        names = pl.Series(self.models, dtype=pl.String)
        met = pl.DataFrame({"__one": names.gather(first), "__other": names.gather(second), "__n": count})
        pairs = met.group_by("__one", "__other").agg(pl.col("__n").sum().clip(int(min_pair_count)))
        share = met.drop("__n").join(pairs, on=["__one", "__other"], how="left", maintain_order="left")["__n"].to_numpy()
        unit = self.count / float((count * weight / share).sum())
        sides = [pl.col("model_a").cast(pl.String), pl.col("model_b").cast(pl.String)]
        ends = {"__one": pl.min_horizontal(sides), "__other": pl.max_horizontal(sides)}
        weighed = self.rows.with_columns(**ends).join(pairs.lazy(), on=["__one", "__other"], how="left", maintain_order="left")
        own = weight_of(self.weight)
        frame = weighed.with_columns((unit * own / pl.col("__n")).alias(PAIR_WEIGHT)).drop("__one", "__other", "__n", "__row")
        some = Battles.from_frame(frame, self.source, self.cluster_by, PAIR_WEIGHT, ids=None, anchors="count")
        remark = f"pairs of {min_pair_count:,} battles or more count alike"
        return replace(some, everything=self.everything, remarks=(*self.remarks, remark))

    def with_rows(self, frame: pl.LazyFrame) -> "Battles":
        """Return some of the same battles, with the same source, clusters, weights and remarks."""
        some = Battles.from_frame(frame, self.source, self.cluster_by, self.weight, ids=None, anchors="count")
        return replace(some, everything=self.everything, remarks=self.remarks)

    def is_clustered(self, cluster: bool | None) -> bool:
        """Return whether intervals use the clusters: those declared by ``cluster_by``, unless ``cluster`` is False.

        Raises:
            OptionError: ``cluster`` is True and no clusters are declared.
        """
        if cluster and self.cluster_by is None:
            raise OptionError("there is nothing to cluster by", source=self.source, hint="Name the column: cluster_by=…")
        return self.cluster_by is not None and cluster is not False

    def remarks_with(self, cluster: bool) -> tuple[str, ...]:
        """Return the remarks, and that declared clusters are not used where ``cluster`` is False."""
        if cluster or self.cluster_by is None:
            return self.remarks
        return (*self.remarks, f"clusters by {' and '.join(cluster_columns(self.cluster_by))} are NOT used")

    @property
    def rows(self) -> pl.LazyFrame:
        """The rows of ``frame`` with a weight other than 0, with the number of each from 1 in ``__row``."""
        return counting(numbered(self.frame), self.weight)

    @cached_property
    def count(self) -> int:
        """Number of battles, or of pairs that rankings compare, whatever their weight."""
        return self.cells.battles

    @cached_property
    def unrated(self) -> pl.DataFrame:
        """Models whose battles were all judged both-bad and taken out: ``model``, ``matches`` (sums of weights); by name."""
        if self.both_bad is None:
            return pl.DataFrame(schema={"model": pl.String, "matches": pl.Float64})
        weight = pl.lit(1.0) if self.weight is None else pl.col(self.weight).cast(pl.Float64)
        sides = [
            self.both_bad.select(pl.col(side).cast(pl.String).alias("model"), weight.alias("matches"))
            for side in ("model_a", "model_b")
        ]
        rated = pl.Series(self.models, dtype=pl.String).implode()
        alone = pl.concat(sides).filter(pl.col("matches") > 0.0, ~pl.col("model").is_in(rated))
        return alone.group_by("model").agg(pl.col("matches").sum()).sort("model").collect()

    def with_unrated(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a ranked table with the models of :attr:`unrated` beneath, on the last rank and without a rating."""
        if not self.unrated.height:
            return table
        nothing = {name: pl.lit(0, dtype=table.schema[name]) for name in _COUNTS if name in table.columns}
        rank = pl.lit(table.height + 1, dtype=pl.Int64).alias("rank")
        return pl.concat([table, self.unrated.with_columns(rank, **nothing)], how="diagonal").select(table.columns)

    @property
    def unrated_note(self) -> tuple[str, ...]:
        """A sentence that names the models of :attr:`unrated`, if it has any."""
        names = self.unrated["model"].to_list()
        if not names:
            return ()
        listed = ", ".join(names[:_MOST_NAMED]) + (
            f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        )
        return (f"not rated, as all of their battles were judged both-bad: {listed}",)


def _check_options(weight: object, ids: object, anchors: object, names: object) -> None:
    """Check the options of :meth:`Battles.from_frame` that are columns or words.

    Raises:
        OptionError: names the first wrong option.
    """
    if not (ids is None or isinstance(ids, str)):
        raise OptionError("ids must be the name of a column, not", value=ids)
    if not (weight is None or isinstance(weight, bool | str)):
        raise OptionError("weight must be the name of a column, True or False, not", value=weight)
    if not (names is None or names == "merge" or isinstance(names, Mapping)):
        raise OptionError("names must be a mapping or", value="merge")
    if anchors not in get_args(Anchors):
        raise OptionError("unknown handling of anchors", value=anchors, allowed=get_args(Anchors))


_OPTIONS = {"ids": "--repeated-ids", "copies": "--repeated-ids", "no_winner": "--no-winner", "votes": "--votes"}


def _refuse_of_battles(source: str, **options: object) -> None:
    """Refuse options that only battles have.

    Raises:
        OptionError: names the first that is not at its default.
    """
    for name, value in options.items():
        if value not in (None, False, "refuse", {}):
            hint = "Rankings have neither winners nor ids of battles; `salon votes rank` takes them, without "
            hint += f"{_OPTIONS.get(name, '--winner-words')}."
            raise OptionError("the table holds rankings, and this is for battles:", source=source, value=name, hint=hint)


def _as_declared(clusters: tuple[str, ...]) -> str | tuple[str, str] | None:
    """Return columns to cluster by as a board remembers them: a single one as its name."""
    return clusters[0] if len(clusters) == 1 else (clusters[0], clusters[1]) if clusters else None


def planned_by(battles: Battles) -> dict[str, int]:
    """Count battles whose pair was chosen by earlier votes, by rule and streams; the rule ``uniform`` uses no votes.

    Of two models there is one pair, which no vote chooses.

    Raises:
        BattleError: ``plan_rule`` or ``plan_stream`` cannot be read.

    Example:
        >>> rows = [("x", "y", "tie", "mef"), ("x", "z", "tie", None)]
        >>> votes = pl.DataFrame(rows, schema=["model_a", "model_b", "winner", "plan_rule"], orient="row")
        >>> planned_by(Battles.from_frame(votes))
        {'mef in 1 stream': 1}
    """
    with reading(battles.source):
        names = battles.frame.collect_schema().names()
        if "plan_rule" not in names or battles.orders is not None or len(battles.models) < 3:
            return {}
        rule = pl.col("plan_rule").cast(pl.String).str.strip_chars()
        streams = pl.col("plan_stream").is_not_null() if "plan_stream" in names else pl.lit(False)
        counts = (
            counting(battles.frame, battles.weight)
            .filter((rule != "") & (rule != "uniform"))
            .group_by(rule.alias("rule"), pl.when(streams).then(2).otherwise(1).alias("streams"))
            .len()
            .sort("len", "rule", "streams", descending=[True, False, False])
            .collect()
        )
    return {f"{name} in {'2 streams' if streams == 2 else '1 stream'}": count for name, streams, count in counts.iter_rows()}


def cluster_columns(cluster_by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to cluster by: none, one or two.

    Raises:
        OptionError: more than two, or the same one twice.
    """
    names = () if cluster_by is None else (cluster_by,) if isinstance(cluster_by, str) else cluster_by
    if not isinstance(names, Sequence) or not all(isinstance(column, str) for column in names):
        raise OptionError("cluster_by must be the name of a column, or of two, not", value=repr(cluster_by))
    columns = tuple(names)
    if len(columns) > 2 or len(set(columns)) < len(columns):
        raise OptionError("clusters need one column, or two different ones, not", value=columns)
    return columns


def _and_repeated(error: BattleError, frame: pl.LazyFrame, ids: str | None, source: str) -> BattleError:
    """Return the error for wrong rows, with the first repetition of an id where there is one."""
    if not error.wrong:
        return error
    try:
        refuse_repeated(frame, ids, source, rows=1)
    except BattleError as other:
        return all_wrong([*error.wrong, *other.wrong], source, BattleError)
    return error


def _count_anchors(frame: pl.LazyFrame, dtype: pl.DataType, source: str) -> int:
    """Return the number of anchors.

    Raises:
        BattleError: a value of ``is_anchor`` is neither true nor false.
    """
    if not (dtype == pl.Boolean or dtype == pl.String or dtype == pl.Null or dtype.is_integer()):
        raise BattleError("must hold truth values, not", source=source, column=ANCHOR, value=str(dtype))
    truth = truth_of(ANCHOR, dtype)
    wrong = numbered(frame).filter(truth.is_null() & pl.col(ANCHOR).is_not_null()).select("__row", ANCHOR).head(1).collect()
    if wrong.height:
        row, value = wrong.row(0)
        raise BattleError("is no truth value:", source=source, row=row, column=ANCHOR, value=value, allowed=TRUTH)
    return int(frame.select(truth.sum()).collect().item() or 0)
