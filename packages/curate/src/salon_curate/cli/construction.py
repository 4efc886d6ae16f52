"""``salon curate prism | magicbench``: construct benchmarks. Parse, one library call, print."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import LANGUAGE, output_of
from salon_curate.cli.options import SEED
from salon_judges.formats.prism_tracks import TRACK_SPELLINGS, Language
from salon_taxonomy.errors import IncompleteError

if TYPE_CHECKING:
    from salon_curate.construction.magicbench_prompts import Library, WrittenPrompts

_TRACK = click.Choice(sorted(TRACK_SPELLINGS))


@click.group()
def prism() -> None:
    """Make prompts for PRISM-Bench: composed from pools, or selected from a collection.

    \b
    Example:
      salon curate prism compose --output prompts.jsonl --seed 0
    """


@prism.command()
@output_of("prompts")
@LANGUAGE
@SEED
@click.option("--per-track", type=click.IntRange(min=1), default=50, show_default=True, help="Prompts in each of the 7 tracks.")
@click.option("--track", "tracks", multiple=True, type=_TRACK, help="Only this track; may be given several times.")
def compose(output: Path, language: str, seed: int, per_track: int, tracks: tuple[str, ...]) -> None:
    """Compose prompts from pools, offline: 7 tracks of 50.

    The same seed gives the same file on every machine, and the two languages the same prompts under the same ids. Make one
    picture per prompt and call it by its prompt_id: style-001-6e3fce.png.

    \b
    Example:
      salon curate prism compose --output prompts.jsonl
      salon curate prism compose --output prompts-zh.jsonl --language zh
      salon curate prism compose --output signs.jsonl --track text-rendering --per-track 10
    """
    from salon_curate.construction.prism_prompts import compose as composed
    from salon_judges.formats.prism_tracks import Track
    from salon_taxonomy.whole_files import write_json_lines

    wanted = {TRACK_SPELLINGS[name] for name in tracks} or set(Track)
    prompts = composed(language, seed=seed, per_track=per_track, tracks=[track for track in Track if track in wanted])
    number = write_json_lines(output, (prompt.as_row() for prompt in prompts))
    click.echo(f"{number} prompts in {len(wanted)} tracks: {output}")


@prism.command()
@click.argument("candidates", type=InputPath())
@output_of("prompts")
@click.option("--track", type=_TRACK, help="Only this track; needed where the table has no column track.")
@LANGUAGE
@click.option("--embedder", default="lsa", show_default=True, help="lsa, or a sentence-transformers model: its name or folder.")
@click.option("--number", type=click.IntRange(min=1), default=50, show_default=True, help="Prompts per track, and themes.")
@click.option("--top", type=click.IntRange(min=1), default=10_000, show_default=True, help="Candidates per track, best first.")
@SEED
def select(
    candidates: Path, output: Path, track: str | None, language: str, embedder: str, number: int, top: int, seed: int
) -> None:
    """Select prompts from a collection: one from each of k themes.

    CANDIDATES is a table (CSV, JSON, JSON Lines, Parquet) with prompt and score, and track where it holds several. The best by
    score are clustered by k-means, and the prompt nearest to each centre is taken; what one track takes is removed from the
    others. Needs the extra selection, and embeddings for a sentence-transformers model.

    \b
    Example:
      salon curate prism select captions.csv --track imagination --output sampled.jsonl --number 50
      salon curate prism select captions.parquet --output sampled.jsonl --embedder ./all-MiniLM-L6-v2
    """
    from salon_curate.construction.prism_selection import LsaEmbedder, SentenceEmbedder, read_candidates, select_all
    from salon_taxonomy.whole_files import write_json_lines

    chosen = None if track is None else TRACK_SPELLINGS[track]
    points = LsaEmbedder(Language(language), seed=seed) if embedder == "lsa" else SentenceEmbedder(embedder)
    selected = select_all(read_candidates(candidates, chosen), points, number=number, top=top, seed=seed)
    rows = (each.as_row(place, Language(language)) for selected in selected.values() for place, each in enumerate(selected, 1))
    click.echo(f"{write_json_lines(output, rows)} prompts in {len(selected)} tracks, by {points.name}: {output}")


@click.group()
def magicbench() -> None:
    """Make prompts for MagicBench.

    \b
    Example:
      salon curate magicbench compose --output prompts.jsonl --seed 0
    """


@magicbench.command("compose")
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
    type=InputPath(dir_okay=False),
    help="An own library of subjects, scenes, styles and shots (TOML, in the form of the bundled one).",
)
@click.option(
    "--judge",
    "writer",
    metavar="SPEC",
    help="A language model that writes the prompts: vllm:MODEL@localhost:8000, or judge.toml. Default: composed offline.",
)
def compose_magicbench(output: Path, seed: int, per_category: int, library: Path | None, writer: str | None) -> None:
    """Compose prompts: 8 sub-categories of 100, each asking for its complete subject.

    Offline, the same seed gives the same file on every machine. With --judge a language model writes what the seed has drawn;
    prompts that it cannot write are left out and counted, and the command then exits with 1. Make one picture per prompt and
    call it by its prompt_id: human_single-001-546ed7.png.

    \b
    Example:
      salon curate magicbench compose --output prompts.jsonl
      salon curate magicbench compose --output small.jsonl --per-category 3 --seed 7
      salon curate magicbench compose --output written.jsonl --judge vllm:Qwen/Qwen3-8B@localhost:8000
    """
    from salon_curate.construction.magicbench_prompts import Library, save_prompts
    from salon_curate.construction.magicbench_prompts import compose as composed

    own = None if library is None else Library.read(library)
    if writer is None:
        prompts = composed(seed=seed, per_category=per_category, library=own)
        save_prompts(prompts, output)
        click.echo(f"{len(prompts)} prompts in {output}, {per_category} in each of 8 sub-categories, seed {seed}.")
        return
    written = asyncio.run(_written(writer, seed=seed, per_category=per_category, library=own))
    save_prompts(written.prompts, output)
    click.echo(
        f"{len(written.prompts)} prompts in {output}, seed {seed}; {written.calls} calls, {written.retries} asked again."
    )
    if written.missed:
        first = written.missed[0]
        raise IncompleteError(
            f"{len(written.missed)} prompts are missing; the first, {first.category} {first.number}: "
            f"{first.reason.reason} ({first.reason.detail})"
        )


async def _written(specification: str, *, seed: int, per_category: int, library: "Library | None") -> "WrittenPrompts":
    from salon_curate.construction.magicbench_prompts import write_with
    from salon_judges.clients import open_judge

    async with open_judge(specification, os.environ) as judge:
        return await write_with(judge, seed=seed, per_category=per_category, library=library)
