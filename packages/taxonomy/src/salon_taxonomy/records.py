"""One row of each result table, as a frozen pydantic model.

The result store derives its tables from these records (``salon_store.schemas``): columns, limits, keys and rules.
Everywhere: ``None`` means *not known or not applicable*, never zero; NaN and infinities are refused; times are in UTC;
keys are content hashes made by ``digest.py`` unless the caller has keys of their own.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

# Under these names they belong to the records too.
from salon_taxonomy.enums import CallStatus as CallStatus
from salon_taxonomy.enums import Finish as Finish
from salon_taxonomy.enums import MediaKind as MediaKind
from salon_taxonomy.enums import MediaRole as MediaRole
from salon_taxonomy.enums import Mode as Mode
from salon_taxonomy.enums import RunEventKind as RunEventKind
from salon_taxonomy.enums import Side as Side
from salon_taxonomy.enums import Winner as Winner

Key = Annotated[str, Field(min_length=1, max_length=200)]
"""An identifier: a digest, or the caller's own non-empty string."""
Name = Annotated[str, Field(min_length=1, max_length=400)]
"""A name that people gave: a model, a judge, a rater, a suite."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A finite number."""
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class RowRule:
    """A rule between columns of one row, for single records and, as an expression, for whole frames.

    Kinds: ``exactly_one`` of two columns is set; two columns ``differ``; the first column is ``not_before`` the second; the
    first column is ``between`` the second and the third, both included. A row with a null in a column that is compared passes.
    ``problem`` is the message; the first column is the one that an error names.
    """

    kind: Literal["exactly_one", "differ", "not_before", "between"]
    columns: tuple[str, ...]
    problem: str

    def holds(self, values: tuple[Any, ...]) -> bool:
        """Return whether the values of ``columns`` keep the rule."""
        if self.kind == "exactly_one":
            return (values[0] is None) != (values[1] is None)
        if None in values:
            return True
        if self.kind == "differ":
            return bool(values[0] != values[1])
        return bool(values[0] >= values[1] and (self.kind == "not_before" or values[0] <= values[2]))


_SCORED_OR_NOT = RowRule("exactly_one", ("value", "unscored_reason"), "exactly one of value and unscored_reason must be set")


class Record(BaseModel):
    """The base of every row: frozen, no unknown columns, no NaN.

    ``key`` names the columns whose values are unique in the table (nulls count as equal), ``rules`` the rules between columns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    key: ClassVar[tuple[str, ...]] = ()
    rules: ClassVar[tuple[RowRule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> Self:
        for rule in self.rules:
            if not rule.holds(tuple(getattr(self, name) for name in rule.columns)):
                raise ValueError(rule.problem)
        return self


_MADE_OF = Field(
    default=None,
    description="what the row was computed from, where that is other rows of this table: 'panel of 3 judges'; "
    "leave such rows out of averages (WHERE made_of IS NULL)",
)


class Run(Record):
    """One execution of a suite against one subject model by one judge, or one import of results made elsewhere."""

    key = ("run_id",)

    run_id: Key
    suite: Name
    subject_model: Name | None = None
    judge: Name | None = None
    judge_version: Name | None = None
    seed: int | None = None
    settings: str | None = Field(default=None, description="JSON text of everything else that shaped the run")
    source: str | None = Field(default=None, description="where imported rows come from: a paper and table, or a file")
    salon_version: Name
    started_at: AwareDatetime | None = None
    finished_at: AwareDatetime | None = None


class RunEvent(Record):
    """One moment in the life of a run: a run is finished when the latest of its events says so."""

    key = ("event_id",)

    event_id: Key
    run_id: Key
    kind: RunEventKind
    at: AwareDatetime
    cases_done: Count
    cases_total: Count
    calls: Count = Field(default=0, description="requests sent since the run was started or last resumed")
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    detail: str | None = None


class Prompt(Record):
    """A text that generators were given; the key is suite, the suite's own id, and the digest of the content."""

    key = ("suite", "prompt_id", "prompt_key")

    prompt_id: Key
    suite: Name
    text: str = Field(min_length=1)
    language: Name | None = Field(default=None, description="BCP 47 tag: en, zh")
    scenario: Name | None = None
    labels: tuple[Name, ...] = ()
    prompt_key: Key | None = Field(default=None, description="Digest of the row's content; run_prompts refers to it")


class RunPrompt(Record):
    """The reference from a run to the content of one of its prompts."""

    key = ("run_id", "prompt_id")

    run_id: Key
    prompt_id: Key
    prompt_key: Key


