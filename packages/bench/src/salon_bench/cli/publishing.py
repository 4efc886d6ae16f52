"""``salon results card`` and ``log``: cards for the Hugging Face hub, runs in trackers. Parse, one library call, print."""

import os
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import STORE
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.visible_text import visible

_HELP = {"help_option_names": ["-h", "--help"]}
_FOLDER = click.argument("folder", metavar="FOLDER", type=InputPath(file_okay=False))
_TITLE = click.option("--title", required=True, metavar="TEXT", help="The name that readers see.")
_ABOUT = click.option("--about", default="", metavar="TEXT", help="One paragraph: where this comes from.")


@click.command("card", context_settings=_HELP)
@_FOLDER
@_TITLE
@_ABOUT
@click.option("--license", "license_", metavar="NAME", help="As the hub spells it: cc-by-4.0, mit, other.")
def card(folder: Path, title: str, about: str, license_: str | None) -> None:
    """Write the README.md of a FOLDER for the Hugging Face hub.

    It is a Space's where the FOLDER has an index.html (a page that a command wrote with --output), and the card of a data set
    otherwise: what the hub reads (a configuration for each table, size, license), and rows, columns with their types and the
    SHA-256 of every table (.csv, .jsonl, .parquet). README.md is replaced. Nothing is sent: the hub's own command `hf upload`
    does that.

    \b
    Example:
      mkdir published && salon results export RUN --output published/scores.parquet
      salon results card published --title "Scores of June" --license cc-by-4.0
      hf upload OWNER/NAME published --repo-type dataset
      mkdir space && salon votes rank votes.csv --output space/index.html
      salon results card space --title "Votes of June" && hf upload OWNER/NAME space --repo-type space
    """
    from salon_console.hub_publishing import card as card_text
    from salon_console.hub_publishing import card_tables, space_readme
    from salon_console.numbers import counted
    from salon_taxonomy.whole_files import write_whole

    if (folder / "index.html").is_file():
        text, about_what = space_readme(title, about, license_), "a Space"
    else:
        tables = card_tables(folder)
        for table in tables:
            for column, path in table.paths.items():
                words = f"Warning: {table.name}, column {column!r}: has paths of this machine, such as {path!r}."
                click.echo(f"{visible(words)} Leave the column out before you send it.", err=True)
        text, about_what = card_text(tables, title=title, license_=license_, about=about), counted(len(tables), "table")
    write_whole(folder / "README.md", text.encode("utf-8", "replace"))
    click.echo(f"Wrote {folder / 'README.md'} about {about_what}", err=True)


@click.command("log", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option(
    "--to",
    "tracker",
    type=click.Choice(["mlflow", "wandb"]),
    required=True,
    help="Whose files are written; each needs a package of its own, which an error names.",
)
@click.option(
    "--folder",
    metavar="FOLDER",
    required=True,
    type=InputPath(file_okay=False, made=True),
    help="That the tracker reads; runs that are there stay.",
)
@click.option("--project", default="salon", show_default=True, help="The project, or experiment.")
def log(run_ids: tuple[str, ...], store: StoreAddress, tracker: str, folder: Path, project: str) -> None:
    """Log the suites' numbers of RUNs, with their intervals, as files of MLflow or Weights & Biases.

    Nothing is sent: `wandb sync` uploads what is written for Weights & Biases.

    \b
    Example:
      salon results log RUN_A --to mlflow --folder tracking --project image-models
      salon results log RUN_A --to wandb --folder tracking
    """
    from salon_bench.analysis.trackers import TRACKERS, tracked_runs

    runs = tracked_runs(store, run_ids)
    if tracker == "mlflow":
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # else MLflow 3 wants a database
    TRACKERS[tracker](runs, folder, project)
    look = {
        "mlflow": f"MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {folder / 'mlruns'}",
        "wandb": f"wandb sync {folder / 'wandb'}/offline-run-*",
    }
    click.echo(f"Logged {len(runs)} to {folder}. Look: {visible(look[tracker])}", err=True)
