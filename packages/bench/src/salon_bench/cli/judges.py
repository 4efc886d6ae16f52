"""``salon bench cache`` and ``salon bench batch``: a folder of replies, and runs through a vendor's batch files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, STORE
from salon_console.output import print_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_judges.clients.batch_folder import Ingested

_HELP = {"help_option_names": ["-h", "--help"]}
_MILLION = 1_000_000
_FOLDER = click.argument("folder", type=InputPath(file_okay=False))


@click.command(context_settings=_HELP)
@_FOLDER
@click.option("--most-mb", type=click.IntRange(min=0), help="Delete until so many millions of bytes are left.")
@FORMAT
def cache(folder: Path, most_mb: int | None, form: str) -> None:
    """Count the replies that `--judge cache:FOLDER=JUDGE` keeps in FOLDER, or delete those used longest ago.

    \b
    Example:
      salon bench run prism --model ours --generations a/ --judge cache:replies=vllm:qwen2.5-vl@localhost:8000
      salon bench cache replies
      salon bench cache replies --most-mb 500
    """
    from salon_judges.clients.cache import ResponseCache

    opened = ResponseCache(folder)
    size = opened.size() if most_mb is None else opened.prune(most_mb * _MILLION)
    if form == "json":
        print_json({"entries" if most_mb is None else "deleted": size.entries, "bytes": size.size_bytes})
    else:
        click.echo(f"{size.entries} replies{'' if most_mb is None else ' deleted'}, {size.size_bytes / _MILLION:.1f} MB")


@click.group(context_settings=_HELP)
def batch() -> None:
    """Ask through a vendor's batch files: write the questions, submit them elsewhere, and read the replies.

    \b
    Example:
      salon bench run prism --model ours --generations a/ --judge batch:calls=openai:gpt-4o
      (submit calls/requests-001.jsonl, fetch what comes back)
      salon bench batch ingest calls output.jsonl errors.jsonl
      salon bench resume RUN
    """


@batch.command("write")
@click.argument("run_id", metavar="RUN")
@click.option("--folder", required=True, type=InputPath(file_okay=False, made=True), help="Where request files go.")
@STORE
@FORMAT
def write(run_id: str, folder: Path, store: StoreAddress, form: str) -> None:
    """Continue a RUN through batch files: read the replies in FOLDER, write the questions that are still open.

    For runs that were begun with a judge behind a server; nothing is sent to it. Call it again after each `ingest`, until
    nothing is left to be asked.

    \b
    Example:
      salon bench batch write prism-ours-gpt-4o-1a2b3c4d --folder calls
    """
    import asyncio

    from salon_bench.runs.checkpoint import fold_apart
    from salon_bench.runs.open_questions import write_open_questions

    done = asyncio.run(write_open_questions(run_id, store, folder, fold=fold_apart))
    if form == "json":
        print_json({"run_id": run_id, "complete": done.complete, "open": done.open, "files": list(map(str, done.files))})
        return
    for path in done.files:
        click.echo(path)
    remark = "Every case is judged." if done.complete else f"{done.open} cases wait for replies."
    click.echo(remark, err=True)


@batch.command("ingest")
@_FOLDER
@click.argument("files", nargs=-1, required=True, type=InputPath(dir_okay=False))
@FORMAT
def ingest(folder: Path, files: tuple[Path, ...], form: str) -> None:
    """Add a vendor's output and error files to FOLDER, in any order; repeated replies are left out.

    Exits with 2 when not a single line is about a request of FOLDER.

    \b
    Example:
      salon bench batch ingest calls batch_abc_output.jsonl batch_abc_errors.jsonl
    """
    from salon_judges.clients.batch_folder import BatchFolder

    opened = BatchFolder(folder, create=False)
    try:
        ingested = opened.ingest(files)
    finally:
        opened.close()
    _show(ingested, form)
    if not ingested.replies + ingested.failures + ingested.repeated:
        raise InputError("no line of these files is about a request of this folder", source=folder, value=list(map(str, files)))


def _show(ingested: "Ingested", form: str) -> None:
    counted: dict[str, Any] = {name: getattr(ingested, name) for name in type(ingested).__slots__}
    if form == "json":
        print_json(counted)
        return
    left_out = f"{ingested.repeated} repeated, {ingested.unknown} unknown, {ingested.malformed} malformed"
    click.echo(
        f"{ingested.replies} replies, {ingested.failures} failures; {ingested.waiting} requests wait. Left out: {left_out}."
    )
    for problem in ingested.problems:
        click.echo(problem, err=True)
