"""``salon curate yield | select | diff | why | draw``: which pictures are kept."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import OutputPath
from salon_console.options import FORMAT, OUTPUT, format_option, output_option
from salon_console.output import as_json, deliver, print_json, print_parts
from salon_console.table_files import Table, write_table
from salon_curate.cli.options import DATASET, SEED, SELECTION, WHERE, as_cell, open_dataset, open_pipeline
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from salon_curate.dataset import DataSet
    from salon_curate.pipeline import Pipeline
    from salon_curate.selection import Selection, YieldCurve


@click.command("yield")
@DATASET
@click.option("--sweep", multiple=True, metavar="COLUMN", help="Move a threshold of this column; may be repeated.")
@click.option("--points", type=click.IntRange(2, 1000), show_default="11", help="Thresholds of a sweep.")
@click.option("--page", type=OutputPath(), help="Write the curves of the sweeps as one HTML page.")
@WHERE
@SELECTION
@output_option(what="Also write the table, with --sweep the curves, to this file")
@FORMAT
def yield_(
    dataset: Path,
    sweep: tuple[str, ...],
    points: int | None,
    page: Path | None,
    where: tuple[str, ...],
    selection: str | None,
    output: Path | None,
    form: str,
) -> None:
    """Show how many pictures conditions keep, and how many at each threshold of a column. Nothing is asked or written.

    \b
    Example:
      salon curate yield birds --where "sharpness >= 80" --where "style >= 7"
      salon curate yield birds --selection default --sweep sharpness --points 90 --page curves.html
    """
    from salon_curate.selection import select as apply
    from salon_curate.selection import sweep as sweeps

    opened, pipeline = open_dataset(dataset), open_pipeline(dataset)
    for name, value in (("points", points), ("page", page)):
        if value is not None and not sweep:
            raise InputError("has no effect without --sweep:", column=name, value=str(value), hint="Add --sweep COLUMN.")
    predicates = _predicates(opened, pipeline, where, selection)
    selection_now = apply(opened, pipeline.stages, predicates) if predicates else None
    curves = sweeps(opened, pipeline.stages, predicates, sweep, points=points or 11)
    if selection_now is None and not curves:
        raise InputError("needs a condition or a column", hint="Add --where 'sharpness >= 80' or --sweep sharpness.")
    document = {
        "funnel": None if selection_now is None else _funnel_of(selection_now),
        "curves": [_curve_of(curve) for curve in curves],
    }
    funnel: list[Table | str] = [] if selection_now is None else [_funnel_table(selection_now), _kept_line(selection_now)]
    if selection_now is not None and not curves:
        table, values = _funnel_table(selection_now), _funnel_rows(selection_now)
    else:
        table, values = _curves_table(curves), [row for curve in curves for row in _curve_rows(curve)]
    parts = [part for curve in curves for part in (_curve_table(curve), curve.note) if part]
    show = partial(print_parts, *funnel, *parts)
    deliver(table, values, form=form, output=output, show=show, json=lambda: as_json(document))
    if page is not None:
        from salon_curate.pages import yield_page

        yield_page(curves, page)


@click.command()
@DATASET
@click.option("--name", required=True, help="Of the selection.")
@WHERE
@SELECTION
@OUTPUT
@FORMAT
def select(
    dataset: Path,
    name: str,
    where: tuple[str, ...],
    selection: str | None,
    form: str,
    output: Path | None,
) -> None:
    """Keep the pictures for which every condition holds: their keys and the conditions are written below selections/.

    \b
    Example:
      salon curate select birds --name sharp --where "sharpness >= 80"
      salon curate select birds --name v1 --selection default
    """
    from salon_curate.selection import save_selection
    from salon_curate.selection import select as apply

    opened, pipeline = open_dataset(dataset), open_pipeline(dataset)
    selected = apply(opened, pipeline.stages, _predicates(opened, pipeline, where, selection), name)
    path = save_selection(opened, pipeline.stages, selected)
    deliver(
        _funnel_table(selected),
        _funnel_rows(selected),
        form=form,
        output=output,
        further=[_kept_line(selected), f"written: {path}"],
        json=lambda: as_json(_funnel_of(selected)),
    )


@click.command()
@DATASET
@click.argument("old")
@click.argument("new")
@output_option(what="Write the moved keys with their conditions to this file")
@FORMAT
def diff(dataset: Path, old: str, new: str, output: Path | None, form: str) -> None:
    """Compare two selections, OLD and NEW: which pictures enter and leave, and which condition decided.
    Both are applied to the pictures that there are now.

    \b
    Example:
      salon curate diff birds sharp sharper --output moved.csv
    """
    from salon_curate.selection import diff as differ

    opened, pipeline = open_dataset(dataset), open_pipeline(dataset)
    moved = differ(opened, pipeline.stages, *(_predicates(opened, pipeline, (), name) for name in (old, new)))
    if output is not None:
        _write_keys(output, moved.keys)
    rows = {name: {"entered": entered, "left": left} for name, (entered, left) in moved.by_predicate.items()}
    lines = [(name, as_cell(entered), as_cell(left)) for name, (entered, left) in moved.by_predicate.items()]
    deliver(
        Table(("condition", "enter", "leave"), lines),
        [{"condition": name, **counts} for name, counts in rows.items()],
        form=form,
        output=None,
        further=[f"{moved.entered:,} pictures enter, {moved.left:,} leave, of the {opened.rows:,} that there are now"],
        json=lambda: as_json({"entered": moved.entered, "left": moved.left, "conditions": rows}),
    )


@click.command()
@DATASET
@click.argument("key")
@format_option("json", default="json", help_="There is this one.")
def why(dataset: Path, key: str, form: str) -> None:
    """Print why the picture KEY is kept or dropped, as JSON: conditions that fail, and values with parts, judges and replies.

    \b
    Example:
      salon curate why birds pictures/00017.jpg
    """
    from salon_curate.lineage import why as explain

    opened = open_dataset(dataset)
    print_json(explain(opened, open_pipeline(dataset).stages, key))


@click.command()
@DATASET
@click.option("--bucket", "buckets", multiple=True, required=True, metavar="NAME=SQL", help="A bucket; repeat.")
@click.option("--ratio", required=True, metavar="4:1:1", help="Whole numbers, one for each bucket.")
@click.option("--number", type=click.IntRange(1), required=True, help="Pictures in all.")
@click.option("--by", metavar="COLUMN", help="Take the highest values of this column instead of a random draw.")
@output_option(what="The file of keys and buckets to write (replaced)", required=True)
@SEED
@FORMAT
def draw(
    dataset: Path,
    buckets: tuple[str, ...],
    ratio: str,
    number: int,
    by: str | None,
    output: Path,
    seed: int,
    form: str,
) -> None:
    """Draw pictures from buckets in a ratio; no picture is drawn twice.

    \b
    Example:
      salon curate draw d --bucket "normal=quality_pass" --bucket "blurred=quality_faults = 'blur'" --ratio 4:1 \\
          --number 500 --output drawn.csv
    """
    from salon_curate.draws import draw as drawing

    named = dict(text.partition("=")[::2] for text in buckets)
    if len(named) < len(buckets):
        raise InputError("two buckets have one name:", column="bucket", value=", ".join(buckets))
    parts = ratio.split(":")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError("must be whole numbers with colons between, such as 4:1:1", column="ratio", value=ratio)
    opened = open_dataset(dataset)
    drawn = drawing(opened, open_pipeline(dataset).stages, named, [int(part) for part in parts], number, by=by, seed=seed)
    _write_keys(output, drawn.keys)
    deliver(
        Table(
            ("bucket", "available", "drawn"),
            [(name, as_cell(drawn.available[name]), as_cell(count)) for name, count in drawn.drawn.items()],
        ),
        [{"bucket": name, "available": drawn.available[name], "drawn": count} for name, count in drawn.drawn.items()],
        form=form,
        output=None,
        json=lambda: as_json({"available": drawn.available, "drawn": drawn.drawn, "keys": drawn.keys["key"].to_list()}),
    )


def _write_keys(output: Path, keys: "pl.DataFrame") -> None:
    """Write pictures' keys to the file that the user named."""
    write_table(output, lambda: Table(tuple(keys.columns), [[as_cell(cell) for cell in row] for row in keys.rows()]), keys)
    click.echo(f"Wrote {output}", err=True)


