"""``salon bench generate``: drive a generator over a file of prompts. Parse, one library call, print."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_bench.cli.options import LOG_JSON, watching
from salon_console.file_options import InputPath
from salon_console.options import FORMAT, resumable
from salon_console.output import print_continues, print_json
from salon_taxonomy.errors import IncompleteError

if TYPE_CHECKING:
    from salon_judges.generators import PictureGenerator
    from salon_taxonomy.enums import MediaKind


@click.command("generate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("prompts", metavar="[PROMPTS]", required=False, type=InputPath())
@click.option(
    "--suite", "suite_name", metavar="SUITE", help="Take the prompts of this suite; PROMPTS is then its file of prompts."
)
@click.option(
    "--output",
    "folder",
    required=True,
    type=InputPath(file_okay=False, made=True),
    help="The folder of the pictures and of generations.jsonl; what it has is kept.",
)
@click.option(
    "--generator",
    metavar="SPEC",
    help="draw:, diffusers:MODEL (a name or folder), KIND:MODEL@URL of an images or videos server, or its TOML file.",
)
@click.option(
    "--command",
    metavar="TEMPLATE",
    help='A program instead: "mygen {prompt_file} {output}", with {seed}, {source}, {first_frame} where wanted.',
)
@click.option("--video", is_flag=True, help="Make videos. Implied by a --suite that shows videos.")
@click.option(
    "--source",
    "sources",
    metavar="FOLDER",
    type=InputPath(file_okay=False),
    help="What the prompts edit or animate, named <prompt_id>.png; else the columns source and first_frame of PROMPTS.",
)
@click.option("--timeout", "timeout_s", type=float, show_default="600", help="Of a --command, in seconds.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Pictures per prompt.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first sample; the next have the next seeds.")
@click.option(
    "--limit", type=click.IntRange(1), help="So many prompts, drawn with the seed as by salon bench run. Default: all."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An argument of the pipeline's call or a field of the request: num_inference_steps=20, size=1024x1024.",
)
@click.option("--dtype", metavar="NAME", help="Of a pipeline on this machine: bfloat16.")
@click.option("--build", metavar="NAME", help="What made the pictures, such as a commit; kept with each of them.")
@click.option("--concurrency", type=click.IntRange(1, 4096), help="Pictures at once. Default: 8 for a server, else 1.")
@LOG_JSON
@FORMAT
@resumable
def generate(
    prompts: Path | None,
    suite_name: str | None,
    folder: Path,
    generator: str | None,
    command: str | None,
    video: bool,
    sources: Path | None,
    timeout_s: float | None,
    samples: int,
    seed: int,
    limit: int | None,
    settings: tuple[str, ...],
    dtype: str | None,
    build: str | None,
    concurrency: int | None,
    form: str,
    **work: Any,
) -> None:
    """Make a picture or video for every prompt of PROMPTS with a diffusers pipeline, a server or any command; resumable.

    PROMPTS is a text file with one prompt per line, a table with a column prompt, or a folder of texts. Prompts that bring a
    source, in a column of paths or by --source, are instructions for edits; with --video, a first_frame is animated. Where a
    column turns lists instructions, each edits the result of the one before.

    Every picture is on the disk before it is listed in generations.jsonl. After a stop or a kill, the same command makes what
    is missing. Pass the folder to salon bench run as --generations.

    \b
    Example:
      salon bench generate prompts.txt --generator diffusers:stabilityai/sdxl-turbo --set num_inference_steps=1 --output out
      salon bench generate prompts.csv --generator vllm:qwen-image@localhost:8000 --samples 4 --output pictures
      salon bench generate prompts.txt --command "mygen {prompt_file} {output} --seed {seed}" --output pictures
      salon bench generate edits.csv --generator vllm:qwen-image-edit@localhost:8000 --output edits
      salon bench generate prompts.txt --video --source frames --generator vllm:wan@localhost:8000 --output videos
    """
    import asyncio
    from dataclasses import asdict

    from salon_bench.cli.reporting import counted
    from salon_bench.runs.picture_job import generate_pictures
    from salon_bench.runs.plan import drawn
    from salon_bench.suites.contract.prompt_files import read_prompts, with_sources
    from salon_bench.suites.contract.registry import suite_named
    from salon_judges.media.video_container import require_av
    from salon_taxonomy.enums import MediaKind, MediaRole

    if suite_name is not None:
        suite = suite_named(suite_name)
        suite_prompts = suite.prompts(prompts)
        video = video or suite.pictures.video is not None
    elif prompts is not None:
        suite_prompts = read_prompts(prompts, "prompts", roles={MediaRole.SOURCE: False, MediaRole.FIRST_FRAME: False})
    else:
        raise click.UsageError("give a file of PROMPTS, or --suite")
    if video:
        require_av()
    makes = MediaKind.VIDEO if video else MediaKind.IMAGE
    things = "videos" if video else "pictures"
    chosen = _generator(generator, command, timeout_s, settings, dtype, makes, folder)
    for words in getattr(suite_prompts, "remarks", tuple)():
        click.echo(words, err=True)
    limits = getattr(getattr(chosen, "settings", None), "limits", None)
    options = {"dtype": dtype, "build": build}
    at_once = concurrency or int(getattr(limits, "concurrency", 1))
    wanted_prompts = drawn(suite_prompts, limit, seed)
    with watching(work, "generating") as watcher:
        job = generate_pictures(
            chosen,
            wanted_prompts if sources is None else with_sources(wanted_prompts, sources, video=video),
            folder,
            samples=samples,
            seed=seed,
            concurrency=at_once,
            settings=dict(map(_setting, settings)) | {name: text for name, text in options.items() if text is not None},
            watcher=watcher,
            on_start=lambda kept, wanted: print_continues(kept, wanted, things, folder) if kept else None,
        )
        report = asyncio.run(job)
    if form == "json":
        print_json({**asdict(report), "manifest": str(report.manifest), "complete": report.complete})
    else:
        click.echo(f"{report.made} {things} made, {report.kept} kept: {report.manifest}")
    for words in report.problems:
        click.echo(words, err=True)
    if not report.complete:
        reasons = counted(report.failed)
        left = f"{reasons}; {report.left} not tried" if report.left else reasons
        raise IncompleteError(f"{things} are missing: {left}\nThe same command tries them again.")


def _generator(
    generator: str | None,
    command: str | None,
    timeout_s: float | None,
    settings: tuple[str, ...],
    dtype: str | None,
    makes: "MediaKind",
    folder: Path,
) -> "PictureGenerator":
    """Return the generator that the options name."""
    from salon_bench.runs.picture_job import WORKING
    from salon_judges.editors.videos_server import JOBS
    from salon_judges.generators import CommandGenerator, open_generator

    if (generator is None) == (command is None):
        raise click.UsageError("give one of --generator and --command")
    if command is not None:
        if settings or dtype:
            raise click.UsageError("--set and --dtype are for --generator; write them into the --command")
        patience = {} if timeout_s is None else {"timeout_s": timeout_s}
        return CommandGenerator(command, makes=makes, working=folder / WORKING, **patience)
    if timeout_s is not None:
        raise click.UsageError("--timeout is for --command; a server's is in its TOML file")
    return open_generator(
        str(generator), os.environ, options=dict(map(_setting, settings)), dtype=dtype, makes=makes, jobs=folder / JOBS
    )


def _setting(text: str) -> tuple[str, Any]:
    """Read ``KEY=VALUE``; a value that is JSON counts as such, any other as text."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"{text!r} is not KEY=VALUE, such as num_inference_steps=20", param_hint="--set")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
