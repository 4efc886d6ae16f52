"""The study's U-Net: 16 by 16 pixels in three colours, a prompt of two words."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from salon_train.image_policy.small import CONDITION, SmallUNet
from studies.image_policy.pictures import COLOURS, SHAPES, PromptedShape


class TwoWords(nn.Module):
    """Add the embeddings of colour and shape to the condition of the time."""

    def __init__(self) -> None:
        super().__init__()
        self.colours = nn.Embedding(len(COLOURS), CONDITION)
        self.shapes = nn.Embedding(len(SHAPES), CONDITION)

    def forward(self, words: Tensor, time: Tensor) -> tuple[Tensor, None]:
        """Return the condition, shape (batch, 64); nothing is added to the patches."""
        return time + self.colours(words[:, 0]) + self.shapes(words[:, 1]), None


class TinyUNet(SmallUNet):
    """Predict the velocity of pictures of 16 by 16 pixels.

    Args:
        width: channels of the patches, a multiple of 8.

    Example:
        >>> sum(each.numel() for each in TinyUNet().parameters())
        229516
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__(TwoWords(), width, 3)


def words_of(prompts: Sequence[str]) -> Tensor:
    """Return the places of colour and shape of each prompt: shape (prompts, 2).

    Example:
        >>> words_of(["a red square"]).tolist()
        [[0, 1]]
    """
    wanted = [PromptedShape.of(prompt) for prompt in prompts]
    return torch.tensor([[COLOURS.index(each.colour), SHAPES.index(each.shape)] for each in wanted])
