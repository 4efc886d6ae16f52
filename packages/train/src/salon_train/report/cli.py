"""``salon train report``: parse, read the runs, write a page or print JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath

if TYPE_CHECKING:
    from salon_train.report.folders import ReportedRun


@click.command("report")
@click.argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=InputPath())
@click.option(
    "--output",
    type=OutputPath(),
    help="Write here. A page of one run without it: FOLDER/report.html; JSON without it: to the screen.",
)
@click.option("--format", "form", type=click.Choice(["html", "json"]), default=None, help="Default: by --output, or html.")
def report(folders: tuple[Path, ...], output: Path | None, form: str | None) -> None:
    """Write one self-contained page about a training run: how it went, its curves, its monitors, what the policy wrote.

    FOLDER is the run's (run.folder of its configuration), or one stage's in it. Several runs stand side by side, in the same
    charts. Also for a run that is still going: the page shows what is logged so far. It fetches nothing and runs no script.

    \b
    Example:
      salon train report run
      salon train report run another-run --output compared.html
      salon train report run --format json
    """
    from salon_train.report.folders import read_runs

    chosen = _form(form, output)
    if chosen == "html" and output is None and len(folders) > 1:
        raise click.UsageError("a page of several runs needs --output page.html")
    runs = read_runs(folders)
    if chosen == "json":
        from salon_train.report.summary import summary

        text = json.dumps(summary(runs), indent=2, ensure_ascii=False, allow_nan=False)
        if output is None:
            click.echo(text.encode("utf-8", "replace").decode())
        else:
            _write(f"{text}\n", output)
        return
    check_page_libraries()
    from salon_train.report.page import training_page

    page = training_page(runs)
    path = output or folders[0] / "report.html"
    _write(page, path)
    _say(runs)
    click.echo(f"page: {path}")


def _form(form: str | None, output: Path | None) -> str:
    """Return the form that was asked for, or the one that the file's ending says, or a page."""
    if form is not None:
        return form
    suffix = "html" if output is None else output.suffix.lower().lstrip(".")
    if suffix not in ("html", "json"):
        raise click.UsageError(f"--output {output}: say --format, or end the name with .html or .json")
    return suffix


def check_page_libraries() -> None:
    """Exit with what to install where a page cannot be made."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("salon_ranking", "jinja2")):
        raise click.ClickException("the page needs more libraries: uv pip install './packages/train[report]'")


def _write(text: str, path: Path) -> None:
    from salon_taxonomy.whole_files import write_whole

    write_whole(path, text, flushed=True)


def _say(runs: "Sequence[ReportedRun]") -> None:
    from salon_bench.report.gallery import plain

    for run in runs:
        for stage, of in run.stages.items():
            click.echo(f"{plain(run.name)} {stage}: {plain(of.history.sentence)}")
