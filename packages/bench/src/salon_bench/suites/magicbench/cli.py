"""``salon bench magicbench``: make prompts. Parse, one library call, print."""

from pathlib import Path

import rich_click as click


@click.group()
def magicbench() -> None:
    """MagicBench's own tools; the benchmark itself is ``salon bench run magicbench``.

    \b
    salon bench magicbench compose --output prompts.jsonl --seed 0
    """


@magicbench.command()
@click.option(
    "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The JSON Lines file to write (replaced)."
)
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
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An own library of subjects, scenes, styles and shots (TOML, in the form of the bundled one).",
)
def compose(output: Path, seed: int, per_category: int, library: Path | None) -> None:
    """Compose prompts offline: 8 sub-categories of 100, each asking for its complete subject.

    The same seed gives the same file on every machine. Make one picture per prompt and call it by its prompt_id:
    human_single-001-546ed7.png.

    \b
    Example:
      salon bench magicbench compose --output prompts.jsonl
      salon bench magicbench compose --output small.jsonl --per-category 3 --seed 7
    """
    from salon_bench.suites.magicbench.composition import Library, save_prompts
    from salon_bench.suites.magicbench.composition import compose as composed

    prompts = composed(seed=seed, per_category=per_category, library=None if library is None else Library.read(library))
    save_prompts(prompts, output)
    click.echo(f"{len(prompts)} prompts in {output}, {per_category} in each of 8 sub-categories, seed {seed}.")
