"""``salon curate init | import | release | demo``: a data set from its pictures to its release."""

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.numbers import counted
from salon_console.options import FORMAT, OUTPUT, FiniteRange
from salon_console.output import as_json, deliver, print_json
from salon_console.table_files import Table
from salon_curate.cli.options import DATASET, as_cell, open_dataset, open_pipeline


@click.command()
@click.argument("dataset", type=OutputPath(file_okay=False, dir_okay=True))
@click.option("--preset", metavar="NAME", help="Start from a paper's pipeline: flux-reason, r3-data or magicdata.")
@click.option("--judge", metavar="SPEC", help="The judge of every stage that names none: KIND:MODEL@URL or a TOML file.")
@FORMAT
def init(dataset: Path, preset: str | None, judge: str | None, form: str) -> None:
    """Create an empty data set with a pipeline.toml to edit.

    \b
    Example:
      salon curate init birds
      salon curate init reasons --preset flux-reason --judge vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000
    """
    from salon_curate.dataset import DataSet
    from salon_curate.files import publish_text
    from salon_curate.pipeline import LOOK, PIPELINE, judge_line
    from salon_curate.presets import preset_text

    text = judge_line(judge) + (LOOK if preset is None else preset_text(preset))
    DataSet.create(dataset)
    publish_text(dataset / PIPELINE, text)
    if form == "json":
        print_json({"folder": str(dataset), "pipeline": str(dataset / PIPELINE)})
        return
    click.echo(f"{dataset}: an empty data set. Edit {dataset / PIPELINE}, then: salon curate import {dataset} SOURCE")


@click.command("import")
@DATASET
@click.argument("source", type=InputPath())
@click.option("--pictures", type=InputPath(file_okay=False), help="The folder that the names in a table refer to.")
@click.option(
    "--layout",
    type=click.Choice(["any", "r3", "magicdata", "artifact-bench", "cuts"]),
    default="any",
    show_default=True,
    help="Whose columns the table has. artifact-bench: every video that its questions name. cuts: SOURCE is a data set whose "
    "stage cut has cut its videos; every clip is a row.",
)
@click.option("--key", metavar="COLUMN", help="The column of the pictures' keys.")
@click.option("--image", metavar="COLUMN", help="The column of the pictures' bytes or names.")
@click.option("--prompt", metavar="COLUMN", help="The column of the prompts or captions.")
@click.option("--edited", metavar="COLUMN", help="The column of the pictures that were edited, where the pictures are edits.")
@click.option("--licence", default="unknown", show_default=True, help="Of the pictures; written on the data set card.")
@click.option(
    "--shard-rows", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Pictures in a shard at most."
)
@FORMAT
def import_(
    dataset: Path,
    source: Path,
    pictures: Path | None,
    layout: str,
    key: str | None,
    image: str | None,
    prompt: str | None,
    edited: str | None,
    licence: str,
    shard_rows: int,
    form: str,
) -> None:
    """Add pictures or videos: a folder, a table with names or bytes (CSV, JSON Lines, Parquet, Arrow), or a webdataset archive.

    A file that cannot be read becomes a row with a problem; a table or key that is wrong is refused, and nothing changes.
    Of a source that has grown only what is new is added.

    \b
    Example:
      salon curate import birds pictures/
      salon curate import birds clips/
      salon curate import birds rows.jsonl --layout r3
      salon curate import shots films --layout cuts
      salon curate import edits triples.csv --edited source --prompt instruction --image result
      salon curate import birds shard-0001.tar --licence CC-BY-4.0
    """
    from salon_curate.importing import Columns, import_pictures

    opened = open_dataset(dataset)
    imported = import_pictures(
        opened, source, pictures=pictures, layout=layout, columns=Columns(key, image, prompt, edited), licence=licence,
        shard_rows=shard_rows,
    )  # fmt: skip
    if form == "json":
        print_json({"pictures": imported.rows, "source": imported.name, "kind": imported.kind, "problems": imported.problems,
                    "unchanged": imported.unchanged,
                    "left_out": list(imported.left_out), "all_pictures": opened.rows,
                    "shards": len(opened.shards)})  # fmt: skip
        return
    there = f"{imported.unchanged:,} were there already; " if imported.unchanged else ""
    click.echo(
        f"{counted(imported.rows, 'picture')} from {imported.name} ({imported.kind}), {imported.problems:,} with a problem; "
        f"{there}{opened.rows:,} in {counted(len(opened.shards), 'shard')}"
    )
    if imported.left_out:
        names = ", ".join(map(repr, imported.left_out[:5]))
        why = "of which there are no clips" if imported.kind == "cuts" else "whose name cannot be a key"
        click.echo(f"{counted(len(imported.left_out), 'file')} left out, {why}: {names}", err=True)


