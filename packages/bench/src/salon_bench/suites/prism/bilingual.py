"""One generator in two languages: PRISM-Bench and PRISM-Bench-ZH side by side, with the interval of the difference.

Prompts whose ids are the same, but for a ``-zh`` at the end of the Chinese one, are translations of each other; the bootstrap
draws them together, so what makes a scene hard in both languages cancels in the difference.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.suites.contract.metrics import REPLICATES
from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.prism.fidelity import CountingRules
from salon_bench.suites.prism.scoring import (
    SEED,
    Floats,
    Sums,
    by_track,
    counts,
    ends_of,
    lone,
    names,
    numbers,
    prompts_of,
    resampled,
    sums,
)
from salon_judges.formats.prism_tracks import Language
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.errors import InputError

_SCHEMA = {
    "metric": pl.String,
    "group": pl.String,
    "english": pl.Float64,
    "chinese": pl.Float64,
    "difference": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "english_scored": pl.Int64,
    "english_unscored": pl.Int64,
    "chinese_scored": pl.Int64,
    "chinese_unscored": pl.Int64,
}


def side_by_side(
    english: pl.DataFrame,
    chinese: pl.DataFrame,
    fidelity: Fidelity = "paper",
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Summary:
    """Return the numbers of one subject model in both languages.

    Args:
        english, chinese: rows of scores of one subject model each, columns as in the store.
        fidelity: whose rules count.
        replicates: of the bootstrap; 0 gives no intervals.
        seed: of its draws.

    Returns:
        One row per number of :func:`~.scoring.summarize`: both values, ``difference`` (Chinese less English, in points of
        100) with its 95% interval, and the verdicts behind each. Null where a language has no value.

    Raises:
        InputError: as :func:`~.scoring.summarize`, and where a language has rows of several models, judges or versions of one.
    """
    for language, scores in zip(Language, (english, chinese), strict=True):
        for column in ("subject_model", "judge", "judge_version"):
            several = scores[column].unique().sort().to_list() if column in scores.columns else []
            if len(several) > 1:
                problem = f"the rows in {language.name.capitalize()} are of several:"
                raise InputError(problem, column=column, value=", ".join(map(str, several)))
    rules = CountingRules.of(fidelity)
    one, other = sums(english), sums(chinese)
    track, columns, shared = _joined(one, other)
    values = [numbers(by_track(each.track, each.total), by_track(each.track, each.scored), rules) for each in (one, other)]
    drawn = resampled(track, columns, replicates, seed)
    drawn[:, np.concatenate([lone(one), lone(other)], axis=1)] = np.nan
    drawn_difference = numbers(drawn[:, :, 2], drawn[:, :, 3], rules) - numbers(drawn[:, :, 0], drawn[:, :, 1], rules)
    difference = values[1] - values[0]
    low, high = ends_of(drawn_difference, difference, np.minimum(prompts_of(one), prompts_of(other)))
    known = ~np.isnan(difference)
    table = pl.DataFrame(
        {
            "metric": [metric for metric, _ in names()],
            "group": [group for _, group in names()],
            "english": values[0],
            "chinese": values[1],
            "difference": difference,
            "ci_low": np.where(known, low.round(9), np.nan),
            "ci_high": np.where(known, high.round(9), np.nan),
            "english_scored": counts(one.track, one.scored),
            "english_unscored": counts(one.track, one.unscored),
            "chinese_scored": counts(other.track, other.scored),
            "chinese_unscored": counts(other.track, other.unscored),
        },
        schema=_SCHEMA,
        strict=False,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return Summary(table, (_note(shared, len(one.prompt), len(other.prompt), replicates, seed),))


def _joined(one: Sums, other: Sums) -> tuple[NDArray[np.int64], Floats, int]:
    """Prompts of both languages as one list: tracks, shape (prompts,); sums, shape (prompts, 4, 2); how many are in both.

    The four are total and number of verdicts in English, then in Chinese; 0 where a prompt is not in a language.
    """
    keys = [
        [
            (track, prompt.removesuffix(language.id_ending))
            for track, prompt in zip(each.track.tolist(), each.prompt, strict=True)
        ]
        for language, each in zip(Language, (one, other), strict=True)
    ]
    places = {key: place for place, key in enumerate(dict.fromkeys([*keys[0], *keys[1]]))}
    columns = np.zeros((len(places), 4, one.total.shape[1]))
    for first, scores, mine in ((0, one, keys[0]), (2, other, keys[1])):
        rows = [places[key] for key in mine]
        np.add.at(columns, (rows, first), scores.total)
        np.add.at(columns, (rows, first + 1), scores.scored)
    track = np.array([key[0] for key in places], dtype=np.int64)
    return track, columns, len(set(keys[0]) & set(keys[1]))


def _note(shared: int, english: int, chinese: int, replicates: int, seed: int) -> str:
    pairs = f"{shared} prompts are in both languages by their ids ({english} English, {chinese} Chinese)."
    if not replicates:
        return pairs
    return (
        f"{pairs} 95% intervals of the difference: percentile bootstrap over prompts within tracks, those in both "
        f"languages drawn together, {replicates} replicates, seed {seed}."
    )
