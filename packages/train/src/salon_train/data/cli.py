"""``salon train data``: check and count annotated pictures, and turn them into what TRL trains on."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import FORMAT, Decorator, output_option, several
from salon_console.output import as_json, deliver, print_json, print_parts
from salon_console.table_files import Table
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from salon_train.data.lengths import TokenLengths
    from salon_train.data.reading import ReadExamples

_PICTURES_HELP = "Folder that the paths in the files start from; default: each file's own."
_STRICT_HELP = "Exit with 1 when a row cannot be used; convert then writes nothing."


def _reads(look: str, look_help: str = "How closely at the pictures.") -> Decorator:
    """Return a decorator that adds the files and how they are read, for :func:`_read`, and --strict."""
    return several(
        click.argument("files", type=InputPath(dir_okay=False), nargs=-1, required=True, metavar="FILE..."),
        click.option("--pictures", type=InputPath(file_okay=False), help=_PICTURES_HELP),
        click.option(
            "--split", type=click.Choice(["train", "test", "cot"]), help="Which part; default: what rows or names say."
        ),
        click.option("--look", type=click.Choice(["not", "exists", "opens"]), default=look, show_default=True, help=look_help),
        click.option(
            "--most-unusable",
            "most",
            type=click.IntRange(min=0),
            default=1000,
            show_default=True,
            help="With more, reading stops with an error.",
        ),
        click.option("--strict", is_flag=True, help=_STRICT_HELP),
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def data() -> None:
    """Annotated pictures in MagicData340K's schema: check and count them, convert them for SFT and GRPO.

    \b
    salon train data check train.jsonl --pictures pictures/
    salon train data convert train.jsonl --for grpo --output grpo-data/
    """


@data.command()
@_reads("opens", "How closely: pictures need not exist, exist, or open whole.")
@click.option("--ratio", default="4:1:1:1:1", show_default=True, help="Of normal and the four main L2 labels in training.")
@output_option(what="Also write the table of labels to this file")
@FORMAT
@click.pass_context
def check(context: click.Context, /, ratio: str, strict: bool, output: Path | None, form: str, **reading: Any) -> None:
    """Check every row of FILE... and its picture, say which cannot be used and why, and count buckets and labels.

    A row needs a picture (column images) and labels (column response: JSON, or a whole reply with its box). The same picture
    twice is used once; with two truths it is not used at all. Labels are shown beside the paper's (Table 5). drawn is the
    share that multi-bucket sampling draws from a bucket, passes how often each of its pictures comes up while as many are
    drawn as there are.

    \b
    salon train data check train.jsonl --pictures pictures/
    salon train data check train.jsonl cot.jsonl --look exists --strict --format json
    salon train data check magic_mirror_data_train.jsonl magic_mirror_data_test.jsonl --look not
    """
    from salon_train.data.counts import count
    from salon_train.sampling.ratio import Ratio

    parts = Ratio.parsed(ratio)
    read = _read(**reading)
    counts = count(read.rows, ratio=parts)
    about = {
        name: getattr(counts, name) for name in ("hard_positives", "reasoned", "several_buckets", "artifacts_without_label")
    }
    document = {
        "usable": len(read.rows),
        "unusable": dict(read.unusable),
        "shared": [{"splits": list(pair), "pictures": number} for pair, number in read.shared.items()],
        "first_unusable": [
            {**asdict(row), "source": str(row.source), "value": _json_value(row.value)} for row in read.first_unusable
        ],
        "labels": counts.labels.to_dicts(),
        "buckets": counts.buckets.to_dicts(),
        **about,
    }
    parts_shown = [f"{len(read.rows):,} rows can be used, {read.unusable.total():,} cannot."]
    parts_shown += [f"{number:,} pictures are in both {pair[0]} and {pair[1]}." for pair, number in sorted(read.shared.items())]
    labels = _table(counts.labels, {"share": "% of artifacts"})
    buckets = _table(counts.buckets, {"share": "share %", "drawn": "drawn %"})
    sentence = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in about.items())
    show = partial(print_parts, *parts_shown, buckets, "", labels, sentence)
    deliver(labels, counts.labels, form=form, output=output, show=show, json=lambda: as_json(document))
    if form == "table":
        _print_unusable(read)
    _leave(context, read, strict)


@data.command()
@_reads("opens")
@click.option("--for", "stage", type=click.Choice(["sft", "grpo"]), required=True, help="Which trainer.")
@click.option("--output", type=OutputPath(dir_okay=True), required=True, help="Folder of the data set; must not exist yet.")
@click.option("--wording", default="full", show_default=True, help="Of the question: full, short, bare, or your own text.")
@click.option("--reasoning/--no-reasoning", default=True, help="SFT: write the reasoning into the answer, or the box alone.")
@click.option("--only-reasoned", is_flag=True, help="SFT: leave out rows without reasoning.")
@click.option("--longest-side", type=click.IntRange(min=1), help="Make larger pictures smaller and keep them in the data set.")
@click.option("--processor", help="Name or folder of the model whose tokens are counted; nothing is downloaded.")
@click.option("--most-tokens", type=click.IntRange(min=1), help="Count prompts that are longer; with --strict, write nothing.")
@FORMAT
@click.pass_context
def convert(
    context: click.Context,
    /,
    stage: str,
    output: Path,
    wording: str,
    reasoning: bool,
    only_reasoned: bool,
    longest_side: int | None,
    processor: str | None,
    most_tokens: int | None,
    strict: bool,
    form: str,
    **reading: Any,
) -> None:
    """Write FILE... as a data set of chat messages with images, for TRL's trainers.

    Read it again with datasets.load_from_disk. SFT: prompt, completion, images. GRPO: prompt, images, truth. Both also have
    example_id, bucket, buckets and hard_positive.

    \b
    salon train data convert cot.jsonl --for sft --only-reasoned --output sft-data/
    salon train data convert train.jsonl --for grpo --wording short --longest-side 512 --output grpo-data/
    """
    from salon_train.data.conversion import folder_beside, grpo_dataset, sft_dataset

    if output.exists():
        raise InputError("is there already", source=output, hint="Name another folder, or remove this one.")
    if most_tokens is not None and processor is None:
        raise click.UsageError("--most-tokens needs --processor, whose tokens are counted.")
    read = _read(**reading)
    with folder_beside(output) as folder, _bars():
        options: dict[str, Any] = {"wording": wording, "longest_side": longest_side, "folder": folder / "rows"}
        if stage == "sft":
            dataset = sft_dataset(read.examples, reasoning=reasoning, only_reasoned=only_reasoned, **options)
        else:
            dataset = grpo_dataset(read.examples, **options)
        lengths = None if processor is None else _lengths(dataset, processor, most_tokens)
        refused = strict and (bool(read.unusable) or (lengths is not None and lengths.over > 0))
        if not refused:
            dataset.save_to_disk(str(folder / "whole"))
            (folder / "whole").rename(output)
    about: dict[str, object] = {"rows": len(dataset), "columns": dataset.column_names, "unusable": dict(read.unusable)}
    if form == "json":
        tokens = None if lengths is None else asdict(lengths)
        print_json({**about, "output": None if refused else str(output), "tokens": tokens})
    else:
        click.echo(f"{len(dataset):,} rows for {stage}: {', '.join(dataset.column_names)}")
        if lengths is not None:
            click.echo(_token_line(lengths))
        click.echo("nothing was written" if refused else str(output))
        _print_unusable(read)
    if refused:
        context.exit(1)


def _read(files: Sequence[Path], pictures: Path | None, split: str | None, look: str, most: int) -> "ReadExamples":
    from salon_train.data.pictures import Look
    from salon_train.data.reading import read_examples

    with _progress() as watch:
        return read_examples(files, pictures, split=split, look=Look(look), most_unusable=most, watch=watch)


@contextmanager
def _bars() -> Iterator[None]:
    """Show the library's own bars on a terminal."""
    import datasets

    quiet = not sys.stderr.isatty() and not datasets.are_progress_bars_disabled()
    if quiet:
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        if quiet:
            datasets.enable_progress_bars()


