"""What a build is held against: measures with their margins or limits, and the level."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml

LEVEL: Final = 0.05
PREFERRED: Final = "preferred"
"""The measure of battles: the new build's wins less the base's, by prompt, from −1 to 1."""
DIVERSITY: Final = "diversity"
"""The measure of how unlike the pictures of one prompt are, by features: their Vendi score."""


@dataclass(frozen=True, slots=True)
class MeasureRule:
    """How a measure is judged.

    Attributes:
        margin: how much worse is still allowed, in the measure's unit, above 0; None for a measure with a limit.
        lower: whether less is better.
        range: the least and the largest value that the measure can take; None: those of its rows, and 0.
        limit: of a measure of the new picture against the base's own, such as SSIM: what its mean must reach, or, where less
            is better, not exceed; None for a measure with a margin.
        sampled: of battles: they were fought over some of the prompts, drawn at random, so that none is missing elsewhere.
    """

    margin: float | None
    lower: bool = False
    range: tuple[float, float] | None = None
    limit: float | None = None
    sampled: bool = False

    def __post_init__(self) -> None:
        if (self.margin is None) == (self.limit is None):
            raise InputError("a measure has either a margin or a limit")
        if self.margin is not None and not (math.isfinite(self.margin) and self.margin > 0.0):
            raise InputError("a margin is a number above 0, not", key="margin", value=self.margin)
        if self.limit is not None and not math.isfinite(self.limit):
            raise InputError("a limit is a finite number, not", key="limit", value=self.limit)
        if self.range is not None and not (self.range[0] < self.range[1] and all(map(math.isfinite, self.range))):
            raise InputError("a range is two numbers, the lower one first, not", key="range", value=self.range)


@dataclass(frozen=True, slots=True)
class GatePlan:
    """What a build is held against.

    Attributes:
        measures: by name, a dimension of the scores; empty: all dimensions, by ``margin``.
        margin: of every dimension, where no measures are named.
        level: the chance with which a build that is worse by a margin may pass, between 0 and 0.5.
        primary: the one measure that decides; None: all do. Others are shown all the same.
        features: names the function of features that ``similarity``, ``diversity`` and measures of sets need
            (:func:`~salon_judges.scorers.features.open_features`).
    """

    measures: Mapping[str, MeasureRule]
    margin: float | None = None
    level: float = LEVEL
    primary: str | None = None
    features: str | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 0.5:
            raise InputError("must lie between 0 and 0.5, not", key="level", value=self.level)
        if self.margin is not None:
            MeasureRule(self.margin)
        if bool(self.measures) == (self.margin is not None):
            raise InputError("a plan has either measures or one margin for all", hint="Write [measures.NAME] with a margin.")
        if self.primary is not None and self.primary not in self.measures:
            raise InputError("is no measure of the plan:", key="primary", value=self.primary, allowed=[*self.measures])

    @classmethod
    def read(cls, path: str | Path) -> "GatePlan":
        """Read a plan: ``level``, ``primary`` and ``features`` (all optional) and tables ``[measures.NAME]``.

        A measure has ``margin`` and, optionally, ``better``, ``range`` and (of battles) ``sampled``; or ``at_least`` or
        ``at_most``, a limit, and optionally ``range``.

        Raises:
            InputError: the file is no such plan.
        """
        document = read_toml(path, "plan")
        try:
            known = ["level", "primary", "features", "measures"]
            unknown = set(document) - {*known}
            if unknown:
                raise InputError("unknown key", value=min(unknown), allowed=known)
            measures = document.get("measures", {})
            if not isinstance(measures, dict):
                raise InputError("must be a table of measures", key="measures", value=measures)
            rules = {name: _rule(name, values) for name, values in measures.items()}
            texts = {name: document.get(name) for name in ("primary", "features")}
            for name, value in texts.items():
                if value is not None and not isinstance(value, str):
                    raise InputError("must be a name, not", key=name, value=value)
            return cls(rules, level=_number("level", document.get("level", LEVEL)), **texts)
        except InputError as error:
            raise error.at(source=path) from error

    @property
    def of_pictures(self) -> dict[str, MeasureRule]:
        """The measures that need the pictures of both builds: those with a limit, and diversity by features."""
        return {
            name: rule
            for name, rule in self.measures.items()
            if rule.limit is not None or (name == DIVERSITY and self.features is not None)
        }

    def of_scores(self, dimensions: list[str], *, has_battles: bool) -> dict[str, MeasureRule]:
        """Return the rules of the measures that are dimensions of scores.

        Args:
            dimensions: of the scores.
            has_battles: ``preferred`` is read from battles.

        Raises:
            InputError: a measure is none of the dimensions.
        """
        if self.margin is not None:
            return {name: MeasureRule(self.margin) for name in dimensions}
        named = {name: rule for name, rule in self.measures.items() if name not in self.of_pictures}
        if has_battles:
            named.pop(PREFERRED, None)
        for name in named:
            if name not in dimensions:
                raise InputError("the scores have no such measure:", value=name, allowed=dimensions)
        return named


_LIMITS: Final = {"at_least": False, "at_most": True}


def _rule(name: str, values: object) -> MeasureRule:
    key = f"measures.{name}"
    allowed = ["margin", "better", *_LIMITS, "range", "sampled"]
    if not isinstance(values, dict) or set(values) - {*allowed}:
        raise InputError("a measure is a table of", key=key, value=values, allowed=allowed)
    ends = values.get("range")
    if ends is not None and not (isinstance(ends, list) and len(ends) == 2):
        raise InputError("a range is two numbers, not", key=f"{key}.range", value=ends)
    span = None if ends is None else (_number(f"{key}.range", ends[0]), _number(f"{key}.range", ends[1]))
    limits = [each for each in _LIMITS if each in values]
    if limits:
        if len(values) - (span is not None) > 1:
            raise InputError("a measure has one limit, and then neither margin nor better", key=key, value=values)
        return MeasureRule(None, _LIMITS[limits[0]], span, _number(f"{key}.{limits[0]}", values[limits[0]]))
    better = values.get("better", "higher")
    if better not in ("higher", "lower"):
        raise InputError("is wrong:", key=f"{key}.better", value=better, allowed=["higher", "lower"])
    if "margin" not in values:
        raise InputError("is missing", key=f"{key}.margin")
    sampled = values.get("sampled", False)
    if not isinstance(sampled, bool) or (sampled and name != PREFERRED):
        raise InputError(f"is true or false, and for {PREFERRED} alone, not", key=f"{key}.sampled", value=sampled)
    return MeasureRule(_number(f"{key}.margin", values["margin"]), better == "lower", span, sampled=sampled)


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("must be a number, not", key=key, value=value)
    try:
        return float(value)
    except OverflowError as error:
        raise InputError("is too large", key=key) from error
