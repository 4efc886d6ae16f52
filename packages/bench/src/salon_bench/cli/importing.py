"""``salon results import``: results of other tools as runs of a store."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import STORE
from salon_console.output import print_table
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.visible_text import visible

_NUMBERS = ("samples", "scored", "unscored", "replies", "pictures")


@click.command("import", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("logs", metavar="FILE|FOLDER...", nargs=-1, required=True, type=InputPath())
@STORE
def import_logs(logs: tuple[Path, ...], store: StoreAddress) -> None:
    """Import results of inspect_ai, lmms-eval or evalscope: scores, replies and pictures of every sample.

    Read are logs of inspect_ai (.eval, .json), sample files of lmms-eval (DATE_samples_TASK.jsonl) and reviews of evalscope
    (outputs/DATE/reviews/MODEL/DATASET.jsonl); of a folder, all that are below it. Each file becomes one run of the suite
    TOOL:TASK. Pictures inside a log are written beside the store, into STORE-pictures.

    \b
    Example:
      salon results import logs/ --store results
      salon results leaderboard inspect_ai:cats --store results
      salon view results
    """
    from salon_bench.imports.rows import import_log, log_files, read_log

    done = [import_log(read_log(path), store) for path in log_files(list(logs))]
    rows = [(each.run_id, each.suite, each.model, *(f"{getattr(each, name):,}" for name in _NUMBERS)) for each in done]
    print_table(("run", "suite", "model", *_NUMBERS), rows, right=frozenset(_NUMBERS))
    for run in done:
        for line in run.remarks:
            click.echo(visible(line), err=True)
