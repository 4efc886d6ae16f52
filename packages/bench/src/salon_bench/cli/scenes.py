"""``salon synthetic scenes``: draw a benchmark with exact truth, and measure a judge on it. Parse, one library call, print."""

import asyncio
import itertools
import os
from dataclasses import asdict
from pathlib import Path

import rich_click as click

from salon_console.file_options import OutputPath
from salon_console.options import FORMAT, OUTPUT, FiniteRange
from salon_console.output import deliver
from salon_console.table_files import Table

_CATEGORIES = click.Choice(["color", "shape", "texture", "spatial", "non-spatial", "numeracy", "object", "complex"])
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same items.")
_CATEGORY = click.option("--category", "chosen", multiple=True, type=_CATEGORIES, help="Only this one; may be repeated.")


@click.group()
def scenes() -> None:
    """Drawn scenes with exact truth: a benchmark of reflection that needs no data, no network and no model.

    \b
    salon synthetic scenes generate --output drawn --per-category 10
    salon synthetic scenes accuracy --judge pixels:blur=2
    """


@scenes.command()
@click.option("--output", required=True, type=OutputPath(dir_okay=True, file_okay=False), help="A new or empty folder.")
@click.option("--per-category", type=click.IntRange(1), default=20, show_default=True, help="Items of each category.")
@click.option(
    "--misaligned",
    type=FiniteRange(0, 1),
    default=2 / 3,
    show_default="2/3",
    help="The share of pictures that contradict their prompt; the first of a category does not unless it is 1.",
)
@_SEED
@_CATEGORY
def generate(output: Path, per_category: int, misaligned: float, seed: int, chosen: tuple[str, ...]) -> None:
    """Draw prompts, pictures, explanations and yes/no questions in eight categories.

    rows.jsonl holds rows in R³-Bench's schema; truth.jsonl the scenes and an instruction that mends each picture; pictures/
    the PNG files, each with its scene in a text chunk for the draw editor.

    \b
    Example:
      salon synthetic scenes generate --output drawn
      salon synthetic scenes generate --output counts --category numeracy --per-category 100 --seed 7
    """
    from salon_synthetic.scenes.generating import generate as generated
    from salon_synthetic.scenes.generating import save
    from salon_synthetic.scenes.vocabulary import Category

    categories = [category for category in Category if not chosen or category.value in chosen]
    _warn_of_aligned_alone(per_category, misaligned)
    number = save(generated(per_category, seed=seed, categories=categories, misaligned=misaligned), output)
    click.echo(f"{number} items in {len(categories)} categories: {output}")


@scenes.command()
@click.option("--judge", "specification", default="pixels:", show_default=True, metavar="SPEC", help="KIND:… or a TOML file.")
@click.option("--per-category", type=click.IntRange(1), default=20, show_default=True, help="Items of each category.")
@_SEED
@_CATEGORY
@OUTPUT
@FORMAT
def accuracy(specification: str, per_category: int, seed: int, chosen: tuple[str, ...], output: Path | None, form: str) -> None:
    """Measure how often a judge is right about drawn scenes.

    Verdicts: is the picture as its prompt says. Explained: of the misaligned pictures, those where the explanation names the
    mismatches and no other. Answers: yes/no questions answered as the picture is.

    \b
    Example:
      salon synthetic scenes accuracy
      salon synthetic scenes accuracy --judge pixels:width=64 --per-category 50
    """
    from salon_judges.clients.specification import open_judge
    from salon_synthetic.pixel_judge.accuracy import Accuracy, measured
    from salon_synthetic.scenes.generating import MISALIGNED_SHARE
    from salon_synthetic.scenes.generating import generate as generated
    from salon_synthetic.scenes.vocabulary import Category

    categories = [category for category in Category if not chosen or category.value in chosen]
    _warn_of_aligned_alone(per_category, MISALIGNED_SHARE)

    async def measure() -> tuple[Accuracy, ...]:
        async with open_judge(specification, os.environ) as judge:
            return await measured(judge, generated(per_category, seed=seed, categories=categories))

    rows = asyncio.run(measure())
    lines = [
        [
            row.category.value,
            str(row.items),
            str(row.verdicts),
            f"{row.explained} of {row.misaligned}",
            f"{row.answers} of {row.questions}",
            str(row.unread),
        ]
        for row in rows
    ]
    columns = ("category", "items", "verdicts right", "explained", "answers right", "unread")
    deliver(Table(columns, lines, frozenset(columns[1:])), [asdict(row) for row in rows], form=form, output=output)


def _warn_of_aligned_alone(per_category: int, misaligned: float) -> None:
    """Say so where a draw is too small to hold the misaligned items that were asked for."""
    from salon_synthetic.scenes.generating import planted

    if misaligned and not planted(per_category, misaligned):
        fewest = next(items for items in itertools.count(per_category + 1) if planted(items, misaligned))
        click.echo(f"Every picture shows its prompt; for one that does not, take --per-category {fewest} or more.", err=True)
