"""Take a plan's measures of pictures: pixel by pixel, by features, and of whole sets by features.

Features are kept in a store's cache by the content of the picture, a file for each function of features.
"""

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.analysis.between_builds import FLICKER, MEASURES, between, bytes_of, paired_files
from salon_bench.analysis.gate.pairing import SIMILARITY
from salon_bench.analysis.gate.plan import DIVERSITY, GatePlan
from salon_bench.analysis.set_measures import SET_MEASURES, set_measures, vendi_score
from salon_judges.formats.generations import Generated
from salon_judges.scorers.features import FeatureFunction, open_features
from salon_store.metadata import is_store
from salon_store.places import place_of
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, decode
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason, Unscored
from salon_taxonomy.whole_files import write_whole

if TYPE_CHECKING:
    from salon_ranking.options import Progress

SETS: Final = {
    name: 0.0 if measure.lower else 1.0 for name, measure in SET_MEASURES.items() if name not in ("vendi", "vendi_base")
}
"""Measures of sets that a gate may limit, with their value where the sets are alike."""
_BATCH: Final = 16
_MOST_KEPT: Final = 100_000
_PROBE: Final = np.zeros((192, 192, 3), np.uint8)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of the pictures of two builds.

    Attributes:
        against: rows of two pictures (:func:`~salon_bench.analysis.between_builds.between`).
        sets: rows of whole sets (:func:`~salon_bench.analysis.set_measures.set_measures`) with ``prompts`` and ``unscored``
            (prompts of which a picture cannot be read, which are in no set).
        diversity: rows of prompts (:func:`~salon_bench.analysis.gate.pairing.of_diversity`); None where it is not asked for.
    """

    against: pl.DataFrame
    sets: pl.DataFrame
    diversity: pl.DataFrame | None = None

    @property
    def tables(self) -> list[pl.DataFrame]:
        """The tables that have rows."""
        return [each for each in (self.against, self.sets, self.diversity) if each is not None and not each.is_empty()]

    @property
    def names(self) -> set[str]:
        """The measures."""
        measures = {name for each in (self.against, self.sets) if not each.is_empty() for name in each["measure"]}
        return measures | (set() if self.diversity is None else {DIVERSITY})


def measured(
    base: Sequence[Generated],
    new: Sequence[Generated],
    plan: GatePlan,
    *,
    names: tuple[str, str] = ("base", "new"),
    store: StoreAddress | None = None,
    progress: "Progress | None" = None,
) -> Measured:
    """Take the plan's measures of pictures.

    Args:
        base, new: the files of each build.
        plan: names the measures, and the function of features that some need.
        names: what errors call the two.
        store: where features are kept; None, and where no store is, nowhere.
        progress: called with the pictures that are done and their number.

    Raises:
        InputError: there is no such measure, a side lacks a file that the other has, or features are missing or wrong.
    """
    asked = [*plan.of_pictures]
    allowed = [*MEASURES, FLICKER, SIMILARITY, DIVERSITY, *SETS]
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
    for name in pixels:
        if name in MEASURES:
            MEASURES[name].function(_PROBE, _PROBE)  # a missing extra or missing weights end here, not in every row
    against = between(base, new, pixels, names=names, progress=progress) if pixels else pl.DataFrame(schema=_SCHEMA)
    if function is None:
        return Measured(against, pl.DataFrame())
    by_features = _by_features(
        paired_files(base, new, names), _KeptFeatures(function, store), of_features, plan.level, progress
    )
    return Measured(pl.concat([against, by_features.against], how="diagonal"), by_features.sets, by_features.diversity)


def _by_features(
    pairs: Sequence[tuple[Generated, Generated]],
    kept: "_KeptFeatures",
    measures: Sequence[str],
    level: float,
    progress: "Progress | None",
) -> Measured:
    sides: list[list[NDArray[np.float64] | str]] = []
    for build in range(2):
        features: list[NDArray[np.float64] | str] = []
        for start in range(0, len(pairs), _BATCH):
            features += kept.of([pair[build] for pair in pairs[start : start + _BATCH]])
            if progress is not None:
                progress(build * len(pairs) + len(features), 2 * len(pairs))
        sides.append(features)
    kept.save()
    rows = [_likeness(pair, *both) for pair, *both in zip(pairs, *sides, strict=True)] if SIMILARITY in measures else []
    alike = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    diversity = _diversity(pairs, sides) if DIVERSITY in measures else None
    wanted = [name for name in measures if name in SETS]
    if not wanted:
        return Measured(alike, pl.DataFrame(), diversity)
    lost = {pair[0].prompt_id for pair, *both in zip(pairs, *sides, strict=True) if any(isinstance(each, str) for each in both)}
    whole = [place for place, pair in enumerate(pairs) if pair[0].prompt_id not in lost]
    prompts = [pairs[place][0].prompt_id for place in whole]
    arrays = [np.array([side[place] for place in whole], np.float64).reshape(len(whole), -1) for side in sides]
    sets = set_measures(arrays[0], arrays[1], wanted, base_prompts=prompts, new_prompts=prompts, level=level)
    return Measured(alike, sets.with_columns(prompts=pl.lit(len({*prompts})), unscored=pl.lit(len(lost))), diversity)


def _diversity(
    pairs: Sequence[tuple[Generated, Generated]], sides: Sequence[Sequence[NDArray[np.float64] | str]]
) -> pl.DataFrame:
    """Return the Vendi score of each prompt's pictures in both builds; none for a prompt with a picture without features."""
    places: dict[str, list[int]] = {}
    for position, (file, _) in enumerate(pairs):
        places.setdefault(file.prompt_id, []).append(position)
    rows = []
    for prompt_id, own in places.items():
        features = [[side[place] for place in own] for side in sides]
        values = [None if any(isinstance(each, str) for each in side) else vendi_score(np.array(side)) for side in features]
        lost = [sum(isinstance(each, str) for each in side) for side in features]
        known = values if None not in values else [None, None]
        rows.append((prompt_id, *known, lost[1] > lost[0], len(own)))
    schema = {"prompt_id": pl.String, "base": pl.Float64, "new": pl.Float64, "silent": pl.Boolean, "pictures": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


_SCHEMA: Final = {
    "prompt_id": pl.String,
    "sample": pl.Int64,
    "measure": pl.String,
    "value": pl.Float64,
    "identical": pl.Boolean,
    "reason": pl.String,
    "detail": pl.String,
}


class _KeptFeatures:
    """Features of files, with those that a store keeps of an earlier gate.

    Args:
        function: of features; nothing is kept of one without a version.
        store: where; None: nowhere.
    """

    def __init__(self, function: FeatureFunction, store: StoreAddress | None) -> None:
        self._function = function
        self._path: Path | None = None
        if store is not None and function.version is not None and is_store(store):
            self._path = place_of(store).layout.cache / f"features-{function.version[:32]}.npz"
        self._kept = _read_features(self._path)
        self._is_new = False

    def of(self, files: Sequence[Generated]) -> list[NDArray[np.float64] | str]:
        """Return the features of each file, or why it has none."""
        contents = [bytes_of(file, DEFAULT_LIMITS.most_bytes) for file in files]
        digests = [
            "" if isinstance(content, Unscored) else file.sha256 or hashlib.sha256(content).hexdigest()
            for file, content in zip(files, contents, strict=True)
        ]
        missing = {
            sha256: _picture(content)
            for sha256, content in zip(digests, contents, strict=True)
            if not isinstance(content, Unscored) and sha256 not in self._kept
        }
        pictures = {sha256: picture for sha256, picture in missing.items() if not isinstance(picture, str)}
        if pictures:
            rows = self._function([*pictures.values()])
            if self._kept and len(next(iter(self._kept.values()))) != rows.shape[1]:
                hint = "Give the function another version, or delete the file."
                raise InputError("has features of another width", source=self._path or self._function.name, hint=hint)
            self._kept |= zip(pictures, rows, strict=True)
            self._is_new = True
        return [
            (content.detail or "the file cannot be read")
            if isinstance(content, Unscored)
            else self._kept[sha256]
            if sha256 in self._kept
            else missing[sha256]
            for sha256, content in zip(digests, contents, strict=True)
        ]

    def save(self) -> None:
        """Write what is new into the store's cache, with what another gate wrote meanwhile; it is left where that fails."""
        if self._path is None or not self._is_new:
            return
        newest = dict([*(_read_features(self._path) | self._kept).items()][-_MOST_KEPT:])
        file = io.BytesIO()
        np.savez(file, sha256=np.array([*newest], "S64"), features=np.array([*newest.values()]))
        content = file.getvalue()
        with suppress(InputError):
            write_whole(self._path, hashlib.sha256(content).digest() + content, parents=True)


def _read_features(path: Path | None) -> dict[str, NDArray[np.float64]]:
    """Return the features of a cache by SHA-256; an empty one where the file is missing or does not begin with its digest."""
    if path is None:
        return {}
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        return {}
    with np.load(io.BytesIO(content[32:]), allow_pickle=False) as file:
        return {name.decode("ascii"): row for name, row in zip(file["sha256"].tolist(), file["features"], strict=True)}


def _picture(content: bytes) -> Any:
    """Return the picture, or why it cannot be shown."""
    decoded = decode(content)
    return decoded.detail if isinstance(decoded, Unscored) else decoded.image.convert("RGB")


def _likeness(
    pair: tuple[Generated, Generated], base: NDArray[np.float64] | str, new: NDArray[np.float64] | str
) -> tuple[Any, ...]:
    key = (pair[1].prompt_id, pair[1].sample, SIMILARITY)
    for features in (base, new):
        if isinstance(features, str):
            return (*key, None, False, Reason.BAD_MEDIA.value, features)
    length = float(np.linalg.norm(base) * np.linalg.norm(new))
    same = pair[0].sha256 is not None and pair[0].sha256 == pair[1].sha256
    if not length > 0.0:
        return (*key, None, False, Reason.MALFORMED.value, "the features are all 0")
    return (*key, 1.0 if same else min(1.0, float(np.dot(base, new)) / length), same, None, None)
