"""``salon results space``, ``card``, ``push`` and ``log``: pages and tables on the Hugging Face hub, runs in trackers.

Each parses, makes one library call and prints.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import STORE
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from salon_console.hub_publishing import RepoType

_HELP = {"help_option_names": ["-h", "--help"]}
_FOLDER = click.argument("folder", metavar="FOLDER", type=InputPath(file_okay=False))
_TITLE = click.option("--title", required=True, metavar="TEXT", help="The name that readers see.")
_ABOUT = click.option("--about", default="", metavar="TEXT", help="One paragraph: where this comes from.")


@click.command("space", context_settings=_HELP)
@click.argument("page", metavar="PAGE", type=InputPath())
@click.argument("files", metavar="[FILE...]", type=InputPath(), nargs=-1)
@click.option(
    "--output",
    metavar="FOLDER",
    required=True,
    type=OutputPath(file_okay=False, dir_okay=True),
    help="The folder to write; its files of the same names are replaced.",
)
@_TITLE
@_ABOUT
def space(page: Path, files: tuple[Path, ...], output: Path, title: str, about: str) -> None:
    """Make the folder of a static Hugging Face Space from a PAGE that a command wrote with --output page.html.

    PAGE becomes index.html; each FILE, such as the same board as .csv, is copied beside it. README.md has the settings of the
    Space. Nothing is sent: `salon results push` does that.

    \b
    Example:
      salon votes rank votes.csv --output board.html
      salon results space board.html votes.csv --output space --title "Votes of June"
      salon results push space OWNER/NAME --type space
    """
    from salon_console.hub_publishing import space_readme
    from salon_taxonomy.whole_files import write_whole

    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError("a Space needs a page:", source=page, value=page.suffix, allowed=(".html",))
    names = ["index.html", "README.md", *(path.name for path in files)]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InputError("two files of the Space have one name:", source=output, value=twice, hint="Rename one of them.")
    contents = [_read(path) for path in (page, *files)]
    texts = [contents[0], space_readme(title, about).encode("utf-8", "replace"), *contents[1:]]
    for name, content in zip(names, texts, strict=True):
        write_whole(output / name, content, parents=True)
    click.echo(f"Wrote {', '.join(visible(name) for name in names)} to {output}", err=True)


@click.command("card", context_settings=_HELP)
@_FOLDER
@_TITLE
@_ABOUT
@click.option("--license", "license_", metavar="NAME", help="As the hub spells it: cc-by-4.0, mit, other.")
def card(folder: Path, title: str, about: str, license_: str | None) -> None:
    """Write the data set card of a FOLDER of tables (.csv, .jsonl, .parquet): README.md, which is replaced.

    The card has what the hub reads (a configuration for each table, size, license), and rows, columns with their types and the
    SHA-256 of every table.

    \b
    Example:
      mkdir published && salon results export RUN --output published/scores.parquet
      salon results card published --title "Scores of June" --license cc-by-4.0
      salon results push published OWNER/NAME
    """
    from salon_console.hub_publishing import card as card_text
    from salon_console.hub_publishing import card_tables
    from salon_console.numbers import counted
    from salon_taxonomy.whole_files import write_whole

    tables = card_tables(folder)
    write_whole(folder / "README.md", card_text(tables, title=title, license_=license_, about=about))
    click.echo(f"Wrote {folder / 'README.md'} about {counted(len(tables), 'table')}", err=True)


@click.command("push", context_settings=_HELP)
@_FOLDER
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["dataset", "space", "model"]),
    default="dataset",
    show_default=True,
    help="What the repository is.",
)
@click.option("--private", is_flag=True, help="Make the repository private, if it is made now.")
@click.option("--message", default="Results by Salon", show_default=True, help="Of the commit.")
@click.option("--dry-run", is_flag=True, help="List the files, and send nothing.")
def push(folder: Path, repository: str, kind: "RepoType", private: bool, message: str, dry_run: bool) -> None:
    """Upload the files of a FOLDER to OWNER/NAME on the Hugging Face hub, in one commit.

    The repository is made if needed. Hidden files are left out. The token is that of HF_TOKEN, or of `hf auth login`;
    HF_ENDPOINT names another hub.

    \b
    Example:
      salon results push published OWNER/NAME --dry-run
      salon results push published OWNER/NAME --private
      salon results push space OWNER/NAME --type space
    """
    from salon_console.hub_publishing import files_to_push
    from salon_console.hub_publishing import push as pushed

    if dry_run:
        for path in files_to_push(folder):
            click.echo(f"{path.stat().st_size:>14,} bytes  {visible(path.relative_to(folder).as_posix())}")
        return
    token, endpoint = os.environ.get("HF_TOKEN"), os.environ.get("HF_ENDPOINT")
    address = pushed(folder, repository, kind, private=private, message=message, token=token, endpoint=endpoint)
    click.echo(f"Pushed to {visible(address)}", err=True)


@click.command("log", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option(
    "--to",
    "tracker",
    type=click.Choice(["tensorboard", "mlflow", "wandb"]),
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
    """Log the suites' numbers of RUNs, with their intervals, as files of TensorBoard, MLflow or Weights & Biases.

    Nothing is sent: `wandb sync` uploads what is written for Weights & Biases.

    \b
    Example:
      salon results log RUN_A RUN_B --to tensorboard --folder events
      salon results log RUN_A --to mlflow --folder tracking --project image-models
      salon results log RUN_A --to wandb --folder tracking
    """
    from salon_bench.analysis.trackers import TRACKERS, tracked_runs

    runs = tracked_runs(store, run_ids)
    if tracker == "mlflow":
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # else MLflow 3 wants a database
    TRACKERS[tracker](runs, folder, project)
    look = {
        "tensorboard": f"tensorboard --logdir {folder}",
        "mlflow": f"MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {folder / 'mlruns'}",
        "wandb": f"wandb sync {folder / 'wandb'}/offline-run-*",
    }
    click.echo(f"Logged {len(runs)} to {folder}. Look: {visible(look[tracker])}", err=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=path) from error
