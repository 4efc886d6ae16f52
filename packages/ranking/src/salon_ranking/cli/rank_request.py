"""The options of ``salon votes rank``, and which of them can be combined; no file is read here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from salon_console.table_files import TABLE_ENDINGS, check_ending
from salon_ranking.diagnostics.both_bad import BothBad
from salon_ranking.errors import OptionError
from salon_ranking.models.covariates import POSITION
from salon_ranking.models.options import Estimator, FitOptions, Ties
from salon_taxonomy.store_address import StoreAddress

Method: TypeAlias = Literal["bradley-terry", "firth", "elo"]


@dataclass(frozen=True)
class ModelChoice:
    """The options that choose a model or method, and those that only some of them have."""

    method: Method = "bradley-terry"
    ties: Ties = "half"
    both_bad: BothBad = "tie"
    covariates: tuple[str, ...] = ()
    position_bias: bool = False
    standardize: bool = True
    ridge: float = 0.0
    equal_pairs: int | None = None
    k: float = 4.0
    orders: int = 0
    order_by: str | None = None
    sort: bool = False
    diagnose: bool = False

    @property
    def is_fit(self) -> bool:
        """Whether :func:`salon_ranking.rank` makes the board."""
        return self.method in ("bradley-terry", "firth")

    @property
    def estimator(self) -> Estimator:
        """The estimator of :func:`salon_ranking.rank`."""
        return "firth" if self.method == "firth" else "maximum-likelihood"

    @property
    def all_covariates(self) -> tuple[str, ...]:
        """The covariates, with the side of the screen where its bias is tested."""
        return tuple(dict.fromkeys([*self.covariates, *([POSITION] if self.position_bias else [])]))

    @property
    def model(self) -> dict[str, object]:
        """The arguments with which every function fits this model."""
        return {
            "ties": self.ties,
            "covariates": self.all_covariates,
            "standardize": self.standardize,
            "ridge": self.ridge,
            "estimator": self.estimator,
        }

    def check(self) -> None:
        """Check names and combinations.

        Raises:
            OptionError: names the first wrong option.
        """
        for name, given, known in (("method", self.method, Method), ("tie model", self.ties, Ties)):
            if given not in get_args(known):
                raise OptionError(f"unknown {name}", value=given, allowed=get_args(known))
        if self.method != "bradley-terry" and (self.all_covariates or self.ties != "half" or self.diagnose):
            hint = f"Leave --method {self.method} out."
            raise OptionError(f"{self.method} has neither covariates nor tie models nor a diagnosis", hint=hint)
        if self.all_covariates and self.diagnose:
            raise OptionError("there is no diagnosis of a fit with covariates", hint="Leave --diagnose out.")
        if self.method == "elo" and self.equal_pairs is not None:
            raise OptionError("online Elo cannot weigh battles", value="--equal-pairs", hint="Leave --equal-pairs out.")
        if self.method != "elo" and (self.orders or self.order_by or self.sort):
            raise OptionError("the order of battles matters to online Elo alone", hint="Add --method elo.")


@dataclass(frozen=True)
class RankRequest:
    """The options of ``salon votes rank``.

    ``choice`` has those that choose a model, ``votes`` those of :meth:`salon_ranking.Battles.read`.
    """

    battles: Path
    choice: ModelChoice
    baseline: str | None
    by: str | None
    replicates: int
    seed: int
    cluster: tuple[str, ...]
    repeated_ids: str
    votes: Mapping[str, object]
    confidence: float
    prior_ties: float
    components: str
    interval: str | None
    ranks: bool
    listing: bool
    explain: str | None
    differences: Path | None
    contributions: Path | None
    prompt: str
    side_by_side: bool
    held_out: Path | None
    against: Path | None
    threads: int | None
    output: Path | None
    exclude_flagged: bool
    raters: Path | None
    records: Path | None
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


def check_request(request: RankRequest) -> None:
    """Check that options can be combined, before any work is done.

    Raises:
        InputError: names the first that cannot.
    """
    request.choice.check()
    FitOptions(
        ties=request.choice.ties,
        covariates=request.choice.all_covariates,
        estimator=request.choice.estimator,
        prior_ties=request.prior_ties,
        ridge=request.choice.ridge,
    )
    if request.output is not None and not request.choice.is_fit:
        check_ending(request.output, TABLE_ENDINGS, "output for this method")
    _check_groups(request)
    held_out, battles = request.held_out, request.battles
    if held_out is not None and held_out.exists() and battles.exists() and held_out.samefile(battles):
        hint = "Give votes that were not ranked."
        raise OptionError("the ratings are fitted to these votes, so they are not held out:", value=request.held_out, hint=hint)
    if request.against is not None:
        given = {**_board_options(request), "--baseline": request.baseline, "--interval": request.interval}
        given["--method"] = not request.choice.is_fit
        for option, value in given.items():
            if value:
                raise OptionError(f"{option} does not go with --against", hint="Leave one of them out.")
    if not request.choice.is_fit:
        given = {**_board_options(request), "--cluster": request.cluster, "--interval": request.interval}
        for option, value in given.items():
            if value:
                hint = "Leave it out, or leave out --method."
                raise OptionError(f"{option} needs a fitted model, not", value=f"--method {request.choice.method}", hint=hint)
    plain = request.choice.method == "bradley-terry" and request.choice.ties == "half" and not request.choice.all_covariates
    if request.contributions is not None and not plain:
        hint = "Leave out --contributions, or leave out --method, --ties, --covariate and --position-bias."
        problem = "contributions of prompts are for plain Bradley-Terry by maximum likelihood"
        raise OptionError(problem, hint=hint)
    if request.raters is not None and not (request.exclude_flagged or request.wants_page):
        hint = "Add --exclude-flagged to leave out flagged raters, or --output board.html to show them."
        raise OptionError("nothing was asked for that uses the table of", value="--raters", hint=hint)


def _of_one_board(request: RankRequest) -> dict[str, object]:
    return {
        "--listing": request.listing,
        "--explain": request.explain,
        "--differences": request.differences,
        "--contributions": request.contributions,
    }


def _check_groups(request: RankRequest) -> None:
    if request.side_by_side and request.by is None:
        raise OptionError("--side-by-side sets groups beside each other; it needs", value="--by COLUMN")
    for name, value in _of_one_board(request).items():
        if value and request.by is not None:
            hint = "Rank the battles of one group, or leave out --by."
            raise OptionError("is about one board and does not go with --by:", value=name, hint=hint)


def _board_options(request: RankRequest) -> dict[str, object]:
    """Return the options that need a leaderboard."""
    return {
        "--by": request.by,
        "--held-out": request.held_out,
        "--components": request.components == "separate",
        "--records": request.records,
        "--store": request.store,
        "--ranks": request.ranks,
        "--side-by-side": request.side_by_side,
        **_of_one_board(request),
    }
