"""``salon reward score``: what every completion of a file earns."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import format_option, output_option
from salon_console.output import print_table
from salon_console.table_files import VALUE_ENDINGS, Table, write_table
from salon_rewards.catalog import ASKED, REWARDS, make_reward, source_names
from salon_rewards.composition import Part
from salon_rewards.line_files import opened, shown
from salon_rewards.scoring.completions_file import read_completions
from salon_rewards.scoring.scored import ScoredCompletions, label_counts, score_completions
from salon_taxonomy.errors import InputError

_BY_RULE = {entry.name: entry for entry in REWARDS if not entry.asks}


@click.command()
@click.argument("file", metavar="FILE|-", type=InputPath(path_type=str, allow_dash=True))
@click.option(
    "--reward",
    "names",
    multiple=True,
    required=True,
    metavar="NAME",
    help="A reward of `salon reward list`; repeat for several.",
)
@click.option("--weights", metavar="W,W,…", help="What each --reward is worth in the total, in their order.  [default: 1 each]")
@click.option(
    "--explain", is_flag=True, help="Say why: flaws of the format, labels found, missed and extra, illusory instructions."
)
@format_option("table", "json", help_="A summary, or every row.")
@click.option(
    "--group-size", type=click.IntRange(min=1), metavar="N", help="Every N rows are a group.  [default: told by the columns]"
)
@output_option(VALUE_ENDINGS, what="Write every row to this file")
def score(
    file: str,
    names: tuple[str, ...],
    weights: str | None,
    explain: bool,
    form: str,
    group_size: int | None,
    output: Path | None,
) -> None:
    """Score a file of completions with one or several rewards by rule.

    FILE is JSON Lines, gzipped or not, with `completion` (a text, or a list of chat messages) and the columns that the
    rewards need: `truth` for those of MagicMirror, `matches` for those of R³. A column may be null where the value is unknown;
    such rows have no reward, and are counted. Rows of one `group_id` are one group, without that column neighbours of one
    `example_id`: when one has no total, none has.

    \b
    salon reward score completions.jsonl --reward magicmirror
    salon reward score completions.jsonl --reward magicmirror --explain
    salon reward score completions.jsonl --reward l1 --reward l2 --reward repetition --weights 4,2,0.5
    salon reward score completions.jsonl --reward magicmirror --format json
    salon reward score completions.jsonl --reward magicmirror --output scored.jsonl
    """
    parts = _parts(names, weights)
    needed = [column for name in names for column in _BY_RULE[name].columns]
    terms = "r3" if "json" in names or "matches" in needed else "magicmirror"
    with opened(file) as lines:
        read = read_completions(lines, shown(file), needed)
    with _progress(len(read.lines)) as progressed:
        try:
            scored = score_completions(
                read.columns, parts, group_size=group_size, explain=terms if explain else None, progressed=progressed
            )
        except InputError as error:
            column = "completion" if error.column == "completions" else error.column
            line = None if error.row is None else read.lines[error.row - 1]
            raise error.at(source=shown(file), row=None, line=line, column=column) from error
    if output is not None:
        _write(scored, output)
    if form == "json" and output is None:
        for row in scored.rows():
            click.echo(json.dumps(row, ensure_ascii=False))
    elif form == "json":
        click.echo(json.dumps([asdict(line) for line in scored.summary()], indent=2))
    else:
        _print(scored)
    if output is not None:
        click.echo(f"Wrote {output}", err=True)


def _parts(names: Sequence[str], weights: str | None) -> list[Part]:
    for name in names:
        if name not in _BY_RULE:
            known = next((entry for entry in REWARDS if entry.name == name), None)
            if known is not None:
                problem = f"this reward asks {ASKED[known.asks]}, use Python for"
            elif name.startswith("scorer:"):
                problem = "rates pictures or videos, and the answers of a file are texts:"
            elif name.partition(":")[0] in source_names():
                problem = "rewards of other packages may ask a judge, use Python for"
            else:
                problem = "there is no reward by rule called"
            scorer = name.removeprefix("scorer:")
            scored = f"Scores of pictures: `salon bench run scorer --scorer {scorer}`, or `salon reward serve scorer:{scorer}`."
            is_scorer = scorer != name or (".py:" in name and ":" not in name.partition(".py:")[0])
            hint = scored if is_scorer else None
            raise InputError(problem, source="--reward", value=name, allowed=_BY_RULE, hint=hint)
    if len(set(names)) < len(names):
        raise InputError("a reward is given twice", source="--reward", value=list(names))
    worth = [1.0] * len(names) if weights is None else _numbers(weights, len(names))
    return [Part(make_reward(name), weight) for name, weight in zip(names, worth, strict=True)]


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError as error:
        raise InputError("needs numbers apart by commas, such as 8,4,2,1, not", source="--weights", value=text) from error
    if len(numbers) != count:
        raise InputError(f"needs {count} numbers, one for each --reward, not", source="--weights", value=text)
    return numbers


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A bar on standard error while it is a terminal."""
    with click.progressbar(length=total, label="Scoring", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield bar.update


def _write(scored: ScoredCompletions, output: Path) -> None:
    """Write all rows or none."""
    rows = list(scored.rows())
    writers = {".jsonl": lambda: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}  # without polars
    write_table(output, Table((), ()), rows, made=writers)


def _print(scored: ScoredCompletions) -> None:
    columns = ("reward", "weight", "mean", "lowest", "highest", "scored", "unscored")
    rows = []
    for line in scored.summary():
        why = f" ({', '.join(f'{count} {reason}' for reason, count in line.reasons.items())})" if line.reasons else ""
        numbers = ["–" if value is None else f"{value:.4g}" for value in (line.mean, line.lowest, line.highest)]
        weight = "" if line.name == "total" else f"{line.weight:g}"
        rows.append((line.name, weight, *numbers, str(line.scored), f"{line.unscored}{why}"))
    print_table(columns, rows, right=columns[1:6])
    if not scored.why:
        return
    flaws: dict[str, int] = {}
    for row in scored.why:
        if "flaw" in row:
            flaws[row["flaw"]] = flaws.get(row["flaw"], 0) + 1
    if flaws:
        most = sorted(flaws.items(), key=lambda flaw: (-flaw[1], flaw[0]))
        print_table(("flaw of the format", "completions"), [(reason, str(count)) for reason, count in most])
    counts = label_counts(scored.why)
    if counts:
        figures = ("found", "missed", "extra")
        print_table(("label", *figures), [(label, *map(str, of_label)) for label, of_label in counts.items()], right=figures)
