"""``salon bench magicbench``: make prompts. Parse, one library call, print."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.file_options import InputPath, OutputPath

if TYPE_CHECKING:
    from salon_bench.suites.magicbench.composition import Library, WrittenPrompts


@click.group()
def magicbench() -> None:
    """MagicBench's own tools; the benchmark itself is `salon bench run magicbench`.

    \b
    Example:
      salon bench magicbench compose --output prompts.jsonl --seed 0
    """


@magicbench.command()
@click.option("--output", required=True, type=OutputPath(), help="The JSON Lines file to write (replaced).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed draws other prompts.")
@click.option(
    "--per-category",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Prompts in each of the 8 sub-categories.",
)
@click.option(
    "--library",
    type=InputPath(exists=True, dir_okay=False),
    help="An own library of subjects, scenes, styles and shots (TOML, in the form of the bundled one).",
)
@click.option(
    "--judge",
    "writer",
    metavar="SPEC",
    help="A language model that writes the prompts: vllm:MODEL@localhost:8000, or judge.toml. Default: nobody is asked.",
)
@click.option("--attempts", type=click.IntRange(min=1), default=3, show_default=True, help="Of the model, for each prompt.")
def compose(output: Path, seed: int, per_category: int, library: Path | None, writer: str | None, attempts: int) -> None:
    """Compose prompts: 8 sub-categories of 100, each asking for its complete subject.

    Offline, the same seed gives the same file on every machine. With --judge a language model writes what the seed has drawn;
    prompts that it cannot write are left out and counted, and the command then exits with 1. Make one picture per prompt and
    call it by its prompt_id: human_single-001-546ed7.png.

    \b
    Example:
      salon bench magicbench compose --output prompts.jsonl
      salon bench magicbench compose --output small.jsonl --per-category 3 --seed 7
      salon bench magicbench compose --output written.jsonl --judge vllm:Qwen/Qwen3-8B@localhost:8000
    """
    from salon_bench.suites.magicbench.composition import Library, save_prompts
    from salon_bench.suites.magicbench.composition import compose as composed

    own = None if library is None else Library.read(library)
    if writer is None:
        prompts = composed(seed=seed, per_category=per_category, library=own)
        save_prompts(prompts, output)
        click.echo(f"{len(prompts)} prompts in {output}, {per_category} in each of 8 sub-categories, seed {seed}.")
        return
    written = asyncio.run(_written(writer, seed=seed, per_category=per_category, library=own, attempts=attempts))
    save_prompts(written.prompts, output)
    click.echo(
        f"{len(written.prompts)} prompts in {output}, seed {seed}; {written.calls} calls, {written.retries} asked again."
    )
    if written.missed:
        first = written.missed[0]
        raise IncompleteError(
            f"{len(written.missed)} prompts could not be had; the first, {first.category} {first.number}: "
            f"{first.reason.reason} ({first.reason.detail})"
        )


async def _written(
    specification: str, *, seed: int, per_category: int, library: "Library | None", attempts: int
) -> "WrittenPrompts":
    from salon_bench.judges import open_judge
    from salon_bench.suites.magicbench.composition import write_with

    async with open_judge(specification, os.environ) as judge:
        return await write_with(judge, seed=seed, per_category=per_category, library=library, attempts=attempts)
