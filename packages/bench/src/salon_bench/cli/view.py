"""``salon view``: serve the pages of a store to this machine."""

import asyncio
import os
import sys
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path

import rich_click as click

from salon_console.file_options import OutputPath, StorePath
from salon_console.numbers import counted
from salon_console.row_view import VIEWS, RowView
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress, is_url


def rows_of(folder: StoreAddress) -> RowView | None:
    """Return the rows of a folder that another package made; None for a store.

    Raises:
        InputError: the folder is neither, and a folder in it is; names that one.
    """
    from salon_store.metadata import is_store

    if is_url(folder) or not Path(folder).is_dir() or is_store(folder):
        return None
    view = _made_elsewhere(Path(folder))
    inner = [] if view else sorted(each for each in Path(folder).iterdir() if each.is_dir())
    for subfolder in inner:
        if is_store(str(subfolder)) or _made_elsewhere(subfolder):
            raise InputError("has nothing to show itself", source=folder, hint=f"A folder in it has: salon view {subfolder}")
    return view


def _made_elsewhere(folder: Path) -> RowView | None:
    views = (entry.load()(folder.resolve()) for entry in entry_points(group=VIEWS))
    return next((view for view in views if view is not None), None)


@click.command("view", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("store", metavar="[STORE|FOLDER]", type=StorePath(), default="results")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0 takes a free one.")
@click.option("--open/--no-open", "open_", default=True, show_default=True, help="Open the page in the browser.")
@click.option(
    "--export", "folder", type=OutputPath(file_okay=False, dir_okay=True), help="Write static files instead of serving."
)
@click.option(
    "--page", default="", metavar="ADDRESS", help="With --export: the page to begin with, as the browser shows its address."
)
def view(store: StoreAddress, port: int, open_: bool, folder: Path | None, page: str) -> None:
    """Look at a store in the browser: runs while they go on, pictures with verdicts and replies, leaderboards.

    A FOLDER of another kind is shown by the package that made it: a data set of `salon curate` with why a picture was dropped,
    a stage of `salon train` with what its policy made, step by step.
    Filters: model, category, question, verdict, why it is missing, label, disagreement of judges, words of the prompt, and
    any condition in SQL. Runs can be seen side by side. An address holds everything that is chosen.
    Only this machine can open the page, and only with the token in its address. It changes nothing; Ctrl-C ends it.

    \b
    Example:
      salon view results
      salon view s3://bucket/results --port 0 --no-open
      salon view results --export chosen/ --page "run?run=RUN&question=text&verdict=0"
    """
    from salon_bench.viewer.app import Viewer
    from salon_bench.viewer.export import export
    from salon_bench.viewer.small_copies import SmallCopies
    from salon_bench.viewer.store_tables import StoreTables

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    viewer = Viewer(rows_of(store) or StoreTables(store), SmallCopies(cache / "salon" / "pictures"))
    if folder is not None:
        done = export(viewer.pages(), viewer.small_picture, page, folder)
        click.echo(f"{counted(done.pages, 'page')} and {counted(done.pictures, 'picture')}: {done.index}")
        return
    if page:
        raise InputError("has no effect without --export", source="--page", value=page)

    async def serve() -> None:
        async with viewer.served(port) as address:
            click.echo(address)
            if open_ and (sys.platform != "linux" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
                click.launch(address)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())
    click.echo("Stopped.", err=True)
