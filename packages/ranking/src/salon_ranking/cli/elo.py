"""``salon votes elo``: online Elo, in the order of the battles or averaged over random orders."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import output_option
from salon_console.table_files import TABLE_ENDINGS
from salon_ranking.cli.fit_options import BOTH_BAD
from salon_ranking.cli.output import FORMAT, HELP, read_rated, seed_option
from salon_ranking.cli.vote_options import WEIGHT, weight_of

if TYPE_CHECKING:
    import polars as pl

    from salon_console.table_files import Table
    from salon_ranking.diagnostics.both_bad import BothBad


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("--k", type=float, default=4.0, show_default=True, help="Most points that one battle moves.")
@click.option("--orders", type=int, default=0, show_default=True, help="Average over so many random orders.")
@click.option("--order-by", metavar="COLUMN", help="The time that rows must follow. Default: rows as they stand.")
@click.option("--sort", is_flag=True, help="Sort rows by --order-by instead of refusing disorder.")
@seed_option("random orders")
@BOTH_BAD
@WEIGHT
@output_option(TABLE_ENDINGS)
@FORMAT
def elo(
    battles: Path,
    k: float,
    orders: int,
    order_by: str | None,
    sort: bool,
    seed: int,
    both_bad: "BothBad",
    weight: str | None,
    output: Path | None,
    format_: str,
) -> None:
    """Rate models by online Elo, as chess clubs do: the answer depends on the order of the battles.

    INPUT is what `salon votes rank` reads.

    \b
    Example:
      salon votes elo votes.csv --k 32 --order-by answered_at
      salon votes elo votes.csv --orders 100
    """
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.cli.output import progress
    from salon_ranking.leaderboard.board import made_of
    from salon_ranking.models.online_elo import online_elo

    rated, acceptable = read_rated(battles, both_bad, weight=weight_of(weight))
    with progress() as stage:
        ratings = online_elo(
            rated,
            k=k,
            order_by=order_by,
            out_of_order="sort" if sort else "refuse",
            orders=orders,
            seed=seed,
            progress=stage("random orders"),
        )
    options = made_of(
        ratings,
        battles=rated.count,
        source=rated.source,
        weight=rated.weight,
        baselines=(),
        left_out=0,
        warnings=rated.unrated_note,
        excluded=None,
    )
    further = {} if acceptable is None else {"acceptability": acceptable}
    table = OtherTable(ratings.header, ratings.table, options, further, cells=_cells, warnings=rated.unrated_note)
    show_table(table, format_, output)


def _cells(table: "pl.DataFrame") -> "Table":
    from salon_ranking.cli.terminal import scores_table

    return scores_table(table)
