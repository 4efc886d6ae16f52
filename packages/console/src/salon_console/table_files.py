"""Write tables to files; the ending of the name says the kind: the one place for all commands.

    .csv .json .jsonl .parquet      values for programs (numbers as numbers)
    .md .tex .html                  cells as a terminal shows them
    .html .svg .png                 a page or a chart, where the result has one

``.tex`` is a ``tabular`` with the rules of the LaTeX package booktabs. Names of models are text of strangers: every writer
escapes them.
"""

import base64
import hashlib
import html
import json
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible
from salon_taxonomy.whole_files import write_whole

if TYPE_CHECKING:
    import polars as pl

Rows: TypeAlias = "pl.DataFrame | Sequence[Mapping[str, object]]"
"""The values of a table: a frame, or one mapping for each row."""
Maker: TypeAlias = Callable[[], str | bytes]
"""Makes the content of a file."""
ValueForm: TypeAlias = Literal["csv", "json", "jsonl", "parquet"]

VALUE_ENDINGS: Final = (".csv", ".json", ".jsonl", ".parquet")
"""Files of values, for programs."""
TABLE_ENDINGS: Final = (*VALUE_ENDINGS, ".md", ".tex", ".html")
"""The kinds of file that every table can become."""
CHART_ENDINGS: Final = (".svg", ".png")
"""The kinds of file that a chart can become."""
RESULT_ENDINGS: Final = (*TABLE_ENDINGS, *CHART_ENDINGS)
"""The kinds of file that a result with a chart can become."""

_LATEX: Final = {
    **{sign: f"\\{sign}" for sign in "{}$&#_%"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",  # after \\ a bracket would be an argument
    "]": "{]}",
    "\0": "{}",  # between two hyphens, which would be a dash; what is visible has no such sign
    "–": "--",
    "−": "$-$",
}
_STYLE: Final = (
    "body { font: 1rem/1.4 system-ui, sans-serif; } table { border-collapse: collapse; } caption { text-align: left; } "
    "th, td { padding: .2em .5em; vertical-align: top; overflow-wrap: anywhere; border-bottom: 1px solid #8886; } "
    "th:not([align]) { text-align: left; } "
    "@media (max-width: 40rem) { thead { display: none; } td { display: block; border: 0; text-align: left; } "
    "td::before { content: attr(data-label) ': '; opacity: .75; } tr { display: block; border-bottom: 1px solid #8886; } }"
)
"""Of the page of a table: on a narrow screen every cell is a line with its column's name."""
_MARKDOWN: Final = re.compile(r"[\\`*\[\]<>|~$&#!]|(?<![^\W_])_|_(?![^\W_])")
"""The signs that act; an underscore within a word does not."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header; ``numeric`` names the columns that are set flush right."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[str] = frozenset()
    caption: str = ""

    def markdown(self) -> str:
        r"""Return the table in Markdown, every cell as literal text.

        Example:
            >>> print(Table(("model", "Elo"), [("a|b", "1,000")], frozenset({"Elo"})).markdown(), end="")
            | model | Elo |
            | --- | ---: |
            | a\|b | 1,000 |
        """
        ruler = ["---:" if name in self.numeric else "---" for name in self.columns]
        head, *body = [[_MARKDOWN.sub(r"\\\g<0>", visible(cell)) for cell in row] for row in (self.columns, *self.rows)]
        return "".join(f"| {' | '.join(row)} |\n" for row in (head, ruler, *body))

    def latex(self) -> str:
        r"""Return the table as a ``tabular`` of LaTeX with the rules of booktabs, every cell as literal text.

        Example:
            >>> print(Table(("model", "Elo"), [("a_b & c", "-80")], frozenset({"Elo"})).latex(), end="")
            % \usepackage{booktabs}, and \usepackage{textcomp} before LaTeX 2020
            \begin{tabular}{lr}
            \toprule
            model & Elo \\
            \midrule
            a\_b \& c & $-$80 \\
            \bottomrule
            \end{tabular}
        """
        head, *body = [
            " & ".join(_latex(cell, number=name in self.numeric) for name, cell in zip(self.columns, row, strict=True))
            for row in (self.columns, *self.rows)
        ]
        kinds = "".join("r" if name in self.numeric else "l" for name in self.columns)
        lines = [
            r"% \usepackage{booktabs}, and \usepackage{textcomp} before LaTeX 2020",
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *(rf"{row} \\" for row in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "".join(f"{line}\n" for line in lines)

    def html(self) -> str:
        """Return the table as an element of HTML without styles or scripts, every cell as literal text.

        Example:
            >>> Table(("model",), [("<b>",)]).html()
            '<table>\\n<thead><tr><th>model</th></tr></thead>\\n<tbody>\\n<tr><td>&lt;b&gt;</td></tr>\\n</tbody>\\n</table>\\n'
        """
        return self._html_table(labels=False)

    def _html_table(self, *, labels: bool) -> str:
        """Return the element; with labels every cell has its column's name as ``data-label``."""
        caption = f"<caption>{_html(self.caption)}</caption>\n" if self.caption else ""
        rows = "".join(f"<tr>{self._html_cells(row, 'td', labels=labels)}</tr>\n" for row in self.rows)
        head = f"<thead><tr>{self._html_cells(self.columns, 'th')}</tr></thead>\n"
        return f"<table>\n{caption}{head}<tbody>\n{rows}</tbody>\n</table>\n"

    def page(self, header: str = "", notes: Sequence[str] = ()) -> str:
        """Return a page: header, table, notes. It fetches nothing and has no script."""
        title = _html(self.caption or ", ".join(self.columns))
        style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
        head = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n'
        )
        above, *beneath = (f"<p>{_html(text)}</p>\n" if text else "" for text in (header, *notes))
        return f"{head}<body>\n{above}{self._html_table(labels=True)}{''.join(beneath)}</body>\n</html>\n"

    def _html_cells(self, row: Sequence[str], element: str, *, labels: bool = False) -> str:
        """Return the cells of a row or of the header."""
        cells = []
        for name, cell in zip(self.columns, row, strict=True):
            side = " align=right" if name in self.numeric else ""
            label = f' data-label="{_html(name)}"' if labels else ""
            cells.append(f"<{element}{side}{label}>{_html(cell)}</{element}>")
        return "".join(cells)


