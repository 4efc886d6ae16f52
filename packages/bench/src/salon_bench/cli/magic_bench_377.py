"""``salon bench magic-bench-377``: draw battles."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_bench.cli.options import GENERATIONS
from salon_console.file_options import InputPath, OutputPath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from salon_bench.suites.contract.suite import SuitePrompt
    from salon_judges.formats.generations import Generations
    from salon_ranking.scheduling import Rule

_file = InputPath(dir_okay=False)
_prompts = click.option("--prompts", "prompt_file", required=True, type=_file, help="Your copy of the prompts.")
_language = click.option(
    "--language", type=click.Choice(["en", "zh"]), help="Of the prompts. Default: all; the English ones of the released file."
)
_MODELS = click.option("--model", "names", multiple=True, required=True, help="A model; repeat for each.")


@click.group("magic-bench-377")
def magic_bench_377() -> None:
    """Magic-Bench-377's own tools; the benchmark itself is `salon bench run magic-bench-377` (or `…-battles`).

    \b
    Example:
      salon bench magic-bench-377 draft --prompts prompts.csv --model a --generations a/ --model b --generations b/ \\
        --battles 500 --output battles.jsonl
    """


@magic_bench_377.command()
@_prompts
@_language
@_MODELS
@GENERATIONS
@click.option("--battles", "number", required=True, type=click.IntRange(1, 1 << 22), help="How many battles to draw.")
@click.option(
    "--rule",
    type=click.Choice(["mef", "information", "uniform"]),
    default="mef",
    show_default=True,
    help="How pairs are chosen (see `salon votes simulate`).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same battles.")
@click.option("--before", type=InputPath(tables=True), help="Earlier battles: a file, or a result store. Default: none.")
@click.option("--output", required=True, type=OutputPath(), help="The prompts with their battles, as JSON Lines (replaced).")
def draft(
    prompt_file: Path,
    language: str | None,
    names: tuple[str, ...],
    sources: tuple[Path, ...],
    number: int,
    rule: "Rule",
    seed: int,
    before: Path | None,
    output: Path,
) -> None:
    """Draw battles instead of judging all pairs; give the file to `salon bench run magic-bench-377-battles --prompts`.

    Two models are drawn by the rule, then a prompt, then one picture of each. Two pictures that are drawn again are dropped.

    \b
    Example:
      salon bench magic-bench-377 draft --prompts prompts.csv --model a --generations a/ --model b --generations b/ \\
        --battles 500 --output battles.jsonl
    """
    from salon_bench.suites.magic_bench_377.pairing import draft as drafted
    from salon_bench.suites.magic_bench_377.pairing import save_draft
    from salon_ranking.battles import Battles

    items, generations = _loaded(prompt_file, language, names, sources)
    earlier = None if before is None else Battles.read(before)
    pairs = drafted(items, generations, number, rule=rule, seed=seed, before=earlier)
    save_draft(items, pairs, output)
    click.echo(
        f"{pairs.count} battles over {len(pairs.pairs)} prompts in {output}; {pairs.repeats} repeated ones were dropped."
    )


def _loaded(
    prompt_file: Path, language: str | None, names: tuple[str, ...], sources: tuple[Path, ...]
) -> "tuple[Sequence[SuitePrompt], Generations]":
    from salon_bench.cli.reporting import announced
    from salon_judges.formats.generations import Generations, read_generations
    from salon_judges.formats.magic_bench_377_prompts import read_prompts

    if len(names) != len(sources):
        raise click.UsageError(f"{len(names)} --model but {len(sources)} --generations: give one for each, in the same order")
    items = announced(read_prompts(prompt_file, language))
    ids = [item.prompt.prompt_id for item in items]
    generations = [read_generations(source, name, ids) for name, source in zip(names, sources, strict=True)]
    return items, Generations(
        file for each in generations for model in each.models for id_ in ids for file in each.of(id_, model)
    )
