"""Pages of rows with pictures: battles of a store, rows of a data set, samples of a training run."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from salon_bench.viewer.cases import called, counts, refuse_long
from salon_bench.viewer.rendering import (
    MOST_CHIPS,
    MOST_RAW,
    ON_A_PAGE,
    Query,
    Select,
    address,
    card_page,
    chip,
    cut,
    filters,
    last,
    one_page,
    page_number,
    picture,
    prefixed,
    shell,
)
from salon_console import numbers
from salon_console.row_view import RowTable, RowView
from salon_judges.media.video_container import container_of
from salon_taxonomy.errors import InputError

_IS: Final = "is_"
"""In front of a column's name in an address: rows that have this value there."""
_OWN: Final = ("key", "name", "text", "pictures")
_MOST_COLUMNS: Final = 60
"""Names of columns that a page lists."""


def rows_page(view: RowView, query: Query, page_name: str = ".") -> str:
    """Return the page of the rows that pass the filter.

    Raises:
        SalonError: the rows cannot be read.
        InputError: the filter is wrong.
    """
    table = view.rows()
    problem = ""
    try:
        rows = filtered_rows(table, query)
    except InputError as error:
        if not last(query, "where"):
            raise
        rows, problem = table.frame.clear(), str(error)
    page, pages = page_number(query, rows.height)
    same = {name: list(values) for name, values in query.items() if name != "page"}
    names = [name for name in table.frame.columns if name not in _OWN]
    body = card_page(
        page_name,
        same=same,
        fixed={},
        about=table.notes,
        columns=names[:_MOST_COLUMNS],
        selects=[select for name, label in table.choices.items() for select in _selects(table, name, label, query)],
        where=("Rows WHERE", f"{(table.chips or names)[0]} IS NOT NULL"),
        search="Words",
        problem=problem,
        counts=f"{rows.height:,} of {numbers.counted(table.frame.height, 'row')}",
        page=page,
        pages=pages,
        cards=[_card(table, row, same) for row in rows.slice(page * ON_A_PAGE, ON_A_PAGE).iter_rows(named=True)],
    )
    return shell(view.title, body, crumbs=[("Runs", ".")] if page_name != "." else [], live=view.live)


def row_page(view: RowView, query: Query, page_name: str = ".") -> str:
    """Return the page of one row.

    Raises:
        SalonError: the rows cannot be read.
        InputError: there is no such row.
    """
    table, key, same = view.rows(), last(query, "key"), filters(query)
    mine = table.frame.filter(pl.col("key") == key)
    if not mine.height:
        raise InputError("there is no row", source="address", column="key", value=key)
    row = mine.row(0, named=True)
    keys = filtered_rows(table, same)["key"]
    number = keys.index_of(key)
    around = [] if number is None else [keys[at] if 0 <= at < keys.len() else None for at in (number - 1, number + 1)]
    before, after = ("" if other is None else _row_address(other, same) for other in around or (None, None))
    pictures = [
        picture(one["id"], "large", one["name"], chosen=one["chosen"], video=_is_video(view, one["id"])) | {"alt": ""}
        for one in row["pictures"] or ()
    ]
    chips = [
        {**made, "address": _same_value(table, row, name, page_name)}
        for name, made in _chips(table, row, [*table.chips, *table.choices])
    ]
    details = view.details(key)
    body = one_page(
        kind="Row",
        heading="Text",
        details="Details" if details else "",
        text=cut(row["text"], MOST_RAW),
        pictures=pictures,
        chips=chips,
        calls=[
            {
                "step": detail.heading,
                "judge": "",
                "facts": detail.facts,
                "text": cut(detail.text, MOST_RAW),
                "cut": "The text is longer." if len(detail.text) > MOST_RAW else "",
            }
            for detail in details
        ],
        before=before,
        after=after,
    )
    above = (view.title, address(page_name, **same))
    return shell(row["name"], body, crumbs=[("Runs", "."), above] if page_name != "." else [above])


def _is_video(view: RowView, identifier: str) -> bool:
    content = view.picture(identifier)
    return content is not None and container_of(content) is not None


