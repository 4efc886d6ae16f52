"""Twelve scenes: what two imaginary generators are asked to draw, as prompts of MagicBench and of PRISM-Bench at once."""

import json
from dataclasses import dataclass
from pathlib import Path

COLOURS = {"red": (200, 40, 40), "green": (40, 140, 60), "blue": (50, 80, 190), "violet": (130, 60, 160)}
GROUNDS = {"white": (250, 250, 250), "yellow": (250, 230, 140), "grey": (190, 190, 190)}
NUMBERS = {"one": 1, "two": 2, "three": 3}


@dataclass(frozen=True)
class Scene:
    """One prompt. ``detail_class`` is MagicBench's sub-category, ``track`` PRISM-Bench's."""

    number: str
    colour: str
    thing: str
    ground: str
    detail_class: str
    track: str

    @property
    def kind(self) -> str:
        """MagicBench's class."""
        return self.detail_class.partition("_")[0]

    @property
    def text(self) -> str:
        """The prompt of the generators."""
        plural = "" if self.number == "one" else "s"
        return f"{self.number.capitalize()} {self.colour} {self.thing}{plural} on a {self.ground} ground."


SCENES = {
    f"scene-{place:02d}": Scene(*words.split())
    for place, words in enumerate(
        (
            "one red dancer white human_single imagination",
            "one blue sailor yellow human_single entity",
            "two green gardener grey human_double affection",
            "three violet singer white human_multi long_text",
            "one red horse grey animal_single style",
            "one violet dog yellow animal_single composition",
            "two blue cow white animal_multi entity",
            "three green goat yellow animal_multi affection",
            "one blue lantern white object_single text_rendering",
            "two red kettle grey object_multi style",
            "three blue chest yellow object_multi composition",
            "two violet table white object_compo imagination",
        ),
        start=1,
    )
}


def write_prompts(folder: Path) -> tuple[Path, Path]:
    """The prompt files of the two suites: ``magicbench.jsonl`` and ``prism.jsonl``."""
    magicbench = [
        {
            "prompt_id": name,
            "prompt_t2i": each.text,
            "subject": each.thing,
            "class": each.kind,
            "detail_class": each.detail_class,
        }
        for name, each in SCENES.items()
    ]
    prism = [{"prompt_id": name, "prompt": each.text, "track": each.track} for name, each in SCENES.items()]
    paths = (folder / "magicbench.jsonl", folder / "prism.jsonl")
    for path, rows in zip(paths, (magicbench, prism), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths
