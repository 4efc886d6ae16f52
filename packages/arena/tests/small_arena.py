"""An arena small enough for a test: three models whose names must never reach a rater."""

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from salon_arena import WorkService

MODELS = ("Canary-Alpha-7f3", "Canary-Beta-9c1", "Canary-Gamma-2e8")
PROMPTS = {
    "canary-prompt-1": ("A red cube\u202e on a table", "en"),
    "canary-prompt-2": ("قطة زرقاء على سجادة", "ar"),
    "canary-prompt-3": ("一只戴着红帽子的猫", "zh"),
    "canary-prompt-4": ("<img src=x onerror=\"document.title='owned'\"> & a dog", "en"),
}


class Clock:
    """A clock that tests turn by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


def write_prompts(folder: Path) -> Path:
    rows = [
        {"prompt_id": key, "prompt": text, "language": language, "scenario": "toys", "labels": ["one"]}
        for key, (text, language) in PROMPTS.items()
    ]
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_material(folder: Path, models: tuple[str, ...] = MODELS, samples: int = 2, size: int = 48) -> tuple[Path, Path]:
    generator = random.Random(0)
    prompts = write_prompts(folder)
    for model in models:
        (folder / "pictures" / model).mkdir(parents=True)
        for key in PROMPTS:
            for sample in range(samples):
                colour = tuple(generator.randrange(256) for _ in range(3))
                Image.new("RGB", (size, size), colour).save(folder / "pictures" / model / f"{key}.{sample}.png")
    return folder / "pictures", prompts


def seen(service: "WorkService", rater: str) -> dict[str, Any]:
    """The rater's first task, its files fetched as a page does."""
    task: dict[str, Any] = service.lease(rater).result()["tasks"][0]
    service.look(rater, task["assignment"])
    return task
