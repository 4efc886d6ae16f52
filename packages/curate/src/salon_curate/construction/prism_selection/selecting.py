"""One prompt from each theme: k-means over the best candidates, then the nearest to each centre (PRISM-Bench, section 3.1).

The paper takes the 10,000 best of a track by score, k = 50 clusters, the prompt closest to each centroid, and removes what is
taken. It cites the genetic k-means of Krishna and Murty; here it is Lloyd's iteration from k-means++ starts.
"""

import warnings
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_curate.construction.prism_selection.candidates import Candidate
from salon_curate.construction.prism_selection.embedding import Embedder, Floats
from salon_judges.formats.prism_tracks import Language, Track
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra

NUMBER: Final = 50
"""Prompts of each track that the paper samples, and its k."""
TOP: Final = 10_000
"""Candidates of each track that the paper clusters."""
_STARTS: Final = 3


@dataclass(frozen=True, slots=True)
class Selected:
    """One prompt that was chosen.

    Attributes:
        candidate: the prompt.
        cluster_size: how many candidates its theme has; the themes come in falling order of it.
        distance: from the theme's centre; points have the length 1, so from 0 to 2.
    """

    candidate: Candidate
    cluster_size: int
    distance: float

    def as_row(self, number: int, language: Language) -> dict[str, object]:
        """Return the row of a prompt file; ``number`` is the prompt's place in its track, from 1."""
        track, text = self.candidate.track, self.candidate.text
        prompt_id = f"{track}-s{number:03d}-{digest('prism prompt', text, length=6)}{language.id_ending}"
        names = {"track": str(track), "language": str(language), "source": "sampled"}
        return {"prompt_id": prompt_id, "prompt": text, **names, "score": self.candidate.score, "cluster": self.cluster_size}


def select(
    candidates: Sequence[Candidate],
    embedder: Embedder,
    *,
    number: int = NUMBER,
    top: int = TOP,
    seed: int = 0,
    taken: AbstractSet[str] = frozenset(),
) -> list[Selected]:
    """Choose ``number`` prompts of one track.

    Texts that say the same (white space and case aside) are one candidate, with the best of its scores.

    Args:
        candidates: of one track, in any order.
        embedder: turns texts into points.
        number: how many, and into how many themes the candidates are divided.
        top: how many of the best by score are looked at; of equal scores the first in the order of the texts.
        seed: of the clusters' starts.
        taken: texts that may not be chosen, as :func:`key_of` writes them.

    Returns:
        One prompt from each theme, the largest theme first. The same candidates and seed give the same prompts, in whatever
        order the candidates come.

    Raises:
        InputError: fewer candidates than prompts wanted, a number below 1, a seed below 0, points that are no finite
            numbers, or the extra ``selection`` is not installed.
    """
    for name, value, least in (("number", number, 1), ("top", top, 1), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"must be {least} or more, not", key=name, value=value)
    best = _best(candidates, top, taken)
    if len(best) < number:
        hint = "Give more candidates, or choose fewer prompts."
        raise InputError(f"{number} prompts are wanted of fewer different candidates:", value=len(best), hint=hint)
    points = _checked(embedder.embed([each.text for each in best]), len(best))
    centres, cluster = _clusters(points, number, seed)
    sizes = np.bincount(cluster, minlength=number)
    chosen: list[Selected] = []
    free = np.ones(len(best), dtype=np.bool_)
    for cluster_number in np.lexsort((np.arange(number), -sizes)):
        distance = np.linalg.norm(points - centres[cluster_number], axis=1)
        nearest = int(np.argmin(np.where(free, distance.round(12), np.inf)))
        free[nearest] = False
        chosen.append(Selected(best[nearest], int(sizes[cluster_number]), float(distance[nearest])))
    return chosen


def select_all(
    candidates: Iterable[Candidate], embedder: Embedder, *, number: int = NUMBER, top: int = TOP, seed: int = 0
) -> dict[Track, list[Selected]]:
    """Choose prompts of every track that has candidates; what one track takes is removed from the others.

    Raises:
        InputError: as :func:`select`.
    """
    by_track: dict[Track, list[Candidate]] = {}
    for candidate in candidates:
        by_track.setdefault(candidate.track, []).append(candidate)
    taken_keys: set[str] = set()
    selected = {}
    for track in (each for each in Track if each in by_track):
        selected[track] = select(by_track[track], embedder, number=number, top=top, seed=seed, taken=taken_keys)
        taken_keys |= {key_of(each.candidate.text) for each in selected[track]}
    return selected


def key_of(text: str) -> str:
    """Return what makes two texts the same prompt.

    Example:
        >>> key_of("A  Cat\\n") == key_of("a cat")
        True
    """
    return " ".join(text.split()).casefold()


def _best(candidates: Sequence[Candidate], top: int, taken_keys: AbstractSet[str]) -> list[Candidate]:
    """Return the best of different texts, best first."""
    different: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: (-candidate.score, candidate.text)):
        if (key := key_of(candidate.text)) not in taken_keys:
            different.setdefault(key, candidate)
    return list(different.values())[:top]


def _checked(points: Floats, number: int) -> Floats:
    if points.ndim != 2 or len(points) != number or not np.isfinite(points).all():
        raise InputError("the embedder gave no finite point for each text, but an array of shape", value=points.shape)
    return points


def _clusters(points: Floats, number: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return centres, shape (number, dimensions), and the cluster of each point."""
    cluster = extra("sklearn.cluster", "selection", "salon-curate")
    limits = extra("threadpoolctl", "selection", "salon-curate")
    with limits.threadpool_limits(limits=1), warnings.catch_warnings():  # one thread adds in one order
        # Fewer different points than clusters: some clusters share a centre, and the nearest free prompt is still found.
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        fitted = cluster.KMeans(number, n_init=_STARTS, random_state=seed, algorithm="lloyd").fit(points)
    return np.asarray(fitted.cluster_centers_, dtype=np.float64), np.asarray(fitted.labels_, dtype=np.int64)