@click.command()
@DATASET
@click.option("--selection", required=True, metavar="NAME", help="The saved selection to release.")
@click.option("--name", "version", required=True, metavar="VERSION", help="Of the release: v1.")
@click.option("--column", "columns", multiple=True, help="A stage's column to release; may be repeated.")
@click.option("--audit", "audit_name", metavar="NAME", help="The audit for the card; of the same conditions.")
@click.option("--min-precision", type=FiniteRange(0, 1), help="Refuse below this lower bound of the audit's precision.")
@click.option("--split", metavar="COLUMN", help="The column of the splits (stage `split`). Default: all is train.")
@click.option(
    "--to",
    type=click.Choice(["datasets", "webdataset"]),
    default="datasets",
    show_default=True,
    help="Parquet as datasets reads it, or webdataset archives.",
)
@FORMAT
def release(
    dataset: Path,
    selection: str,
    version: str,
    columns: tuple[str, ...],
    audit_name: str | None,
    min_precision: float | None,
    split: str | None,
    to: str,
    form: str,
) -> None:
    """Write the kept pictures with a card, a manifest of every file, its Merkle root, and Croissant metadata.

    \b
    Example:
      salon curate release birds --selection v1 --name v1 --audit first --min-precision 0.9 --split split
    """
    from salon_curate.release import release as write

    opened = open_dataset(dataset)
    released = write(
        opened, open_pipeline(dataset).stages, selection, version, columns=columns, audit=audit_name,
        min_precision=min_precision, split=split, form="webdataset" if to == "webdataset" else "datasets",
    )  # fmt: skip
    if form == "json":
        print_json(asdict(released))
        return
    counts = ", ".join(f"{name} {count:,}" for name, count in released.pictures.items())
    click.echo(f"{released.folder}: {counts}; Merkle root {released.merkle_root}")


@click.command()
@click.argument("folder", type=OutputPath(file_okay=False, dir_okay=True))
@click.option("--per-category", type=click.IntRange(1), default=40, show_default=True, help="Pictures of each kind of prompts.")
@OUTPUT
@FORMAT
def demo(folder: Path, per_category: int, output: Path | None, form: str) -> None:
    """Build a data set of drawn pictures from prompts to a release, offline, and measure each stage against the truth.

    \b
    Example:
      salon curate demo curated
    """
    from salon_curate.demo import demo as build

    built = build(folder, per_category=per_category)
    rows = [(each.condition, *map(as_cell, (each.kept, each.precision, each.recall))) for each in built.worth]
    precision = built.audit.precision
    deliver(
        Table(("conditions up to", "kept", "precision", "recall"), rows),
        [asdict(each) for each in built.worth],
        form=form,
        output=output,
        further=[
            f"audit by two simulated raters: precision {as_cell(precision.value)}, "
            f"95% interval {as_cell(precision.low)} to {as_cell(precision.high)}",
            f"the cheap judge loses at most {built.loss.upper:.3f} of what it drops (95%, {built.loss.explored} explored)",
            f"released: {built.release.folder}, {sum(built.release.pictures.values())} pictures; page: {built.page}",
        ],
        json=lambda: as_json(asdict(built)),
    )
