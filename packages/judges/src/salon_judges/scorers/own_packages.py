"""Scorers whose weights need their authors' own package: HPSv3 and ImageReward, as the user has installed them.

Their code is called through its public functions, with pictures as PNG files, which every release of them takes.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

Score: TypeAlias = Callable[[Sequence[Any], Sequence[str]], list[float]]


def hpsv3(settings: Mapping[str, str]) -> Score:
    """Return HPSv3's score: the mean μ of the two numbers that ``HPSv3RewardInferencer.reward`` gives for a picture."""
    from hpsv3 import HPSv3RewardInferencer

    named = {"checkpoint_path": settings.get("checkpoint"), "config_path": settings.get("config")}
    inferencer = HPSv3RewardInferencer(**_device(settings), **{key: value for key, value in named.items() if value})

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        with _files(images) as paths:
            rewards = inferencer.reward(prompts=list(prompts), image_paths=paths)
        return [float(each[0]) for each in rewards]

    return score


def image_reward(settings: Mapping[str, str]) -> Score:
    """Return ImageReward's score, as ``ImageReward.load(…).score(prompt, path)`` gives it."""
    import ImageReward

    named = {"name": settings["name"], "med_config": settings.get("med_config")}
    model = ImageReward.load(**_device(settings), **{key: value for key, value in named.items() if value})

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        with _files(images) as paths:
            return [float(model.score(prompt, path)) for prompt, path in zip(prompts, paths, strict=True)]

    return score


def _device(settings: Mapping[str, str]) -> dict[str, str]:
    return {} if settings["device"] == "auto" else {"device": settings["device"]}


@contextmanager
def _files(images: Sequence[Any]) -> Iterator[list[str]]:
    """Write pictures as PNG files for the time of a call."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{number}.png") for number in range(len(images))]
        for image, path in zip(images, paths, strict=True):
            image.save(path, compress_level=1)
        yield paths
