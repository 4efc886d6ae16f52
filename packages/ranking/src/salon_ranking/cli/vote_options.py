"""The options of commands that read votes: what the file calls its columns, winners and models, and what counts."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import several
from salon_ranking.cli.output import Option
from salon_taxonomy.errors import InputError

_FORMATS = ("evalica", "genai-arena", "lmarena", "lmarena-kaggle", "named")
_COLUMNS = "left=model_a,right=model_b"
_WINNER_WORDS = "left=model_a,draw=tie"
_MERGE = "merge"


class _Names(InputPath):
    """A table of names, or the word ``merge``."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the word as it is; anything else as a path."""
        return value if value == _MERGE else super().convert(value, parameter, context)


_NAMES: Option = click.option(
    "--names",
    "names",
    metavar="FILE|merge",
    type=_Names(tables=True),
    help="A table with the columns name and model: which model each spelling is. merge: names that differ only by case, "
    "spaces or Unicode form are one model.",
)


def columns_option(example: str) -> Option:
    """Return the option ``--columns``, passed on as ``columns``."""
    return click.option("--columns", metavar="THEIRS=OURS[,…]", multiple=True, help=f"The file's names of columns: {example}.")


_SPELLING: tuple[Option, ...] = (
    click.option("--votes", "format_of_votes", type=click.Choice(_FORMATS), help="Whose format the file has."),
    columns_option(_COLUMNS),
    click.option(
        "--winner-words", metavar="THEIRS=OURS[,…]", multiple=True, help=f"The file's words for winners: {_WINNER_WORDS}."
    ),
    _NAMES,
)
WEIGHT: Option = click.option(
    "--weight",
    metavar="COLUMN|1",
    help="Each battle's weight; 1: every battle counts alike. Default: the column weight, where there is one.",
)
_COUNTING: tuple[Option, ...] = (
    WEIGHT,
    click.option(
        "--anchors",
        type=click.Choice(["leave-out", "count"]),
        default="leave-out",
        show_default=True,
        help="Battles whose is_anchor is true test raters: leave them out and say how many, or count them.",
    ),
)
_ROWS: tuple[Option, ...] = (
    click.option("--where", metavar="SQL", help="Only the rows that meet a condition, such as \"category = 'text'\"."),
    click.option(
        "--repeated-ids",
        type=click.Choice(["refuse", "first", "count"]),
        default="refuse",
        show_default=True,
        help="When a battle_id is in several rows: stop and name them, keep the first of exact copies, or count all.",
    ),
    click.option(
        "--no-winner",
        type=click.Choice(["refuse", "leave-out"]),
        default="refuse",
        show_default=True,
        help="Rows without a winner: stop and name them, or leave them out and say how many.",
    ),
)
_SPELLING_NAMES = ("format_of_votes", "columns", "winner_words", "names")


def vote_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of spelling and counting; the command gets them as ``votes``, the keywords of ``Battles.read``."""

    @wraps(command)
    def called(weight: str | None, anchors: str, votes: Mapping[str, object], **arguments: Any) -> None:
        command(votes={**votes, "weight": weight_of(weight), "anchors": anchors.replace("-", "_")}, **arguments)

    return spelling_options(several(*_COUNTING)(called))


def row_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options on which rows are read; the command gets them as ``rows``, keywords of ``Battles.read``."""

    @wraps(command)
    def called(where: str | None, repeated_ids: str, no_winner: str, **arguments: Any) -> None:
        rows = {
            "where": where,
            "ids": None if repeated_ids == "count" else "battle_id",
            "copies": "first" if repeated_ids == "first" else "refuse",
            "no_winner": no_winner.replace("-", "_"),
        }
        command(rows=rows, **arguments)

    return several(*_ROWS)(called)


def weight_of(column: str | None) -> str | bool:
    """Return the argument ``weight`` of ``Battles.read``.

    Example:
        >>> weight_of(None), weight_of("1"), weight_of("certainty")
        (True, False, 'certainty')
    """
    return column != "1" if column in (None, "1") else column or True


def spelling_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options on how a file spells its votes; the command gets them as ``votes``, keywords of ``Battles.read``."""

    @wraps(command)
    def called(**arguments: Any) -> None:
        command(votes=_spelling(**{name: arguments.pop(name) for name in _SPELLING_NAMES}), **arguments)

    return several(*_SPELLING)(called)


def table_options(example: str) -> Option:
    """Return a decorator for commands that read marks or checks; they get ``spelled``, with ``columns`` and ``names``."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(columns: Sequence[str], names: Path | str | None, **arguments: Any) -> None:
            command(spelled={"columns": _pairs("--columns", columns, example), "names": _names(names)}, **arguments)

        return several(columns_option(example), _NAMES)(called)

    return with_options


def _spelling(
    *,
    format_of_votes: str | None,
    columns: Sequence[str],
    winner_words: Sequence[str],
    names: Path | str | None,
) -> Mapping[str, object]:
    """Return the format and the names.

    Raises:
        InputError: options exclude each other, a pair is not NAME=NAME, or the table of names cannot be read.
    """
    own_columns = _pairs("--columns", columns, _COLUMNS)
    own_words = _pairs("--winner-words", winner_words, _WINNER_WORDS)
    return {"votes": format_of_votes, "names": _names(names), "columns": own_columns, "winner_words": own_words}


def _pairs(option: str, values: Sequence[str], example: str) -> dict[str, str]:
    """Parse ``THEIRS=OURS`` pairs; a text may contain several, separated by commas."""
    pairs = {}
    for pair in (part for text in values for part in text.split(",") if part.strip()):
        theirs, sign, ours = pair.rpartition("=")
        if not (sign and theirs.strip() and ours.strip()):
            hint = f"Write the file's word, =, and Salon's: {option} {example}."
            raise InputError("is not THEIRS=OURS:", source=option, value=pair, hint=hint)
        pairs[theirs.strip()] = ours.strip()
    return pairs


def _names(path: Path | str | None) -> Mapping[str, str] | str | None:
    """Return the model by each name, from a table; ``merge`` and None as they are."""
    if path is None or isinstance(path, str):
        return path
    from salon_ranking.errors import BattleError
    from salon_ranking.files import read_table
    from salon_ranking.table_checks import CheckedTable

    table = CheckedTable(read_table(path, "names", BattleError), str(path), BattleError).with_names(["name", "model"])
    table.note(~table.frame["name"].is_first_distinct(), "the same name twice:", "name")
    table.refuse_wrong()
    return dict(table.frame.select("name", "model").iter_rows())
