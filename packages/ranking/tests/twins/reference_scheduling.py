"""The readable twin of the Rust scheduler (``rust/salon-core/src/scheduling.rs``): the same plans from the same seeds.

It draws the same random numbers in the same order, but looks for the best pair by looking at every pair, and keeps whole
matrices. Tests hold the two together row by row; ``solver="reference"`` chooses it by name.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.uint32]

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TRIES = 16


class Stream:
    """xoshiro256++ 1.0 (Blackman & Vigna 2019), filled by SplitMix64, as ``random.rs``."""

    def __init__(self, seed: int, index: int) -> None:
        counter = _scramble(seed) + _scramble(~index & _WORD)
        self._state = [_scramble((counter + step * _GOLDEN) & _WORD) for step in range(1, 5)]

    def bits(self) -> int:
        """64 uniform bits."""
        a, b, c, d = self._state
        result = (_rotate((a + d) & _WORD, 23) + a) & _WORD
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        self._state = [a, b, c ^ ((self._state[1] << 17) & _WORD), _rotate(d, 45)]
        return result

    def share(self) -> float:
        """A uniform number from 0 to below 1."""
        return (self.bits() >> 11) / (1 << 53)

    def below(self, bound: int) -> int:
        """A uniform integer in 0 … bound-1 without bias (Lemire 2019)."""
        wide = self.bits() * bound
        while (wide & _WORD) < bound and (wide & _WORD) < (1 << 64) % bound:
            wide = self.bits() * bound
        return wide >> 64


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _WORD


def _scramble(value: int) -> int:
    z = (value + _GOLDEN) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def schedule(
    log_strengths: Floats,
    matches: Floats,
    rule: str,
    count: int,
    seed: int,
    covariance: Floats | None = None,
    start: NDArray[np.uint64] | None = None,
    prompt: Indices | None = None,
    samples: Indices | None = None,
) -> list[Indices]:
    """As ``_core.schedule``."""
    pairs, details = Stream(seed, 0), Stream(seed, 1)
    shelf = None if start is None or prompt is None or samples is None else (start, prompt, samples)
    # The system's exp, as in Rust: NumPy's own may differ in the last bit, and that would decide between equals.
    gaps = np.abs(log_strengths[:, None] - log_strengths[None, :])
    odds = np.array([[math.exp(-gap) for gap in row] for row in gaps.tolist()]).reshape(gaps.shape)
    information = odds / ((1.0 + odds) * (1.0 + odds))
    if rule == "information" and covariance is not None:
        rows = _by_information(information, covariance, count, pairs, details, shelf)
    elif rule == "proportional" and covariance is not None:
        rows = _in_proportion(information, covariance, count, pairs, details, shelf)
    elif rule == "mef":
        rows = _by_weight(information, matches, count, pairs, details, shelf)
    else:
        rows = _in_rounds(len(log_strengths), count, pairs, details, shelf)
    columns = np.array(rows, dtype=np.uint32).reshape(-1, 7)
    return [np.ascontiguousarray(column) for column in columns.T]


Shelf = tuple[NDArray[np.uint64], Indices, Indices]
Row = tuple[int, int, int, int, int, int, int]


def _in_rounds(models: int, count: int, pairs: Stream, details: Stream, shelf: Shelf | None) -> list[Row]:
    """Rounds of all pairs, each in a random order."""
    rows: list[Row] = []
    playable = [(i, j) for i in range(models) for j in range(i + 1, models)]
    while len(rows) < count and playable:
        apart = set()
        for _, (i, j) in sorted((pairs.bits(), pair) for pair in playable):
            if len(rows) < count:
                row = _row(i, j, details, shelf)
                rows += [row] if row is not None else []
                apart |= {(i, j)} if row is None else set()
        playable = [pair for pair in playable if pair not in apart]
    return rows


def _by_weight(
    information: Floats, matches: Floats, count: int, pairs: Stream, details: Stream, shelf: Shelf | None
) -> list[Row]:
    """One by one in proportion to p(1 - p) / (1 + matches); a planned battle counts at once."""
    first, second = np.triu_indices(len(information), 1)
    even, met = information[first, second], matches[first, second].copy()
    playable = np.ones(len(first))
    rows: list[Row] = []
    while len(rows) < count:
        sums = np.cumsum(playable * even / (1.0 + met))
        if not sums[-1] > 0.0:
            break
        at = int(np.searchsorted(sums, pairs.share() * sums[-1], side="right"))
        row = _row(int(first[at]), int(second[at]), details, shelf)
        if row is None:
            playable[at] = 0.0
        else:
            rows.append(row)
            met[at] += 1.0
    return rows


def _by_information(
    information: Floats, covariance: Floats, count: int, pairs: Stream, details: Stream, shelf: Shelf | None
) -> list[Row]:
    """One by one the largest p(1 - p) · Var(θ_i - θ_j); equal ones by lot."""
    first, second = np.triu_indices(len(information), 1)
    lot = np.array([pairs.bits() for _ in first], dtype=np.uint64)
    curvature, covariance = information[first, second], covariance.copy()
    playable = np.ones(len(first), dtype=bool)
    rows: list[Row] = []
    while len(rows) < count and playable.any():
        variance = np.diag(covariance)[first] + np.diag(covariance)[second] - 2.0 * covariance[second, first]
        gain = np.where(playable, curvature * variance, -np.inf).astype(np.float32)  # what agrees to 7 digits is equal
        best = np.flatnonzero(gain == gain.max())
        at = best[np.argmax(lot[best])]
        row = _row(int(first[at]), int(second[at]), details, shelf)
        if row is None:
            playable[at] = False
            continue
        rows.append(row)
        covariance = _learned(covariance, curvature[at], first[at], second[at])
    return rows


def _in_proportion(
    information: Floats, covariance: Floats, count: int, pairs: Stream, details: Stream, shelf: Shelf | None
) -> list[Row]:
    """One by one in proportion to p(1 - p) · Var(θ_i - θ_j): drawn by old gains, kept with probability new/old."""
    first, second = np.triu_indices(len(information), 1)
    for _ in first:
        pairs.bits()
    curvature, covariance = information[first, second], covariance.copy()

    def gains() -> Floats:
        found: Floats = curvature * (np.diag(covariance)[first] + np.diag(covariance)[second] - 2.0 * covariance[second, first])
        return np.maximum(found, 0.0)

    old = gains()
    rows: list[Row] = []
    while len(rows) < count:
        sums = np.cumsum(old)
        if not sums[-1] > 0.0:
            break
        at = int(np.searchsorted(sums, pairs.share() * sums[-1], side="right"))
        before, now = old[at], gains()[at]
        old[at] = now
        if pairs.share() * before >= now:
            continue
        row = _row(int(first[at]), int(second[at]), details, shelf)
        if row is None:
            curvature[at] = old[at] = 0.0
            continue
        rows.append(row)
        covariance = _learned(covariance, curvature[at], first[at], second[at])
    return rows


def _learned(covariance: Floats, curvature: float, first: int, second: int) -> Floats:
    """After one more match of two models (Sherman & Morrison 1950)."""
    change = covariance[:, first] - covariance[:, second]
    scale = curvature / (1.0 + curvature * (change[first] - change[second]))
    after = covariance - np.multiply.outer(scale * change, change)
    whole: Floats = np.tril(after) + np.tril(after, -1).T
    return whole


def _row(i: int, j: int, details: Stream, shelf: Shelf | None) -> Row | None:
    """a, b, entries, samples, and 1 where a is on the left; None when the two share no prompt."""
    entry_i, entry_j, sample_i, sample_j = 0, 0, 0, 0
    if shelf is not None:
        found = _common_prompt(i, j, details, shelf)
        if found is None:
            return None
        entry_i, entry_j = found
        sample_i, sample_j = details.below(int(shelf[2][entry_i])), details.below(int(shelf[2][entry_j]))
    toss = details.bits() >> 62
    left = int(toss & 2 == 0)
    if toss & 1 == 0:
        return i, j, entry_i, entry_j, sample_i, sample_j, left
    return j, i, entry_j, entry_i, sample_j, sample_i, left


def _common_prompt(i: int, j: int, details: Stream, shelf: Shelf) -> tuple[int, int] | None:
    """Entries of one prompt, uniform among those that both models have."""
    start, prompt, _ = shelf
    mine = range(int(start[i]), int(start[i + 1]))
    theirs = {int(prompt[entry]): entry for entry in range(int(start[j]), int(start[j + 1]))}
    if not mine or not theirs:
        return None
    for _ in range(_TRIES):
        entry = mine[details.below(len(mine))]
        if int(prompt[entry]) in theirs:
            return entry, theirs[int(prompt[entry])]
    common = [entry for entry in mine if int(prompt[entry]) in theirs]
    if not common:
        return None
    entry = common[details.below(len(common))]
    return entry, theirs[int(prompt[entry])]
