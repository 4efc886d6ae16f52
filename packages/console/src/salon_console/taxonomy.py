"""``salon taxonomy``: show and check label trees."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import FORMAT, HELP, OUTPUT, format_option
from salon_console.output import as_json, deliver
from salon_console.table_files import Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree

    from salon_taxonomy.taxonomy import Taxonomy


@click.group(context_settings=HELP)
def taxonomy() -> None:
    """Label trees: what can be wrong with a picture, or what a prompt demands.

    NAME is a taxonomy that comes with Salon (see `salon taxonomy list`) or the path of a TOML file of your own.

    \b
    Example:
      salon taxonomy list
      salon taxonomy show magicmirror
      salon taxonomy validate my-labels.toml
    """


@taxonomy.command("list")
@OUTPUT
@FORMAT
def list_(form: str, output: Path | None) -> None:
    """List the taxonomies that come with Salon.

    \b
    Example:
      salon taxonomy list
      salon taxonomy list --format json
    """
    from salon_taxonomy.taxonomy import Taxonomy

    taxonomies = [Taxonomy.load(name) for name in Taxonomy.names()]
    values = [{"name": t.name, "title": t.title, "labels": len(t), "leaves": len(t.leaves())} for t in taxonomies]
    rows = [tuple(map(str, row.values())) for row in values]
    table = Table(("name", "title", "labels", "leaves"), rows, frozenset({"labels", "leaves"}))
    deliver(table, values, form=form, output=output, json=lambda: as_json(values))


@taxonomy.command()
@click.argument("name")
@format_option("tree", "markdown", "label-studio", "json", "json-schema", default="tree", help_="For people or programs.")
@click.option("--option", "options", multiple=True, metavar="LABEL", help="A label that the question offers; repeat, in order.")
@click.option("--output", type=OutputPath(), help="Write to this file instead of the screen.")
def show(name: str, form: str, options: tuple[str, ...], output: Path | None) -> None:
    """Show the labels of the taxonomy NAME as a tree, a page, a Label Studio configuration, or JSON.

    json-schema is that of one answer in the grammar of the taxonomy, for structured decoding. With --option (artifact-bench
    only) the answer is made of the letters of the options.

    \b
    Example:
      salon taxonomy show magicmirror
      salon taxonomy show magicmirror --format label-studio --output labels.xml
      salon taxonomy show r3 --format json
      salon taxonomy show artifact-bench --format json-schema --option "Oversmoothing" --option "Inconsistent Blur"
    """
    from salon_taxonomy.exports import export
    from salon_taxonomy.schema import answer_schema
    from salon_taxonomy.taxonomy import Taxonomy
    from salon_taxonomy.whole_files import write_whole

    taxonomy = Taxonomy.open(name)
    if options and form != "json-schema":
        raise click.UsageError("--option needs --format json-schema.")
    if form == "tree" and output is None:
        _show(_tree(taxonomy))
        return
    if form == "tree":
        raise click.UsageError("--output needs --format markdown, label-studio, json or json-schema.")
    if form == "json-schema":
        text = json.dumps(answer_schema(taxonomy, options), indent=2, ensure_ascii=False) + "\n"
    else:
        text = export(taxonomy, form)
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    click.echo(f"Wrote {output}", err=True)


@taxonomy.command()
@click.argument("file", type=InputPath())
def validate(file: Path) -> None:
    """Check a taxonomy FILE of your own and list every fault with its line and key.

    Exits 2 when there are faults.

    \b
    Example:
      salon taxonomy validate my-labels.toml
    """
    from salon_taxonomy.taxonomy import Taxonomy
    from salon_taxonomy.taxonomy_file import check_taxonomy

    faults = check_taxonomy(file)
    for fault in faults:
        click.echo(f"Error: {fault}", err=True)
    if faults:
        click.echo(f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'}", err=True)
        sys.exit(2)
    valid = Taxonomy.read(file)
    click.echo(f"{valid.name} is valid (labels: {len(valid)}, leaves: {len(valid.leaves())})")


def _show(*renderables: "RenderableType") -> None:
    """Print to standard output; never narrower than 100 columns where the output is no terminal."""
    from rich.console import Console

    console = Console(soft_wrap=False) if sys.stdout.isatty() else Console(width=160)
    console.print(*renderables, sep="\n")


def _tree(taxonomy: "Taxonomy") -> "Tree":
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text.assemble((taxonomy.title, "bold"), f"  {len(taxonomy)} labels, {len(taxonomy.leaves())} leaves"))
    branches: dict[str | None, Tree] = {None: tree}
    for label in taxonomy.walk():
        line = Text.assemble((label.name, "bold"), (f"  {label.id}", "cyan"))
        figures = [f"{key} {count:,}" for key, count in label.counts.items()]
        figures += [f"{key.replace('_', ' ')} {share}%" for key, share in label.shares.items()]
        if figures:
            line.append(f"  {', '.join(figures)}", "green")
        line.append(f"\n{label.definition}", "dim")
        branches[label.id] = branches[label.parent].add(line)
    return tree