def filtered_rows(table: RowTable, query: Query) -> pl.DataFrame:
    """Return the rows that a query lets through, in their order.

    Args:
        table: all rows.
        query: ``text``: words of the text, the name or the key; ``is_COLUMN``: a value of a column of choices; ``where``: a
            condition in SQL over all columns.

    Raises:
        InputError: the condition is wrong.
    """
    frame, condition = table.frame, pl.lit(value=True)
    refuse_long(query, query)
    for name in table.choices:
        for value in filter(None, query.get(f"{_IS}{name}", ())):
            if isinstance(frame.schema[name], pl.List):
                condition &= pl.any_horizontal(pl.col(name).list.contains(one) for one in called(value, frame[name].explode()))
            else:
                column = pl.col(name).cast(pl.String)
                condition &= column.is_in(called(value, frame[name].cast(pl.String)))
    if words := last(query, "text").lower():
        condition &= pl.any_horizontal(
            pl.col(name).str.to_lowercase().str.contains(words, literal=True).fill_null(value=False)
            for name in ("text", "name", "key")
        )
    rows = frame.filter(condition)
    where = last(query, "where").strip()
    return rows.filter(_holds(rows, where)) if where else rows


def _holds(rows: pl.DataFrame, where: str) -> pl.Series:
    """Return where a condition in SQL holds.

    Raises:
        InputError: it is not a condition, or names no column of the rows.
    """
    try:
        holds = rows.select(pl.sql_expr(where).alias("holds"))["holds"]
        if holds.dtype != pl.Boolean or holds.len() not in (1, rows.height):
            raise InputError("must be true or false of each row", source="filter", column="where", value=where)
        return holds.fill_null(value=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        problem = f"the condition cannot be applied ({str(error).partition(chr(10))[0]})"
        hint = f"Columns: {', '.join(rows.columns[:_MOST_COLUMNS])}"
        raise InputError(problem, source="filter", column="where", value=where, hint=hint) from error


def _selects(table: RowTable, name: str, label: str, query: Query) -> Iterable[Select]:
    """Return a list of values; of a column of lists, one more for each chosen value."""
    column = table.frame[name]
    many = isinstance(column.dtype, pl.List)
    values = counts((column.explode() if many else column).cast(pl.String))
    chosen = [value for value in query.get(f"{_IS}{name}", ()) if value]
    if len(values) > 1 or chosen:
        options = [(value, value, count) for value, count in sorted(values)]
        for number, value in enumerate([*chosen, ""] if many else [*chosen[-1:], ""][:1]):
            yield Select(f"and {label.lower()}" if number else label, f"{_IS}{name}", options, value)


def _card(table: RowTable, row: Mapping[str, Any], same: Query) -> dict[str, Any]:
    chips = [made for _, made in _chips(table, row, table.chips)]
    return {
        "address": _row_address(row["key"], same),
        "pictures": [picture(one["id"], "small", one["name"], chosen=one["chosen"]) for one in row["pictures"] or ()],
        "names": [row["name"]],
        "text": cut(row["text"]),
        "chips": chips[:MOST_CHIPS],
        "labels": (),
        "more": max(0, len(chips) - MOST_CHIPS),
        "differs": (),
    }


def _row_address(key: str, same: Query) -> str:
    return address("row", key=[key], **prefixed(same))


def _chips(table: RowTable, row: Mapping[str, Any], names: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the name and the chip of each value; texts that are missing have none."""
    for name in dict.fromkeys(names):
        value = row[name]
        if isinstance(value, list):
            value = ", ".join(map(str, value)) or None
        if value is not None or table.frame.schema[name].is_numeric():
            yield (
                name,
                chip(name, value if isinstance(value, int | float) else value and str(value), green=table.green.get(name)),
            )


def _same_value(table: RowTable, row: Mapping[str, Any], name: str, page_name: str) -> str:
    """Return the address of all rows with the same value; empty for a column without choices."""
    if name not in table.choices or row[name] in (None, []):
        return ""
    values = row[name] if isinstance(row[name], list) else [row[name]]
    return address(page_name, **{f"{_IS}{name}": list(map(str, values))})