class Generation(Record):
    """One image or video made by a model. The media stay where they are; the row points to them."""

    key = ("generation_id",)

    generation_id: Key
    prompt_id: Key
    model: Name
    sample: Count = Field(default=0, description="which of several generations for the same prompt and model")
    turn: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="of an editing conversation the turn that made it, from 1; None: there was one instruction"
    )
    seed: int | None = None
    kind: MediaKind = MediaKind.IMAGE
    uri: Name = Field(description="path or URI of the media file")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    created_at: AwareDatetime | None = None
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="wall time of making it; where several were made at once, with its waiting"
    )
    memory_mb: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="peak memory until then in MiB: of the GPU, or without one of the process"
    )
    settings: str | None = Field(default=None, description="JSON text of what it was made with: steps, precision, build")


class JudgeCall(Record):
    """One request to a judge, whatever came of it. Never holds a secret: the request is kept as its hash."""

    key = ("call_id", "attempt")

    call_id: Key
    run_id: Key
    judge: Name
    judge_version: Name
    case_id: Key | None = Field(default=None, description="the case of the suite that the question was about")
    generation_id: Key | None = Field(default=None, description="None: the question was about none, or about several")
    step: Name | None = Field(default=None, description="the suite's name for the question, and '#2' for a re-ask")
    request_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    attempt: Annotated[int, Field(ge=1)]
    status: CallStatus
    finish: Finish | None = None
    cached: bool = Field(default=False, description="the reply came from a cache: nothing was sent or paid")
    http_status: Annotated[int, Field(ge=100, le=599)] | None = None
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    response_text: str | None = None
    parse_status: Name | None = Field(default=None, description="'parsed', or the reason why not")
    error: str | None = None
    tokens: str | None = Field(
        default=None, description="log-probabilities of the first and the last tokens as JSON, where they were asked for"
    )
    shown: str | None = Field(
        default=None,
        description="role and SHA-256 of each picture and video of the question, in its order, as JSON: "
        '[["source", "…"], ["result", "…"]]; None: there was none, or the row is older than the column',
    )


class Assessment(Record):
    """One label that a judge or a person gave to one generation (or withheld from it)."""

    key = ("assessment_id",)

    assessment_id: Key
    run_id: Key
    generation_id: Key
    taxonomy: Name
    label: Name = Field(description="the label's id in its taxonomy")
    present: bool = Field(description="false: the label was considered and does not apply")
    judge: Name
    judge_version: Name | None = None
    explanation: str | None = None
    made_of: Name | None = _MADE_OF


class Score(Record):
    """One number about one generation, or about a model as a whole; or the reason why it is missing.

    Exactly one of ``value`` and ``unscored_reason`` is set.
    """

    key = ("run_id", "suite", "task", "subject_model", "prompt_id", "generation_id", "dimension", "judge", "judge_version")
    rules = (_SCORED_OR_NOT,)

    run_id: Key
    suite: Name
    task: Name
    subject_model: Name
    prompt_id: Key | None = Field(default=None, description="None: the score is about the model over the whole task")
    generation_id: Key | None = None
    dimension: Name
    value: Finite | None = None
    unscored_reason: Name | None = None
    judge: Name
    judge_version: Name | None = None
    made_of: Name | None = _MADE_OF


class PublishedCell(Record):
    """One cell of a table that a paper printed; ``value`` is None for words and for an empty cell."""

    key = ("table_id", "row_name", "column_name")

    table_id: Key = Field(description="paper and table number: prism:1")
    paper: Name
    row_name: Name
    column_name: Name
    printed: str | None = Field(default=None, description="the text as printed; None: the paper leaves the cell empty")
    value: Finite | None = None
    unit: Name = Field(description="'text' holds words; 'count' and 'rank' are exact, every other number was rounded")
    row_kind: Name = Field(description="what a row is: generator, assessor, refiner, label, counts, setting, metric, persona")
    column_kind: Name = Field(description="what a column is: track, detail, overall, elo, rank, count, input, note")
    model: Name | None = Field(default=None, description="the registry's id; None: the row is no model")
    benchmark: Name | None = None
    judge: Name | None = None


class Battle(Record):
    """One pairwise comparison of two models."""

    key = ("battle_id",)
    rules = (
        RowRule("differ", ("model_b", "model_a"), "model_a and model_b must differ"),
        RowRule("not_before", ("answered_at", "started_at"), "answered_at must not lie before started_at"),
    )

    battle_id: Key
    suite: Name | None = Field(default=None, description="the benchmark or arena that the battle belongs to")
    prompt_id: Key | None = None
    model_a: Name
    model_b: Name
    winner: Winner
    rater_id: Name
    mode: Mode
    scenario: Name | None = None
    labels: tuple[Name, ...] = ()
    generation_a: Key | None = None
    generation_b: Key | None = None
    source: Name | None = Field(
        default=None, description="path or URI of what both edited or animated, where it was shown beside them"
    )
    side_a_shown: Side | None = None
    started_at: AwareDatetime | None = None
    answered_at: AwareDatetime | None = None
    is_anchor: bool = False
    expected_winner: Winner | None = None
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    plan_rule: Name | None = Field(
        default=None, description="the rule that planned the battle, as of salon votes next; None: not known to be planned"
    )
    plan_stream: Annotated[int, Field(ge=1, le=2)] | None = Field(
        default=None,
        description="the stream that it was planned in, from the votes of the other one; None: a plan of one stream",
    )


