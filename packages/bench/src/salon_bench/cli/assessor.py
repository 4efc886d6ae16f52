"""``salon bench assessor``: how good an assessor's answers are. Parse, one call, print."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT, bootstrap_option
from salon_console.output import as_json, deliver, number_text
from salon_console.table_files import Table
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from salon_bench.suites.assessors import AssessorComparison, Evaluation

_FILE = InputPath(dir_okay=False)


@click.group()
def assessor() -> None:
    """Evaluate artifact assessors against the labels of people.

    \b
    salon bench assessor evaluate truth.jsonl answers.jsonl
    salon bench assessor evaluate truth.jsonl new.jsonl --against old.jsonl
    """


@assessor.command()
@click.argument("truth", type=_FILE)
@click.argument("answers", type=_FILE)
@click.option("--against", type=_FILE, help="Another assessor's answers: prints differences on the same images instead.")
@click.option(
    "--invalid",
    type=click.Choice(["nothing", "left_out"]),
    default="nothing",
    show_default=True,
    help="What an answer that cannot be read counts as: one that gives no label, or (as in the released script) no image.",
)
@click.option("--level", type=click.Choice(["main", "all"]), default="main", show_default=True, help="all: L3 labels too.")
@bootstrap_option("0: no intervals.")
@OUTPUT
@FORMAT
def evaluate(
    truth: Path,
    answers: Path,
    against: Path | None,
    invalid: str,
    level: str,
    replicates: int,
    output: Path | None,
    form: str,
) -> None:
    """Precision, recall and F1 of an assessor's ANSWERS against TRUTH.

    Both are files (JSON Lines, JSON, CSV, Parquet) with one row per image: a column id, image or images says which, and
    response, labels, output or answer holds the labels as JSON or a whole reply with its box. Averages are over the four
    main L2 labels, as in the paper.

    \b
    Example:
      salon bench assessor evaluate truth.jsonl answers.jsonl
      salon bench assessor evaluate truth.jsonl answers.jsonl --level all --format json
      salon bench assessor evaluate truth.jsonl new.jsonl --against old.jsonl
    """
    from salon_bench.suites.assessors import compare, match, read_labels
    from salon_bench.suites.assessors import evaluate as evaluated

    labels, answered = read_labels(truth, truth=True), read_labels(answers)
    for words in (*labels.remarks(), *answered.remarks()):
        click.echo(visible(words), err=True)
    true, predicted = match(labels, answered)
    if against is None:
        result = evaluated(true, predicted, invalid=invalid, replicates=replicates)
        show_evaluation(result, level, form, output)
        return
    if invalid != "nothing":
        raise click.UsageError("--invalid left_out cannot be joined with --against: both need the same images.")
    _, other = match(labels, read_labels(against))
    _show_comparison(compare(true, predicted, other, replicates=replicates), level, form, output)


def show_evaluation(
    result: "Evaluation", level: str, form: str, output: Path | None = None, *, about: Mapping[str, object] | None = None
) -> None:
    """Print an evaluation, and write its table.

    Args:
        result: the evaluation.
        level: ``main`` or ``all`` labels.
        form: ``table`` or ``json``.
        output: the file; None: none.
        about: what JSON has before the rows; default: the evaluation's settings.
    """
    rows = [row for row in result.table.to_dicts() if level == "all" or row["level"] != "L3"]
    settings = {name: getattr(result, name) for name in ("images", "valid", "invalid", "replicates", "confidence", "seed")}
    document = {**(about or {}), **settings, "reasons": dict(result.reasons), "rows": rows}
    if form == "table":
        click.echo(result.header)
    header = ("label", "precision", "recall", "F1", "support", "flagged")
    lines = [
        [
            _named(row),
            *(_with_interval(row, metric) for metric in ("precision", "recall", "f1")),
            *(_whole(row[count]) for count in ("support", "flagged")),
        ]
        for row in rows
    ]
    cells = Table(header, lines, frozenset(header[1:]))
    deliver(cells, rows, form=form, output=output, json=lambda: as_json(document))


def _show_comparison(result: "AssessorComparison", level: str, form: str, output: Path | None) -> None:
    rows = [row for row in result.table.to_dicts() if level == "all" or row["level"] != "L3"]
    about = {name: getattr(result, name) for name in ("images", "replicates", "confidence", "seed")}
    if form == "table":
        click.echo(
            f"{result.images:,} images, the same for both. {100 * result.confidence:.4g}% intervals of the difference: "
            f"paired percentile bootstrap, {result.replicates} replicates, seed {result.seed}. Unread answers give no label."
        )
    header = ("label", "metric", "answers", "against", "difference", "significant")
    lines = [
        [
            _named(row),
            row["metric"],
            *(number_text(row[name]) for name in ("first", "second")),
            "{} [{}, {}]".format(*(number_text(row[name], "+.4f") for name in ("difference", "ci_low", "ci_high"))),
            "yes" if row["significant"] else "",
        ]
        for row in rows
        if row["difference"] is not None
    ]
    cells = Table(header, lines, frozenset(header[2:5]))
    deliver(cells, rows, form=form, output=output, json=lambda: as_json({**about, "rows": rows}))


def _named(row: Mapping[str, str]) -> str:
    """Return a label as tables call it; averages say of what."""
    return f"{row['level']} {row['label']}" if row["label"] in ("macro", "micro") else row["label"]


def _with_interval(row: Mapping[str, float | None], metric: str) -> str:
    text = number_text(row[metric])
    low, high = row[f"{metric}_low"], row[f"{metric}_high"]
    return text if low is None else f"{text} [{number_text(low)}, {number_text(high)}]"


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
