"""``salon results``: what finished runs say; each command is imported when it is called."""

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup

_COMMANDS = {
    "agreement": LazyCommand(
        "salon_bench.cli.agreement:agreement",
        "Do the judges of some RUNs agree with each other, and with people? Spearman's rho and Kendall's tau.",
    ),
    "card": LazyCommand(
        "salon_bench.cli.publishing:card",
        "Write the README.md of a FOLDER for the Hugging Face hub.",
    ),
    "compare": LazyCommand(
        "salon_bench.cli.report:compare",
        "Compare RUN_A with RUN_B, prompt by prompt: mean differences with intervals, by category, and the biggest changes.",
    ),
    "correct": LazyCommand(
        "salon_bench.cli.correct:correct",
        "Correct a judge's scores by people: means that people would give, out of many scores and a few marks.",
    ),
    "draw": LazyCommand("salon_bench.cli.draw:draw", "Draw judged pictures for people to mark, with known chances."),
    "export": LazyCommand(
        "salon_bench.cli.report:export", "Write the verdicts of runs as one table, with prompts, pictures and labels."
    ),
    "gate": LazyCommand(
        "salon_bench.cli.gate:gate",
        "Hold the build NEW against BASE: fail when a measure is worse by more than its margin, or may be.",
    ),
    "gates": LazyCommand(
        "salon_bench.cli.gates:gates",
        "Show the last gates of a result store: differences in margins over builds, as a table and a chart.",
    ),
    "import": LazyCommand(
        "salon_bench.cli.importing:import_logs",
        "Import results of inspect_ai, lmms-eval or evalscope: scores, replies and pictures of every sample.",
    ),
    "leaderboard": LazyCommand(
        "salon_bench.cli.report:leaderboard",
        "Rank the models of all finished runs of SUITE by the suite's own numbers; one board for every judge version.",
    ),
    "log": LazyCommand(
        "salon_bench.cli.publishing:log",
        "Log the suites' numbers of RUNs, with their intervals, as files of MLflow or Weights & Biases.",
    ),
    "plan-gate": LazyCommand(
        "salon_bench.cli.plan_gate:plan_gate",
        "Plan a gate from a PILOT: how many prompts and seeds show that a build is not worse by a margin.",
    ),
    "reliability": LazyCommand(
        "salon_bench.cli.reliability:reliability",
        "Are the differences between the models of some RUNs more than chance, and would fewer items rank them alike?",
    ),
    "report": LazyCommand(
        "salon_bench.cli.report:report",
        "Write one self-contained page about runs: their numbers, and every picture with its verdicts and the "
        "judge's own words.",
    ),
}


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def results() -> None:
    """Look at finished runs: report pages, comparisons, leaderboards, reliability, tables.

    \b
    Example:
      salon results report RUN --output report.html
      salon results compare RUN_A RUN_B
      salon results leaderboard prism
    """
