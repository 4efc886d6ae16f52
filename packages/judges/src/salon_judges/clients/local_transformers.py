"""A judge that runs on this machine: any model that ``AutoModelForImageTextToText`` loads, by name or from a folder.

Needs the extra: ``uv pip install './packages/judges[transformers]'``. The code that uses torch is in ``local_generation.py``.
"""

from collections.abc import Hashable
from dataclasses import replace
from itertools import count

from salon_judges.clients.local_judge import LocalJudge, ModelInMemory
from salon_judges.clients.local_settings import TransformersSettings
from salon_taxonomy.protocols import Decoding


class TransformersJudge(LocalJudge[TransformersSettings]):
    """Answers with a model on this machine.

    A question with a temperature above 0 is drawn with its seed, or with one made of the question itself, and alone: so
    the draw does not depend on who else asks. Greedy replies may differ in rare digits with the batch they fall into, as
    floating-point sums do. Nothing holds the model to a question's JSON Schema: the prompt alone asks for JSON. Special
    tokens in a question's texts lose their meaning, so no text can add a picture or end the turn.

    Whatever goes wrong with a question (a picture that cannot be decoded, a prompt longer than the model takes, memory
    that does not suffice for it alone) is a reply with status ``rejected``. Videos are shown as frames in their order, which
    a processor must take that is made for several pictures; else they are ``rejected`` like that, too.

    Args:
        settings: which model, and how.

    Raises:
        InputError: when the extra is not installed, or the folder holds no weights.
    """

    protocol = "transformers-1"
    needed = ("torch", "transformers", "accelerate")
    install = "In a clone of Salon: uv pip install './packages/judges[transformers]'."

    def __init__(self, settings: TransformersSettings) -> None:
        super().__init__(settings)
        self._alone = count()

    def __repr__(self) -> str:
        """Return the model and where it runs."""
        return f"TransformersJudge({self.settings.model!r} on {self.settings.device_map})"

    def company(self, decoding: Decoding) -> Hashable:
        """Return the decoding of a greedy question; one that is drawn stays alone."""
        return next(self._alone) if decoding.temperature else replace(decoding, seed=None)

    def loaded(self) -> ModelInMemory:
        """Load the model and its processor.

        Raises:
            InputError: they cannot be loaded.
        """
        from salon_judges.clients.local_generation import LocalModel

        return LocalModel.load(self.settings)