def check_ending(path: Path, endings: Collection[str], what: str = "output") -> None:
    """Check that a file of this name can be written, before any work is done for it.

    Args:
        path: the file.
        endings: those that are allowed, with their point.
        what: what the file is called in the message.

    Raises:
        InputError: the ending is not among ``endings``, or the folder does not exist.

    Example:
        >>> check_ending(Path("board.pdf"), (".csv", ".tex"))
        Traceback (most recent call last):
        salon_taxonomy.errors.InputError: board.pdf: unknown kind of output '.pdf' (allowed: .csv, .tex)
        Nothing was written. End the name with one of these.
    """
    if path.suffix.lower() not in endings:
        hint = "Nothing was written. End the name with one of these."
        raise InputError(f"unknown kind of {what}", source=path, value=path.suffix, allowed=endings, hint=hint)
    if not path.absolute().parent.is_dir():
        hint = f"Nothing was written. Make it first: mkdir -p {shlex.quote(str(path.parent))}"
        raise InputError("there is no such folder", source=path.parent, hint=hint)


def write_table(
    path: Path, table: Table | Callable[[], Table], values: "Rows | None" = None, *, made: Mapping[str, Maker] | None = None
) -> None:
    """Write a table to a file, whole or not at all; the ending of its name says the kind.

    Args:
        path: the file; an old one is replaced.
        table: its cells as people read them.
        values: its values, for the endings of ``VALUE_ENDINGS``; default: the cells.
        made: makes the content of a file by its ending, in place of the table: a page's or a chart's, for example.

    Raises:
        InputError: the ending is unknown, the folder is missing, or the file cannot be written.
    """
    check_ending(path, tuple(dict.fromkeys((*TABLE_ENDINGS, *(made or {})))))
    write_whole(path, table_bytes(path.suffix.lower(), table, values, made=made), flushed=True)


def table_bytes(
    ending: str, table: Table | Callable[[], Table], values: "Rows | None" = None, *, made: Mapping[str, Maker] | None = None
) -> bytes:
    """Return what :func:`write_table` writes to a file with this ending."""
    content = {**_makers(table, values), **(made or {})}[ending]()
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def _makers(table: Table | Callable[[], Table], values: "Rows | None") -> dict[str, Maker]:
    """Return what makes each of ``TABLE_ENDINGS``."""

    def cells() -> Table:
        return table if isinstance(table, Table) else table()

    def rows() -> Rows:
        if values is not None:
            return values
        table = cells()
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]

    return {
        ".csv": lambda: encoded(rows(), "csv"),
        ".json": lambda: encoded(rows(), "json"),
        ".jsonl": lambda: encoded(rows(), "jsonl"),
        ".parquet": lambda: encoded(rows(), "parquet"),
        ".md": lambda: cells().markdown(),
        ".tex": lambda: cells().latex(),
        ".html": lambda: cells().page(),
    }


