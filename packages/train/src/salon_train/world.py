"""``salon synthetic artifacts``: pictures with exact truth, drawn or damaged. Parse, one library call, print."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from salon_console.file_options import OutputPath
from salon_console.options import FiniteRange, resumable, several
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from salon_synthetic.artifacts.difficulty import Difficulty
    from salon_synthetic.artifacts.example_folder import PictureSource, Watch

_KNOBS: Final = ("smallness", "pose", "clutter", "palette", "camera", "light", "subtlety")
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same pictures.")
_SIZE = click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Pixels of a side.")
_COUNT = click.option("--count", type=click.IntRange(1), default=1000, show_default=True, help="How many pictures.")
_WORKERS = click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
_OUTPUT = click.option(
    "--output", required=True, type=OutputPath(dir_okay=True, file_okay=False), help="A new folder, or one to complete."
)
_LEVEL = click.option("--level", type=FiniteRange(0, 1), default=0.0, show_default=True, help="Difficulty, 0 to 1.")
_KNOB = click.option("--knob", "knobs", multiple=True, metavar="NAME=VALUE", help=f"One knob alone: {', '.join(_KNOBS)}.")
_BALANCE = click.option(
    "--balance",
    type=click.Choice(["table-5", "even", "core"]),
    default="table-5",
    show_default=True,
    help="How often each kind of artifact is drawn.",
)
_SHARE = click.option("--artifact-share", type=FiniteRange(0, 1), help="Share of pictures with artifacts.")


_drawing = several(_SEED, _SIZE, _LEVEL, _KNOB, _BALANCE, _SHARE)


@click.group()
def artifacts() -> None:
    """Drawn pictures with exact truth, to learn from.

    \b
    salon synthetic artifacts draw --output drawn --count 1000
    """


@artifacts.command()
@_OUTPUT
@_COUNT
@_WORKERS
@_drawing
@resumable
def draw(output: Path, count: int, workers: int, seed: int, **settings: Any) -> None:
    """Draw pictures of hands, faces, people, animals and things, half of them with artifacts.

    examples.jsonl holds rows in MagicData340K's schema; pictures/ the PNG files. A call that was stopped continues when it is
    repeated; a larger --count adds pictures. The files do not depend on --workers.

    \b
    Example:
      salon synthetic artifacts draw --output drawn
      salon synthetic artifacts draw --output hard --level 0.8 --size 128 --count 200 --workers 2
      salon synthetic artifacts draw --output even --balance even --knob subtlety=0.5 --count 200
    """
    source, described = _source(seed, **settings)
    _write(output, source, count, workers, described)


def _source(
    seed: int, size: int, level: float, knobs: tuple[str, ...], balance: str, artifact_share: float | None
) -> tuple["PictureSource", dict[str, Any]]:
    """Return what draws, and a description of it."""
    from salon_synthetic.artifacts.balance import BALANCES
    from salon_synthetic.artifacts.drawing import draw_examples

    difficulty = _difficulty(level, knobs)
    shares = BALANCES[balance]
    if artifact_share is not None:
        shares = replace(shares, artifact_share=artifact_share)
    described = {
        "source": "drawn",
        "seed": seed,
        "size": size,
        "difficulty": asdict(difficulty),
        "balance": balance,
        "artifact_share": shares.artifact_share,
    }
    return partial(draw_examples, seed=seed, size=size, difficulty=difficulty, balance=shares), described


def _difficulty(level: float, knobs: tuple[str, ...]) -> "Difficulty":
    from salon_synthetic.artifacts.difficulty import Difficulty

    changed: dict[str, float] = {}
    for knob in knobs:
        name, _, value = knob.partition("=")
        if name not in _KNOBS:
            raise InputError("unknown knob", source="--knob", value=name, allowed=_KNOBS)
        try:
            changed[name] = float(value)
        except ValueError:
            raise InputError(f"the value of {name} must be a number from 0 to 1", source="--knob", value=value) from None
    return replace(Difficulty.level(level), **changed)


def _write(output: Path, source: "PictureSource", count: int, workers: int, described: dict[str, Any]) -> None:
    """Write with a progress bar, and print what was written."""
    import PIL

    from salon_bench.suites.assessors import MagicDataRow, magicdata_rows
    from salon_synthetic.artifacts.example_folder import write_examples

    with _progress() as watch:
        described = {**described, "pillow": PIL.__version__}
        drawn = write_examples(output, source, count, settings=described, workers=workers, watch=watch)
    labels: Counter[str] = Counter()
    for row in magicdata_rows(output / "examples.jsonl"):
        if isinstance(row, MagicDataRow):
            labels.update(["normal"] if row.answer.normal else list(row.answer.labels))
    click.echo(f"{count} pictures, {drawn} of them drawn now: {output / 'examples.jsonl'}")
    for name, number in labels.most_common():
        click.echo(f"{number:>8}  {name}")


@contextmanager
def _progress() -> "Iterator[Watch]":
    """A bar on standard error, on a terminal only; it vanishes when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("pictures"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("pictures", total=None)

        def watch(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield watch
