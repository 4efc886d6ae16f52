"""``salon bench``: judge pictures with a suite; list, resume and rescore runs."""

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup

_COMMANDS = {
    "artifact-bench": LazyCommand(
        "salon_bench.cli.artifact_bench:artifact_bench",
        "Artifact-Bench's own tools; the benchmark itself is `salon bench run artifact-bench`.",
    ),
    "assessor": LazyCommand("salon_bench.cli.assessor:assessor", "Evaluate artifact assessors against the labels of people."),
    "audit": LazyCommand(
        "salon_bench.cli.audit:audit",
        "Ask judges and scorers about pairs that people have answered: accuracy, position bias, missing verdicts, cost.",
    ),
    "batch": LazyCommand(
        "salon_bench.cli.judges:batch",
        "Ask through a vendor's batch files: write the questions, submit them elsewhere, and read the replies.",
    ),
    "cache": LazyCommand(
        "salon_bench.cli.judges:cache",
        "Count the replies that `--judge cache:FOLDER=JUDGE` keeps in FOLDER, or delete those used longest ago.",
    ),
    "contact-sheet": LazyCommand(
        "salon_bench.cli.media:contact_sheet_", "Show VIDEO as one picture: five frames of each second, each with its time."
    ),
    "generate": LazyCommand(
        "salon_bench.cli.generate:generate",
        "Make a picture or video for every prompt of PROMPTS with a diffusers pipeline, a server or any command; resumable.",
    ),
    "list": LazyCommand("salon_bench.cli.runs:list_", "List the suites of all installed packages."),
    "magic-bench-377": LazyCommand(
        "salon_bench.cli.magic_bench_377:magic_bench_377",
        "Magic-Bench-377's own tools; the benchmark itself is `salon bench run magic-bench-377` (or `…-battles`).",
    ),
    "mock-server": LazyCommand(
        "salon_bench.cli.mock_server:mock_server",
        "Serve scripted replies as an OpenAI-compatible server would, to try out judges and runs without a model.",
    ),
    "prism": LazyCommand(
        "salon_bench.cli.prism:prism",
        "PRISM-Bench's own tools; the benchmark itself is `salon bench run prism` and `prism-zh`.",
    ),
    "r3-bench": LazyCommand(
        "salon_bench.cli.r3_bench:r3_bench",
        "R³-Bench: a model says what is wrong with a picture, and an editor follows its instruction.",
    ),
    "rescore": LazyCommand(
        "salon_bench.cli.run:rescore_",
        "Read the stored replies of a RUN again with the suite as it is installed now; no judge is asked.",
    ),
    "resume": LazyCommand(
        "salon_bench.cli.run:resume_",
        "Continue a RUN that was stopped or killed: stored replies are read, the others are asked for.",
    ),
    "run": LazyCommand(
        "salon_bench.cli.run:run", "Judge the pictures of a model with SUITE; every reply is on the disk before it counts."
    ),
    "runs": LazyCommand(
        "salon_bench.cli.runs:runs",
        "List the runs of a store, oldest first, with their state and versions; or report the progress of a RUN.",
    ),
}
"""Commands in files of their own; imported when they are called."""


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def bench() -> None:
    """Judge a folder of pictures with a suite and any vision-language model; every row lands in a store.

    \b
    Example:
      salon bench list
      salon bench run prism --model our-model --generations pictures/ --judge vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000
      salon bench runs
      salon bench resume RUN
    """
