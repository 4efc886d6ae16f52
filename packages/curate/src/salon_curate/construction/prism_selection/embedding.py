"""Texts as points, near to each other where they mean nearly the same.

:class:`LsaEmbedder` is bundled and needs no model; :class:`SentenceEmbedder` is what one would use for a benchmark.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from salon_judges.formats.prism_tracks import Language
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra

Floats = NDArray[np.float64]

DIMENSIONS: Final = 128
"""Of the bundled embedder's points, where there are texts enough."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into points."""

    @property
    def name(self) -> str:
        """What records of a selection call it."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one point for each text, of length 1 (or 0 for a text without content); shape (texts, dimensions)."""


class LsaEmbedder:
    """Latent semantic analysis: hashed word counts, weighted by how rare they are, reduced by a singular value decomposition.

    Deerwester et al. 1990, doi:10.1002/(SICI)1097-4571(199009)41:6<391::AID-ASI1>3.0.CO;2-9. Fitted on the texts it is
    given, so it needs no model and no download; it knows no synonyms that the texts do not teach it.

    Args:
        language: English texts are taken apart into words and pairs of words, Chinese ones into characters and pairs.
        seed: of the decomposition's random start.

    Raises:
        InputError: the extra ``selection`` is not installed.

    Example:
        >>> points = LsaEmbedder().embed(["a red cat", "a red cat sleeps", "two steel bridges"])
        >>> points.shape, bool(points[0] @ points[1] > points[0] @ points[2])
        ((3, 2), True)
    """

    def __init__(self, language: Language = Language.ENGLISH, *, seed: int = 0) -> None:
        extra("sklearn", "selection", "salon-curate")
        self.language = language
        self.seed = seed

    @property
    def name(self) -> str:
        """``lsa``."""
        return "lsa"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return points of at most 128 dimensions. The same texts in the same order give the same points."""
        decomposition = extra("sklearn.decomposition", "selection", "salon-curate")
        text = extra("sklearn.feature_extraction.text", "selection", "salon-curate")
        limits = extra("threadpoolctl", "selection", "salon-curate")
        if self.language is Language.CHINESE:
            counts = text.HashingVectorizer(analyzer="char", ngram_range=(1, 2), n_features=2**16, alternate_sign=False)
        else:
            counts = text.HashingVectorizer(ngram_range=(1, 2), stop_words="english", n_features=2**16, alternate_sign=False)
        counted = counts.transform(texts)
        counted = counted[:, counted.getnnz(axis=0) > 0]
        if not counted.shape[1]:
            return np.zeros((len(texts), 1))
        weighted = text.TfidfTransformer(sublinear_tf=True).fit_transform(counted)
        dimensions = max(1, min(DIMENSIONS, len(texts) - 1, counted.shape[1]))
        if counted.shape[1] == 1:  # nothing to reduce
            return unit_length(weighted.toarray())
        with limits.threadpool_limits(limits=1):  # one thread adds in one order
            reduction = decomposition.TruncatedSVD(dimensions, random_state=self.seed)
            return unit_length(reduction.fit_transform(weighted))


class SentenceEmbedder:
    """Any sentence-transformers model.

    Args:
        model: its name on the hub (it is downloaded by sentence-transformers when it is not cached) or a folder that holds it.
        batch_size: texts at once.
        device: ``cpu``, ``cuda``, …; None leaves the choice to the library.

    Raises:
        InputError: the extra ``embeddings`` is not installed, or (with the first texts) the model cannot be loaded.
    """

    def __init__(self, model: str | Path, *, batch_size: int = 64, device: str | None = None) -> None:
        extra("sentence_transformers", "embeddings", "salon-curate")
        self.model = str(model)
        self.batch_size = batch_size
        self.device = device

    @property
    def name(self) -> str:
        """The model's name or folder, as it was given."""
        return self.model

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return points in as many dimensions as the model has."""
        encode = self._loaded.encode
        points = encode(list(texts), batch_size=self.batch_size, convert_to_numpy=True, show_progress_bar=False)
        return unit_length(np.asarray(points, dtype=np.float64))

    @cached_property
    def _loaded(self) -> Any:
        library = extra("sentence_transformers", "embeddings", "salon-curate")
        try:
            return library.SentenceTransformer(self.model, device=self.device)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            hint = "Give the folder of a sentence-transformers model, or its name where the machine can download it."
            raise InputError(f"the model cannot be loaded ({reason})", value=self.model, hint=hint) from error


def unit_length(points: Floats) -> Floats:
    """Return points scaled to the length 1; the point 0 stays.

    Example:
        >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(length > 0, length, 1.0), dtype=np.float64)
