"""Prompts chosen from a collection: the best by score, one from each of k themes (PRISM-Bench, section 3.1).

    read_candidates(file) ──► select(candidates, embedder, number=50, top=10_000, seed=0) ──► Selected, most central first

* :class:`LsaEmbedder`: needs no model (extra ``selection``); :class:`SentenceEmbedder`: any sentence-transformers model
  (extra ``embeddings``); any object that fits :class:`Embedder`.
"""

from salon_curate.construction.prism_selection.candidates import Candidate, read_candidates
from salon_curate.construction.prism_selection.embedding import Embedder, LsaEmbedder, SentenceEmbedder
from salon_curate.construction.prism_selection.selecting import Selected, select, select_all

__all__ = [
    "Candidate",
    "Embedder",
    "LsaEmbedder",
    "Selected",
    "SentenceEmbedder",
    "read_candidates",
    "select",
    "select_all",
]