def _lengths(dataset: Any, name: str, limit: int | None) -> "TokenLengths":
    from transformers import AutoProcessor

    from salon_train.data.lengths import token_lengths

    try:
        processor = AutoProcessor.from_pretrained(name, local_files_only=True, trust_remote_code=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be loaded from this machine ({reason}):", column="processor", value=name) from error
    return token_lengths(dataset, processor, limit=limit)


def _token_line(lengths: "TokenLengths") -> str:
    line = f"tokens: {lengths.mean:.1f} on average, {lengths.longest:,} at most ({lengths.longest_row})"
    return line if lengths.limit is None else f"{line}; {lengths.over:,} rows have more than {lengths.limit:,}"


def _leave(context: click.Context, read: "ReadExamples", strict: bool) -> None:
    if strict and read.unusable:
        context.exit(1)


def _print_unusable(read: "ReadExamples") -> None:
    if not read.unusable:
        return
    counts = ", ".join(f"{count:,} {fault.value}" for fault, count in read.unusable.items())
    click.echo(f"Rows that cannot be used: {read.unusable.total():,} ({counts}). The first:", err=True)
    for row in read.first_unusable:
        click.echo(f"  {row}", err=True)
    if any(row.column == "response" for row in read.first_unusable):
        click.echo("Labels and their spelling: salon taxonomy show magicmirror", err=True)


def _json_value(value: object) -> object:
    """Return a cell as JSON can carry it, short."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 500 else f"{text[:499]}…"


def _table(frame: "pl.DataFrame", titles: dict[str, str]) -> Table:
    columns = tuple(titles.get(name, name.replace("published_", "paper ")) for name in frame.columns)
    return Table(columns, [[_cell(value) for value in row] for row in frame.iter_rows()], frozenset(columns[1:]))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Count rows on standard error, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.completed:,} rows"),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("reading", total=None)
        yield lambda rows: bar.update(task, completed=rows) if rows % 64 == 0 else None
