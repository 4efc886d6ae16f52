"""Functions that turn pictures into features, for measures of likeness and of whole sets.

./FILE.py:FUNCTION, MODULE:FUNCTION   your own: a list of PIL images to an array, one row per picture
transformers:NAME                     CLIP, SigLIP (the unit vector of the picture) or DINOv2 (the pooled output)
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import loaded

FeatureFunction: TypeAlias = Callable[[Sequence[Any]], NDArray[np.float64]]
"""Takes PIL images in RGB; returns finite numbers, shape (pictures, features)."""


def open_features(specification: str) -> FeatureFunction:
    """Load the function that a text names; what it returns is checked at every call.

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

        function: Any = picture_features(specification.removeprefix("transformers:"))
    else:
        function = loaded(module, name)
    if not callable(function):
        raise InputError("is no function:", value=specification)

    def features(images: Sequence[Any]) -> NDArray[np.float64]:
        try:
            rows = np.asarray(function(list(images)), np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"returned no array of features ({error})", source=specification) from error
        if rows.ndim != 2 or len(rows) != len(images) or not np.isfinite(rows).all():
            problem = f"must return finite numbers of shape ({len(images)}, features), not"
            raise InputError(problem, source=specification, value=rows.shape)
        return rows

    return features