class Rating(Record):
    """One mean-opinion-score vote on one generation."""

    key = ("rating_id",)
    rules = (RowRule("between", ("value", "scale_min", "scale_max"), "value must lie between scale_min and scale_max"),)

    rating_id: Key
    prompt_id: Key
    generation_id: Key
    model: Name
    dimension: Name
    value: Finite
    scale_min: Finite
    scale_max: Finite
    rater_id: Name
    answered_at: AwareDatetime | None = None


class LeaderboardRow(Record):
    """One model's line on one leaderboard, with how it was made."""

    key = ("leaderboard_id", "board", "group", "model")

    leaderboard_id: Key
    board: Name
    group: Name | None = Field(default=None, description="the scenario, capability or rater; None is everything")
    model: Name
    rank: Annotated[int, Field(ge=1)]
    rating: Finite | None = Field(default=None, description="None: every battle of the model was judged both-bad and left out")
    ci_low: Finite | None = None
    ci_high: Finite | None = None
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    ci_method: Name | None = None
    matches: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(description="sum of the weights of its battles")
    win_rate: Annotated[float, Field(ge=0, le=1)]
    baseline: Name | None = None
    solver: Name
    estimator: Name | None = Field(
        default=None,
        description="maximum-likelihood or firth, then the tie model and the covariates; None: written before it was noted",
    )
    replicates: Count = 0
    seed: int | None = None
    excluded_by: Key | None = Field(
        default=None,
        description="the report (rater_flags.report_id) whose flagged raters' battles are not in the board; None: all are",
    )


class RaterFlag(Record):
    """One reason why one rater was flagged: observed value, threshold, and the threshold's policy.

    A flag is a finding; it deletes nothing. A leaderboard made without the flagged raters names the report in ``excluded_by``.
    A report without flagged raters has no rows.
    """

    key = ("report_id", "rater_id", "reason")

    report_id: Key
    rater_id: Name
    reason: Name = Field(description="the check: missed_anchors, too_fast, …")
    value: Finite | None = None
    threshold: Finite | None = None
    explanation: str | None = Field(default=None, description="the same in words")
    battles: Count = Field(description="the rater's battles among those that were looked at, which a leaderboard may leave out")
    policy: str | None = Field(default=None, description="JSON text of all thresholds")
    source: str | None = Field(default=None, description="where the battles came from")


class Reward(Record):
    """One reward paid for one completion of one policy; ``value`` is None when the reward abstained."""

    key = ("run_id", "step", "completion_id", "reward")
    rules = (_SCORED_OR_NOT,)

    run_id: Key
    step: Count
    completion_id: Key
    prompt_id: Key | None = None
    reward: Name
    value: Finite | None = None
    unscored_reason: Name | None = None
    weight: Finite = 1.0


class GateRow(Record):
    """One measure of one gate: a new build held against a base.

    The same scores held against the same plan have the same ``gate_id``, so that a gate that runs again adds nothing.
    """

    key = ("gate_id", "measure")

    gate_id: Key = Field(description="digest of both builds' scores, measured pictures and battles, and of the plan")
    gated_at: AwareDatetime
    base: Name = Field(description="the base: a run, a table's file, or a folder")
    new: Name = Field(description="the new build: a run, a table's file, or a folder")
    model: Name | None = Field(default=None, description="subject_model of the new build's scores; None: there were none")
    plan_id: Key = Field(description="digest of the measures, margins and level")
    suite: Name | None = None
    measure: Name
    verdict: Name = Field(description="better, not worse, worse, or cannot say")
    base_mean: Finite | None = None
    new_mean: Finite | None = None
    difference: Finite | None = Field(default=None, description="new less base in the good direction: below 0 is worse")
    low: Finite | None = Field(default=None, description="the one-sided lower end of the difference")
    high: Finite | None = None
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    limit: Finite | None = Field(
        default=None,
        description="of a measure against the base's pictures; its margin is from equal ones to here",
    )
    level: Annotated[float, Field(gt=0, lt=0.5)]
    faster: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="the base's median seconds per picture over the new build's"
    )
    prompts: Count
    unscored: Count = Field(default=0, description="prompts without a verdict on some side; in no mean")


TABLES: dict[str, type[Record]] = {
    "runs": Run,
    "run_events": RunEvent,
    "prompts": Prompt,
    "run_prompts": RunPrompt,
    "generations": Generation,
    "judge_calls": JudgeCall,
    "assessments": Assessment,
    "scores": Score,
    "published": PublishedCell,
    "battles": Battle,
    "ratings": Rating,
    "leaderboards": LeaderboardRow,
    "rater_flags": RaterFlag,
    "rewards": Reward,
    "gates": GateRow,
}
"""Every table of the result store and the record that is one row of it."""
