"""The commands of this package: ``salon votes`` and ``salon ratings``, whose commands are imported when they are called."""

from typing import Any, Final

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup

SPELLING: Final = ("--columns", "--winner-words", "--votes", "--names")
"""The options on how a file spells its votes."""
_HELP = {"help_option_names": ["-h", "--help"]}
_VOTES = {
    "audit": LazyCommand(
        "salon_ranking.cli.audit:audit",
        "Audit judges that compare pairs: accuracy against people, missing verdicts, position bias, calibration.",
    ),
    "compare": LazyCommand(
        "salon_ranking.cli.compare:compare",
        "Compare models with each other, groups of votes side by side, or two sets of votes.",
    ),
    "correct": LazyCommand(
        "salon_ranking.cli.correct:correct",
        "Correct a judge by people: ratings of what people prefer, out of many verdicts and a few votes.",
    ),
    "draw": LazyCommand("salon_ranking.cli.draw:draw", "Draw judged battles for people to vote on, with known chances."),
    "drivers": LazyCommand(
        "salon_ranking.cli.opinion:drivers",
        "Estimate what voters weigh: the rise of the win rate for one standard deviation more in a dimension, all else equal.",
    ),
    "elo": LazyCommand(
        "salon_ranking.cli.elo:elo",
        "Rate models by online Elo, as chess clubs do: the answer depends on the order of the battles.",
    ),
    "explain": LazyCommand(
        "salon_ranking.cli.explain:explain",
        "Say in sentences how a model was rated, who is close, and what it still needs to be listed.",
    ),
    "import": LazyCommand(
        "salon_ranking.cli.import_votes:import_votes",
        "Turn votes of another arena into a table that every command of `salon votes` reads.",
    ),
    "next": LazyCommand(
        "salon_ranking.cli.scheduling:next_pairs",
        "Plan the next battles to show: two models, a prompt, a sample of each, and who stands on the left.",
    ),
    "pairs": LazyCommand(
        "salon_ranking.cli.pairs:pairs",
        "Turn votes into preference data: one row per pair of pictures, chosen and rejected.",
    ),
    "rank": LazyCommand(
        "salon_ranking.cli.rank:rank", "Rank models by their battles: Bradley-Terry ratings on the Elo scale with intervals."
    ),
    "raters": LazyCommand(
        "salon_ranking.cli.raters:raters",
        "Look at raters: missed anchors, too fast, one option again and again, one-sided, against everybody else.",
    ),
    "simulate": LazyCommand(
        "salon_ranking.cli.scheduling:simulate",
        "Simulate schedules: how many matches until the leaderboard can be trusted, by rule.",
    ),
}
_RATINGS = {
    "agreement": LazyCommand(
        "salon_ranking.cli.agreement:agreement",
        "Measure how far raters agree beyond chance: Krippendorff's alpha, Fleiss' kappa, and Cohen's kappa of every pair.",
    ),
    "mos": LazyCommand(
        "salon_ranking.cli.opinion:mos",
        "Mean opinion scores per model, dimension and scenario, with intervals, comparisons and checks of the raters.",
    ),
    "pass-rates": LazyCommand(
        "salon_ranking.cli.opinion:pass_rates",
        "Report the share of yes/no checks that each model passes, per test point, with Wilson intervals.",
    ),
}


class _VoteCommands(LazyGroup):
    """The group of commands that read votes; a command without an option of spelling names the one that has it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command that was named."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name not in SPELLING:
                raise
            where = "`salon votes import` has it: the other commands read what it wrote"
            raise click.UsageError(f"No such option '{error.option_name}'. {where} to --output.", error.ctx) from None


@click.group(cls=_VoteCommands, lazy_commands=_VOTES, context_settings=_HELP)
def votes() -> None:
    """Turn votes between two pictures into a leaderboard, plan the next ones, and check who cast them.

    \b
    Example:
      salon votes rank votes.csv
      salon votes raters votes.csv
      salon votes next votes.csv -n 100
    """


@click.group(cls=LazyGroup, lazy_commands=_RATINGS, context_settings=_HELP)
def ratings() -> None:
    """Evaluate what people say of single pictures: marks (mean opinion scores) and yes/no checks.

    \b
    Example:
      salon ratings mos ratings.csv
      salon ratings agreement ratings.csv --level ordinal
      salon ratings pass-rates checks.csv
    """