def encoded(rows: Rows, form: ValueForm) -> bytes:
    """Encode values as a file: times in ISO 8601, lists in CSV as JSON arrays, JSON as an array.

    Raises:
        InputError: Parquet has no such type, or polars is not installed.
    """
    try:
        import polars as pl
        import polars.selectors as cs
    except ModuleNotFoundError as error:
        hint = "Install it: pip install polars"
        raise InputError("files of values need a package that is missing:", value=error.name, hint=hint) from error
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame([*rows], infer_schema_length=None, strict=False)
    out = BytesIO()
    if form == "parquet":
        try:
            frame.write_parquet(out)
        except pl.exceptions.PolarsError as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"the result cannot be written as Parquet: {problem}", hint="CAST it to VARCHAR.") from error
    elif form == "jsonl":
        frame.write_ndjson(out)
    elif form == "json":
        spelled = _spelled(frame, cs.temporal() | cs.decimal() | cs.binary())
        if any(kind.is_nested() for kind in spelled.dtypes):
            out.write(json.dumps(_json_value(spelled.to_dicts()), ensure_ascii=False, separators=(",", ":")).encode())
        else:
            spelled.write_json(out)
        out.write(b"\n")
    else:
        spelled = _spelled(frame, cs.nested() | cs.temporal() | cs.binary())
        texts = spelled.select(cs.string()).columns
        spelled.with_columns(spelled[name].map_elements(csv_cell, return_dtype=pl.String) for name in texts).write_csv(out)
    return out.getvalue()


FORMULA: Final = r"'*[=+\-@\t\r]"
"""The start of a text that a spreadsheet would run as a formula, or of one that :func:`csv_cell` made of such a text."""
_NUMBER: Final = r"[+-]?(\d[\d,_]*\.?\d*|\.\d+)([eE][+-]?\d+)?%?"


def csv_cell(text: str) -> str:
    """Return a text as a cell of CSV: an apostrophe stands before what a spreadsheet would run; numbers stay.

    Example:
        >>> [csv_cell(text) for text in ("=1+1", "'=1+1", "-12.5", "a cat")]
        ["'=1+1", "''=1+1", '-12.5', 'a cat']
    """
    return f"'{text}" if re.match(FORMULA, text) and not re.fullmatch(_NUMBER, text) else text


def csv_text(cell: str) -> str:
    """Return the text of a cell that :func:`csv_cell` made.

    Example:
        >>> [csv_text(cell) for cell in ("'=1+1", "''=1+1", "-12.5", "'tis a cat")]
        ['=1+1', "'=1+1", '-12.5', "'tis a cat"]
    """
    return cell[1:] if cell.startswith("'") and re.match(FORMULA, cell) else cell


def _spelled(frame: "pl.DataFrame", columns: "pl.Expr") -> "pl.DataFrame":
    """Return the frame with the chosen columns as text."""
    return frame.with_columns(_text(frame[name]) for name in frame.select(columns).columns)


def _text(series: "pl.Series") -> "pl.Series":
    import polars as pl

    kind = series.dtype
    if kind.base_type() in (pl.Datetime, pl.Time):  # a cast to text leaves out parts of a second
        return series.dt.to_string("iso:strict")
    if kind.is_temporal() or kind.is_decimal():
        return series.cast(pl.String)
    if kind == pl.Binary:
        return series.bin.encode("hex")
    return pl.Series(series.name, [None if value is None else _json(value) for value in series], dtype=pl.String)


def _json(value: object) -> str:
    return json.dumps(_json_value(value), ensure_ascii=False)


def _json_value(value: object) -> object:
    """Convert a value to JSON's types: keys and times to text, bytes to hex digits, non-finite numbers to null."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(_json_value(key)): _json_value(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | time):
        return value.isoformat()
    if value is None or isinstance(value, str | int):
        return value
    if hasattr(value, "to_list"):  # a series of polars
        value = value.to_list()
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else str(value)


def _latex(cell: str, *, number: bool) -> str:
    """Return a cell as LaTeX prints it literally; the sign of a number is a minus."""
    letters = visible(cell) if number else re.sub("-(?=-)", "-\0", visible(cell))
    text = "".join(_LATEX.get(sign, sign) for sign in letters)
    return re.sub(r"(?<![\w.])-(?=[\d.])", "$-$", text) if number else text


def _html(text: str) -> str:
    return html.escape(visible(text))
