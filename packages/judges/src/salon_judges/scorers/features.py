"""Functions that turn pictures into features, for measures of likeness and of whole sets.

./FILE.py:FUNCTION, MODULE:FUNCTION   your own: a list of PIL images to an array, one row per picture
transformers:NAME                     CLIP, SigLIP (the unit vector of the picture) or DINOv2 (the pooled output)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon_judges.clients.local_weights import weights_digest
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import loaded


@dataclass(frozen=True, slots=True)
class FeatureFunction:
    """A function of features.

    Attributes:
        name: of the specification.
        version: a digest of what shapes its numbers: a model's weights, or the attribute ``version`` of your own function and
            the file that it is in; None: unknown, so that its numbers cannot be kept.
    """

    name: str
    version: str | None
    _function: Callable[[Sequence[Any]], Any]

    def __call__(self, images: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of PIL images in RGB: finite numbers, shape (pictures, features).

        Raises:
            InputError: the function returned something else.
        """
        try:
            rows = np.asarray(self._function(list(images)), np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"returned no array of features ({error})", source=self.name) from error
        if rows.ndim != 2 or len(rows) != len(images):
            problem = f"must return finite numbers of shape ({len(images)}, features), not"
            raise InputError(problem, source=self.name, value=rows.shape)
        if not np.isfinite(rows).all():
            raise InputError("must return finite numbers, not", source=self.name, value=float(rows[~np.isfinite(rows)][0]))
        return rows


def open_features(specification: str) -> FeatureFunction:
    """Load the function that a text names.

    Raises:
        InputError: there is no such function, or transformers cannot load the model.

    Example:
        >>> from pathlib import Path
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "plugin.py"
        >>> _ = path.write_text("def size(images): return [each.size for each in images]")
        >>> from PIL import Image
        >>> open_features(f"{path}:size")([Image.new("RGB", (3, 2))]).tolist()
        [[3.0, 2.0]]
    """
    module, _, name = specification.rpartition(":")
    if not module or not name:
        hint = "Name ./FILE.py:FUNCTION, MODULE:FUNCTION or transformers:NAME."
        raise InputError("names no function of features:", value=specification, hint=hint)
    if specification.startswith("transformers:"):
        from salon_judges.scorers.clip_models import picture_features

        model = specification.removeprefix("transformers:")
        function: Any = picture_features(model)
        return FeatureFunction(specification, digest("features", {"weights": weights_digest(model)}), function)
    function = loaded(module, name)
    if not callable(function):
        raise InputError("is no function:", value=specification)
    own = getattr(function, "version", None)
    text = file_sha256(module) if module.endswith(".py") else module
    version = digest("features", {"module": text, "name": name, "version": own}) if isinstance(own, str) else None
    return FeatureFunction(specification, version, function)
