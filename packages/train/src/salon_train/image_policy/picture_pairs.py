"""Read pairs of pictures for a policy: the files of ``salon votes pairs``, cut to the policy's size and encoded."""

from collections.abc import Sequence
from typing import overload

import numpy as np
import torch
from PIL import Image, ImageOps

from salon_train.data.preferences import Preference, picture
from salon_train.image_policy.policy import FlowPolicy
from salon_train.image_policy.preferences import PreferredPair


class PicturePairs(Sequence[PreferredPair]):
    """Pairs whose pictures are read, resized and cut in the middle, and encoded when they are asked for.

    Args:
        preferences: the pairs.
        policy: encodes the pictures.
        size: width and height of a picture of the policy's, in pixels.
    """

    def __init__(self, preferences: Sequence[Preference], policy: FlowPolicy, size: tuple[int, int]) -> None:
        self._preferences, self._policy, self._size = preferences, policy, size

    def __len__(self) -> int:
        return len(self._preferences)

    @overload
    def __getitem__(self, index: int) -> PreferredPair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PreferredPair]: ...
    def __getitem__(self, index: int | slice) -> PreferredPair | Sequence[PreferredPair]:
        """Return a pair, or some.

        Raises:
            InputError: a file is no picture.
        """
        if isinstance(index, slice):
            return PicturePairs(self._preferences[index], self._policy, self._size)
        preference = self._preferences[index]
        files = (preference.chosen, preference.rejected)
        images = [ImageOps.fit(picture(file), self._size, Image.Resampling.LANCZOS) for file in files]
        pictures = torch.from_numpy(np.stack([np.asarray(image, np.float32) for image in images]) / 255).permute(0, 3, 1, 2)
        chosen, rejected = self._policy.encode_pictures(pictures)
        won, _, ties = preference.votes
        return PreferredPair(preference.prompt, chosen, rejected, (won + ties / 2) / sum(preference.votes))
