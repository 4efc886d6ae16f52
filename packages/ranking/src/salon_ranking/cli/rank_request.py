"""The options of ``salon votes rank``, and which of them can be combined; no file is read here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.options import RankOptions
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_ranking.diagnostics.both_bad import BothBad


@dataclass(frozen=True)
class RankRequest:
    """The options of ``salon votes rank``; ``votes`` and ``rows`` have those of :meth:`salon_ranking.Battles.read`."""

    battles: Path
    options: RankOptions
    votes: Mapping[str, Any]
    rows: Mapping[str, Any]
    by: str | None
    cluster: tuple[str, ...]
    both_bad: "BothBad"
    equal_pairs: int | None
    listing: bool
    diagnose: bool
    held_out: Path | None
    output: Path | None
    exclude_flagged: bool
    raters: Path | None
    store: StoreAddress | None
    format_: str

    @property
    def wants_page(self) -> bool:
        """Whether an HTML page is to be written."""
        return self.output is not None and self.output.suffix == ".html"

    @property
    def board_name(self) -> str:
        """The name of the boards in a result store."""
        return "overall" if self.by is None else f"by {self.by}"

    def check_rankings(self, source: str) -> None:
        """Check the options for a table that turned out to hold rankings.

        Raises:
            OptionError: names the first that is for battles alone.
        """
        for_battles = {
            "--by": self.by,
            "--listing": self.listing,
            "--diagnose": self.diagnose,
            "--held-out": self.held_out,
            "--equal-pairs": self.equal_pairs,
            "--exclude-flagged": self.exclude_flagged,
            "--raters": self.raters,
        }
        for name, value in for_battles.items():
            if value:
                hint = f"Leave {name} out: it is for battles."
                raise OptionError("this table holds rankings, which have no", source=source, value=name, hint=hint)

    def check(self) -> None:
        """Check that options can be combined, before any work is done.

        Raises:
            OptionError: names the first that cannot.
        """
        if self.diagnose and (self.options.covariates or self.options.estimator != "maximum-likelihood"):
            problem = "there is no diagnosis of a fit with covariates or by Firth's estimator"
            raise OptionError(problem, hint="Leave --diagnose out.")
        if self.listing and self.by is not None:
            hint = "Rank the battles of one group, or leave out --by."
            raise OptionError("is about one board and does not go with --by:", value="--listing", hint=hint)
        held_out, battles = self.held_out, self.battles
        if held_out is not None and held_out.exists() and battles.exists() and held_out.samefile(battles):
            hint = "Give votes that were not ranked."
            raise OptionError("the ratings are fitted to these votes, so they are not held out:", value=held_out, hint=hint)
        if self.raters is not None and not (self.exclude_flagged or self.wants_page):
            hint = "Add --exclude-flagged to leave out flagged raters, or --output board.html to show them."
            raise OptionError("nothing was asked for that uses the table of", value="--raters", hint=hint)
