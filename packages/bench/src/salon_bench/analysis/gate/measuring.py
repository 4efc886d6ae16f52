"""Take a plan's measures of pictures: pixel by pixel, by features, and of whole sets by features."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.analysis.between_builds import FLICKER, MEASURES, between, bytes_of, paired_files
from salon_bench.analysis.gate.pairing import SIMILARITY
from salon_bench.analysis.gate.plan import GatePlan
from salon_bench.analysis.set_measures import SET_MEASURES, set_measures
from salon_judges.formats.generations import Generated
from salon_judges.scorers.features import FeatureFunction, open_features
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, decode
from salon_taxonomy.verdict import Reason, Unscored

if TYPE_CHECKING:
    from salon_ranking.options import Progress

SETS: Final = {name: 0.0 if measure.lower else 1.0 for name, measure in SET_MEASURES.items() if not name.startswith("vendi")}
"""Measures of sets that a gate may limit, with their value where the sets are alike."""
_BATCH: Final = 16
_PROBE: Final = np.zeros((192, 192, 3), np.uint8)


def measured(
    base: Sequence[Generated],
    new: Sequence[Generated],
    plan: GatePlan,
    *,
    names: tuple[str, str] = ("base", "new"),
    progress: "Progress | None" = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take the plan's measures with a limit.

    Args:
        base, new: the files of each build.
        plan: names the measures, and the function of features that some need.
        names: what errors call the two.
        progress: called with the pictures that are done and their number.

    Returns:
        Rows of two pictures (:func:`~salon_bench.analysis.between_builds.between`), and rows of whole sets
        (:func:`~salon_bench.analysis.set_measures.set_measures`) with ``prompts`` and ``unscored`` (prompts of which a picture
        cannot be read, which are in no set).

    Raises:
        InputError: there is no such measure, a side lacks a file that the other has, or features are missing or wrong.
    """
    asked = [*plan.of_pictures]
    allowed = [*MEASURES, FLICKER, SIMILARITY, *SETS]
    for name in asked:
        if name not in allowed:
            raise InputError("is no measure of pictures:", key=f"measures.{name}", value=name, allowed=allowed)
    pixels = [name for name in asked if name in MEASURES or name == FLICKER]
    of_features = [name for name in asked if name not in pixels]
    function = None
    if of_features:
        if plan.features is None:
            hint = 'Write features = "transformers:NAME", or "./FILE.py:FUNCTION", above the measures.'
            raise InputError("needs a function of features", key=f"measures.{of_features[0]}", hint=hint)
        function = open_features(plan.features)
    parts, sets = [], pl.DataFrame()
    for name in pixels:
        if name in MEASURES:
            MEASURES[name].function(_PROBE, _PROBE)  # a missing extra or missing weights end here, not in every row
    if pixels:
        parts.append(between(base, new, pixels, names=names, progress=progress))
    if function is not None:
        alike, sets = _by_features(paired_files(base, new, names), function, of_features, plan.level, progress)
        parts.append(alike)
    return pl.concat(parts, how="diagonal"), sets


def _by_features(
    pairs: Sequence[tuple[Generated, Generated]],
    function: FeatureFunction,
    measures: Sequence[str],
    level: float,
    progress: "Progress | None",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    sides: list[list[NDArray[np.float64] | str]] = []
    for place in range(2):
        found: list[NDArray[np.float64] | str] = []
        for start in range(0, len(pairs), _BATCH):
            found += _features([pair[place] for pair in pairs[start : start + _BATCH]], function)
            if progress is not None:
                progress(place * len(pairs) + len(found), 2 * len(pairs))
        sides.append(found)
    rows = [_likeness(pair, *both) for pair, *both in zip(pairs, *sides, strict=True)] if SIMILARITY in measures else []
    alike = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    wanted = [name for name in measures if name in SETS]
    if not wanted:
        return alike, pl.DataFrame()
    lost = {pair[0].prompt_id for pair, *both in zip(pairs, *sides, strict=True) if any(isinstance(each, str) for each in both)}
    kept = [place for place, pair in enumerate(pairs) if pair[0].prompt_id not in lost]
    prompts = [pairs[place][0].prompt_id for place in kept]
    arrays = [np.array([side[place] for place in kept], np.float64).reshape(len(kept), -1) for side in sides]
    sets = set_measures(arrays[0], arrays[1], wanted, base_prompts=prompts, new_prompts=prompts, level=level)
    return alike, sets.with_columns(prompts=pl.lit(len({*prompts})), unscored=pl.lit(len(lost)))


_SCHEMA: Final = {
    "prompt_id": pl.String,
    "sample": pl.Int64,
    "measure": pl.String,
    "value": pl.Float64,
    "identical": pl.Boolean,
    "reason": pl.String,
    "detail": pl.String,
}


def _features(files: Sequence[Generated], function: FeatureFunction) -> list[NDArray[np.float64] | str]:
    """Return the features of each file, or why it has none."""
    pictures: list[Any] = [_picture(file) for file in files]
    shown = [each for each in pictures if not isinstance(each, str)]
    rows = iter(function(shown) if shown else ())
    return [each if isinstance(each, str) else next(rows) for each in pictures]


def _picture(file: Generated) -> Any:
    content = bytes_of(file, DEFAULT_LIMITS.most_bytes)
    if isinstance(content, Unscored):
        return content.detail or "the file cannot be read"
    decoded = decode(content)
    return decoded.detail if isinstance(decoded, Unscored) else decoded.image.convert("RGB")


def _likeness(
    pair: tuple[Generated, Generated], base: NDArray[np.float64] | str, new: NDArray[np.float64] | str
) -> tuple[Any, ...]:
    key = (pair[1].prompt_id, pair[1].sample, SIMILARITY)
    for each in (base, new):
        if isinstance(each, str):
            return (*key, None, False, Reason.BAD_MEDIA.value, each)
    length = float(np.linalg.norm(base) * np.linalg.norm(new))
    same = pair[0].sha256 is not None and pair[0].sha256 == pair[1].sha256
    if not length > 0.0:
        return (*key, None, False, Reason.MALFORMED.value, "the features are all 0")
    return (*key, 1.0 if same else min(1.0, float(np.dot(base, new)) / length), same, None, None)
