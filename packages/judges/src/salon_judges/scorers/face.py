"""The scorer ``face``: is the person in an edited picture still the one of the source?

    picture, 1,024 pixels on its longer side ──► faces (dlib's detector) ──► five landmarks ──► 128 numbers (dlib's network)
    the surest face of the sources ──► distance to the nearest face of the result ──► 1 − distance, at least 0

Weights come with the package ``face-recognition-models`` (extra ``face``), so nothing is downloaded. Its authors call two faces
one person's where the distance is below 0.6 (http://blog.dlib.net/2017/02/high-quality-face-recognition-with-deep.html).
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from PIL import Image

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_LONGER_SIDE: Final = 1024
_FORMULA: Final = 1  # raised when the same weights begin to give other scores
_MODELS: Final = ("shape_predictor_5_face_landmarks.dat", "dlib_face_recognition_resnet_model_v1.dat")
_NO_FACE: Final = Unscored(Reason.ABSTAINED, "no face was found in the source")


class FaceScorer:
    """Scores how alike the face of the sources and the nearest one of the result are, 0 to 1; the prompt is not read.

    A result without a face has 0; one whose sources have none has no score. Of several faces in the sources the surest counts.

    Raises:
        InputError: the extra ``face`` is not installed.
    """

    name = "face"
    range = (0.0, 1.0)

    def __init__(self) -> None:
        self._dlib: Any = extra("dlib", "face", "salon-judges")
        spec = find_spec("face_recognition_models")
        if spec is None or spec.origin is None:
            hint = "In a clone of Salon: uv pip install './packages/judges[face]'"
            raise InputError("needs the weights of face-recognition-models, which is not installed", source="face", hint=hint)
        self._files = [Path(spec.origin).parent / "models" / name for name in _MODELS]
        self._one_at_a_time = Lock()

    @cached_property
    def version(self) -> str:
        """A digest of dlib's version, its weights and the formula."""
        weights = {file.name: file_sha256(file) for file in self._files}
        return digest("face", {"package": version("dlib-bin"), "formula": _FORMULA, **weights})

    def __call__(self, images: Sequence[Any], prompts: Sequence[str], sources: Sequence[Sequence[Any]]) -> list[Verdict[float]]:
        """Return how alike the faces of each picture and its sources are."""
        with self._one_at_a_time:
            return [self._score(image, each) for image, each in zip(images, sources, strict=True)]

    def _score(self, image: Any, sources: Sequence[Any]) -> Verdict[float]:
        known = max((face for source in sources for face in self._faces(source)), key=lambda face: face[0], default=None)
        if known is None:
            return _NO_FACE
        distances = [float(np.linalg.norm(known[1] - numbers)) for _, numbers in self._faces(image)]
        return Scored(max(0.0, 1.0 - min(distances, default=1.0)))

    def _faces(self, image: Any) -> list[tuple[float, Any]]:
        """Return how sure the detector is of each face, and the face's numbers, shape (128,)."""
        detector, landmarks, network = self._models
        picture = image.convert("RGB")
        scale = _LONGER_SIDE / max(picture.size)
        size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        pixels = np.asarray(picture.resize(size, Image.Resampling.BICUBIC))
        boxes, sure, _ = detector.run(pixels, 0, 0.0)
        return [
            (confidence, np.array(network.compute_face_descriptor(pixels, landmarks(pixels, box))))
            for box, confidence in zip(boxes, sure, strict=True)
        ]

    @cached_property
    def _models(self) -> tuple[Any, Any, Any]:
        landmarks, network = map(str, self._files)
        dlib = self._dlib
        return dlib.get_frontal_face_detector(), dlib.shape_predictor(landmarks), dlib.face_recognition_model_v1(network)
