"""Battles of a store as rows with both pictures."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from salon_bench.viewer.store_tables import StoreTables
from salon_console.row_view import RowDetail, RowTable, RowView

_CHOICES: Final = {
    "models": "Model",
    "won": "Winner",
    "rater_id": "Rater",
    "scenario": "Category",
    "labels": "Label",
    "suite": "Suite",
    "mode": "Decided by",
}
_TIES: Final = {"tie": "tie", "both_good": "both good", "both_bad": "both bad"}


class BattleView(RowView):
    """The table ``battles``, the newest vote first.

    Args:
        tables: of the store.
    """

    title = "Battles"

    def __init__(self, tables: StoreTables) -> None:
        self._tables = tables

    def rows(self) -> RowTable:
        """Return every battle with its prompt and, where they are known, both pictures.

        A battle that names no generations shows a model's only generation for the prompt.
        """
        state = self._tables.state("battles", "generations", "prompts")
        return self._tables.kept(("battles",), state, self._read)

    def _read(self) -> RowTable:
        battles, generations, prompts = (
            self._tables.rows(table, pl.lit(value=True)) for table in ("battles", "generations", "prompts")
        )
        texts = prompts.select("prompt_id", "text", of="suite").join(
            battles.select("prompt_id", "suite").unique(), on="prompt_id", nulls_equal=True
        )
        own_last = texts.sort((pl.col("of") == pl.col("suite")).fill_null(value=False), maintain_order=True)
        texts = own_last.unique(["prompt_id", "suite"], keep="last").drop("of")
        frame = battles.join(texts, on=["prompt_id", "suite"], how="left", nulls_equal=True)
        only = generations.group_by("prompt_id", "model").agg(pl.col("generation_id").first(), count=pl.len()).filter(count=1)
        sides = []
        for side in ("a", "b"):
            of_side = only.select("prompt_id", pl.col("model").alias(f"model_{side}"), pl.col("generation_id").alias(side))
            frame = frame.join(of_side, on=["prompt_id", f"model_{side}"], how="left")
            identifier = pl.coalesce(f"generation_{side}", side).alias("id")
            won = (pl.col("winner") == f"model_{side}").alias("chosen")
            sides.append(pl.struct(identifier, pl.col(f"model_{side}").alias("name"), won))
        winner = pl.when(winner="model_a").then("model_a").when(winner="model_b").then("model_b")
        frame = frame.with_columns(
            key="battle_id",
            name=pl.coalesce("prompt_id", pl.lit("no prompt")),
            pictures=pl.concat_list(sides),
            models=pl.concat_list("model_a", "model_b").list.sort(),
            won=winner.otherwise(pl.col("winner").replace(_TIES)),
        ).drop("a", "b")
        frame = frame.sort("answered_at", "battle_id", descending=[True, False], nulls_last=True)
        return RowTable(frame, _CHOICES, ("won", "rater_id", "scenario", "labels"))

    def details(self, key: str) -> Sequence[RowDetail]:
        """Return the vote with all its columns."""
        row = self.rows().frame.filter(pl.col("key") == key).row(0, named=True)
        vote = [f"decided by {row['rater_id']} ({row['mode']})"]
        if row["answered_at"] is not None:
            vote.append(f"{row['answered_at']:%Y-%m-%d %H:%M} UTC")
            if row["started_at"] is not None:
                vote.append(f"after {(row['answered_at'] - row['started_at']).total_seconds():.1f} s")
        if row["side_a_shown"] is not None:
            vote.append(f"{row['model_a']} was shown on the {row['side_a_shown']}")
        if row["is_anchor"]:
            vote.append(f"a control pair: expected {_words(row, row['expected_winner'])}")
        if row["weight"] != 1:
            vote.append(f"weight {row['weight']:g}")
        if row["plan_rule"]:
            vote.append(f"planned by {row['plan_rule']}")
        return [RowDetail(f"{row['model_a']} against {row['model_b']}: {row['won']}", " · ".join(vote), "")]


def _words(row: dict[str, object], winner: str | None) -> object:
    return row.get(winner or "") or _TIES.get(winner or "", winner)