def _predicates(dataset: "DataSet", pipeline: "Pipeline", where: tuple[str, ...], selection: str | None) -> dict[str, str]:
    """Return the conditions of a selection, and those of the command line, each named by its SQL."""
    from salon_curate.selection import saved_predicates

    predicates: dict[str, str] = {}
    if selection is not None:
        known = pipeline.selections.get(selection)
        predicates = dict(known) if known is not None else saved_predicates(dataset, selection, others=pipeline.selections)
    for sql in where:
        name = sql
        while predicates.get(name, sql) != sql:  # a condition of the selection has this name, and stays
            name += "_"
        predicates[name] = sql
    return predicates


def _funnel_of(selection: "Selection") -> dict[str, Any]:
    counts = {name: {"failed": f, "null": n, "only": o} for name, (f, n, o) in selection.by_predicate.items()}
    return {"pictures": selection.rows, "kept": selection.kept, "conditions": counts}


def _funnel_rows(selection: "Selection") -> list[dict[str, object]]:
    return [{"condition": name, "failed": f, "null": n, "only": o} for name, (f, n, o) in selection.by_predicate.items()]


def _funnel_table(selection: "Selection") -> Table:
    rows = [[name, *map(as_cell, counts)] for name, counts in selection.by_predicate.items()]
    return Table(("condition", "fails", "no value", "fails this alone"), rows)


def _kept_line(selection: "Selection") -> str:
    return f"{selection.kept:,} of {selection.rows:,} pictures are kept"


def _curve_of(curve: "YieldCurve") -> dict[str, Any]:
    return {name: getattr(curve, name) for name in ("column", "rows", "thresholds", "kept", "low", "high", "unknown")}


def _curve_rows(curve: "YieldCurve") -> list[dict[str, object]]:
    points = zip(curve.thresholds, curve.kept, curve.low, curve.high, curve.unknown, strict=True)
    return [{"column": curve.column, "rows": curve.rows, "threshold": at, "kept": kept, "low": low, "high": high,
             "unknown": more} for at, kept, low, high, more in points]  # fmt: skip


def _curve_table(curve: "YieldCurve") -> Table:
    points = zip(curve.thresholds, curve.kept, curve.low, curve.high, curve.unknown, strict=True)
    rows = [(f"{at:.4g}", as_cell(kept), f"{kept / curve.rows:.3f}", f"{low:.3f} to {high:.3f}", as_cell(more))
            for at, kept, low, high, more in points]  # fmt: skip
    return Table((f"{curve.column} ≥", "kept", "share", "95% interval (Wilson)", "not known"), rows)


def _curves_table(curves: "Sequence[YieldCurve]") -> Table:
    """Return the table of several curves, as a file has it."""
    rows = [(curve.column, *row) for curve in curves for row in _curve_table(curve).rows]
    return Table(("column", "threshold", "kept", "share", "95% interval (Wilson)", "not known"), rows)
