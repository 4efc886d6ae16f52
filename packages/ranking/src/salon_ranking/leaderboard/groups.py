"""``rank_by``: one leaderboard per scenario, capability or rater."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from salon_ranking import _core
from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.battles.encoding import BattleColumns, counting, encode
from salon_ranking.errors import BattleError, UnratableError
from salon_ranking.files import reading
from salon_ranking.leaderboard.board import NOT_GIVEN, Leaderboard
from salon_ranking.leaderboard.options import RankOptions
from salon_ranking.leaderboard.ranking import ranked
from salon_ranking.models.league import components_of
from salon_ranking.models.ratings import fitted
from salon_ranking.options import takes_battles, with_options
from salon_ranking.table_checks import named

_GROUP = "__group"


@with_options(RankOptions)
def rank_by(battles: Battles, column: str, options: RankOptions) -> tuple[Leaderboard, ...]:
    """Make one leaderboard per value of ``column`` (a scenario, a rater), in ascending order of the values.

    A column of lists (capability labels) counts a battle for each of its values. Battles whose value is null or blank form a
    group of their own, named ``(not given)``. Without a named baseline, all groups share the overall default when it plays in
    each of them; else each group has its own. Few battles, as of one rater, seldom have finite ratings: give a prior.
    A group in which every battle was judged both-bad and taken out has a board of models without a rating.

    The keywords are those of :func:`rank`.

    Raises:
        BattleError: the column is missing; or as :func:`rank`, with the group named.

    Example:
        >>> votes = pl.DataFrame(
        ...     {"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a", "model_b"] * 2, "scenario": ["art"] * 4}
        ... )
        >>> [board.group for board in rank_by(Battles.from_frame(votes), "scenario", replicates=0)]
        ['art']
    """
    return ranked_by(battles, column, options)


def ranked_by(battles: Battles, column: str, options: RankOptions) -> tuple[Leaderboard, ...]:
    """Return the leaderboards of ``options``, as :func:`rank_by`."""
    groups = groups_of(battles, column)
    if options.baseline is None:
        options = replace(options, baseline=_shared_baseline(battles, groups, options))
    boards = []
    for name, group in groups.items():
        board = ranked(group, options)
        boards.append(replace(board, source=battles.source, group=name))
    boards += [_unrated_board(boards[0], name, group) for name, group in _all_both_bad(battles, column, groups).items()]
    return tuple(sorted(boards, key=lambda board: str(board.group)))


def _all_both_bad(battles: Battles, column: str, rated: Mapping[str, Battles]) -> dict[str, Battles]:
    """Return the groups in which every battle was judged both-bad and taken out."""
    if battles.both_bad is None:
        return {}
    dtype = battles.both_bad.collect_schema()[column]
    values = counting(battles.both_bad, battles.weight).select(_values(column, dtype).alias(_GROUP))
    if isinstance(dtype, pl.List | pl.Array):
        values = values.explode(_GROUP)
    names = set(values.collect()[_GROUP]) - {*rated}
    return {
        name: replace(battles, models=(), both_bad=battles.both_bad.filter(_is_in_group(column, dtype, name)))
        for name in sorted(names)
    }


def _unrated_board(like: Leaderboard, name: str, group: Battles) -> Leaderboard:
    """Return a board made as another, of models without a rating."""
    return replace(
        like,
        table=group.with_unrated(like.table.clear()),
        parameters=like.parameters.clear(),
        group=name,
        battles=0,
        baselines=(),
        converged=True,
        iterations=0,
        gradient_norm=0.0,
        log_likelihood=0.0,
        degenerate=0,
        unconverged=0,
        left_out=0,
        planned={},
        warnings=group.unrated_note,
    )


@takes_battles
def groups_of(battles: Battles, column: str) -> dict[str, Battles]:
    """Return the battles of every value of ``column``, in ascending order of the values.

    A column of lists (the capability labels of a prompt) puts a battle into the group of each of its values; null, a blank text
    and an empty list are the group ``(not given)``. All groups are counted in one reading, however many there are; the frame of
    each is a filter of the whole, read only when it is used.

    Raises:
        BattleError: the column is missing, or holds neither single values nor lists of them.

    Example:
        >>> votes = pl.DataFrame(
        ...     {"model_a": ["x"] * 2, "model_b": ["y"] * 2, "winner": ["tie"] * 2, "labels": [["text", "style"], ["text"]]}
        ... )
        >>> {name: group.count for name, group in groups_of(Battles.from_frame(votes), "labels").items()}
        {'style': 1, 'text': 2}
    """
    with reading(battles.source):
        schema = battles.frame.collect_schema()
    if column not in schema:
        raise BattleError("missing column to group by", source=battles.source, value=column, found=schema.names())
    dtype = schema[column]
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
    if isinstance(inner, pl.DataType) and inner.is_nested():
        raise BattleError("must hold values or lists of values, not", source=battles.source, column=column, value=str(dtype))
    clusters = cluster_columns(battles.cluster_by)
    needed = dict.fromkeys(["model_a", "model_b", "winner", battles.weight, *clusters])
    frame = battles.frame.select(*(pl.col(name) for name in needed if name is not None), _values(column, dtype).alias(_GROUP))
    if isinstance(dtype, pl.List | pl.Array):
        frame = frame.explode(_GROUP)
    encoded = encode(frame, BattleColumns(weight=battles.weight, cluster=(_GROUP, *clusters)), battles.source)
    group = encoded.keys[0]
    groups = {}
    for name, part in zip(group.values, _core.parts(encoded.cells, group.number, bool(clusters)), strict=True):
        models = tuple(encoded.models[number] for number in part[0])
        cells = part[2]
        if len(clusters) == 2:
            own = [np.unique(key.number[part[1]], return_inverse=True)[1].astype(np.uint32) for key in encoded.keys[1:]]
            cells = _core.crossed(cells, *own)
        source = f"{battles.source}, {column} {name!r}"
        is_in_group = _is_in_group(column, dtype, name)
        both_bad = None if battles.both_bad is None else battles.both_bad.filter(is_in_group)
        filtered = battles.frame.filter(is_in_group)
        groups[name] = replace(battles, source=source, models=models, cells=cells, frame=filtered, both_bad=both_bad)
    return groups


def _values(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the column as text, or as lists of text without repeated values; null and blank names are not given."""
    if isinstance(dtype, pl.List | pl.Array):
        values = pl.col(column).cast(pl.List(pl.String)).list.eval(named(pl.element()).fill_null(NOT_GIVEN)).list.unique()
        return pl.when(values.list.len() > 0).then(values).otherwise(pl.lit([NOT_GIVEN]))
    return named(pl.col(column).cast(pl.String)).fill_null(NOT_GIVEN)


def _is_in_group(column: str, dtype: pl.DataType, name: str) -> pl.Expr:
    values = _values(column, dtype)
    return values.list.contains(pl.lit(name)) if isinstance(dtype, pl.List | pl.Array) else values == name


def _shared_baseline(battles: Battles, groups: Mapping[str, Battles], options: RankOptions) -> str | None:
    """Return the overall default baseline when it plays in every group; None where the models cannot all be compared."""
    if not options.prior_ties and components_of(battles.cells, options.estimator).any():
        return None
    try:
        default = fitted(battles, replace(options, components="refuse")).baselines[0]
    except UnratableError:  # a tie parameter without bound; the groups name it where they have it too
        return None
    return default if all(default in group.models for group in groups.values()) else None
