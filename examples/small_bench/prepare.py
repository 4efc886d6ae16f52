"""Draw the pictures, write the prompts, and keep what a judge says that knows the truth: ``python prepare.py [FOLDER]``.

Everything a run needs is then in the folder; ``README.md`` has the commands that judge, compare and show.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.suites.contract.registry import suite_named
from salon_judges.clients import CachedJudge, ResponseCache
from salon_synthetic.artifacts.canvas import Canvas
from salon_synthetic.artifacts.composing import composed
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.drawing import png
from salon_synthetic.artifacts.kinds import KINDS
from salon_synthetic.artifacts.planning import PicturePlan, PlannedFigure
from salon_synthetic.rng import Rng
from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.digest import digest
from salon_taxonomy.protocols import Media, Question, Reply
from salon_taxonomy.records import Finish

SIDES = {"steady": 112, "hasty": 96}
"""The two generators, and the pixels of a side of their pictures: steady draws all as asked."""
SCENES = [  # an artifact that hasty may draw, MagicBench's sub-category, PRISM-Bench's track, and what hasty does
    row.split()
    for row in (
        "extra-finger human_single imagination right",
        "extra-leg human_single entity artifact",
        "missing-arm human_single affection nothing",
        "uneven-face human_single long_text noise",
        "animal-extra-leg animal_single style artifact",
        "animal-no-head animal_single composition right",
        "animal-two-heads animal_single entity nothing",
        "animal-missing-leg animal_single affection right",
        "object-loose-part object_single text_rendering noise",
        "sunken object_compo style artifact",
        "floating object_compo composition artifact",
        "object-bent-part object_single imagination right",
    )
]


@dataclass(frozen=True)
class Drawn:
    """One picture: the file's bytes, the prompt, and its truth; without a plan it shows nothing, or noise."""

    data: bytes
    prompt: str
    plan: PicturePlan | None = None
    noise: bool = False


def drawn(number: int, model: str) -> Drawn:
    """Draw one scene as a generator does."""
    artifact, *_, does = SCENES[number]
    rng, side = Rng(f"small bench/{number}"), SIDES[model]
    plan = PicturePlan((PlannedFigure(KINDS[artifact], planted=model == "hasty" and does == "artifact"),))
    picture, prompt = composed(rng, plan, side, Difficulty())
    if model == "hasty" and does == "noise":
        noise = Image.frombytes("RGB", (side, side), rng.noise(side * side * 3))
        return Drawn(png(noise), prompt, noise=True)
    if model == "hasty" and does == "nothing":
        return Drawn(png(Canvas(side, (220, 220, 210 + number)).finished()), prompt)
    return Drawn(png(picture), prompt, plan)


class TruthJudge:
    """A judge that looks up what was drawn, in place of a vision-language model; it has no answer about noise."""

    name = "truth"

    def __init__(self, pictures: list[Drawn]) -> None:
        self._known = {Media.from_bytes(each.data).sha256: each for each in pictures}
        self.version = digest("small bench", sorted(self._known))

    async def ask(self, question: Question) -> Reply:
        """Return the reply to a question about one of the pictures."""
        media = next(part for part in question.parts if isinstance(part, Media))
        return Reply(self._answer(question.text, self._known[media.sha256]), finish=Finish.STOP)

    def _answer(self, text: str, seen: Drawn) -> str:
        if seen.noise:
            return "I see only noise and would rather not say."
        if "Yes or No" in text:
            return f"I looked for it.\n{'Yes' if seen.plan else 'No'}"
        if "Whether Normal" in text and seen.plan:
            return f"<think>{seen.plan.reasoning}</think>\n\\boxed{{{magicmirror_json(seen.plan.truth)}}}"
        score = 3 if seen.plan is None else 10 if seen.plan.truth.normal else 7
        said = "Nothing of it is there." if seen.plan is None else seen.plan.reasoning
        return json.dumps({"justification": said, "score": score})


def written(folder: Path) -> list[Drawn]:
    """Write ``<model>/<scene>.png``, ``magicbench.jsonl`` and ``prism.jsonl``; return every picture."""
    pictures, magicbench, prism = [], [], []
    for number, (artifact, detail, track, _) in enumerate(SCENES):
        name = f"scene-{number + 1:02d}"
        for model in SIDES:
            pictures.append(drawn(number, model))
            (folder / model).mkdir(exist_ok=True)
            (folder / model / f"{name}.png").write_bytes(pictures[-1].data)
        prompt, subject = pictures[-1].prompt, KINDS[artifact].subject.value
        row = {"prompt_id": name, "prompt_t2i": prompt, "subject": subject}
        magicbench.append(row | {"class": detail.partition("_")[0], "detail_class": detail})
        prism.append({"prompt_id": name, "prompt": prompt, "track": track})
    for suite, rows in (("magicbench", magicbench), ("prism", prism)):
        (folder / f"{suite}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return pictures


async def record(folder: Path) -> Path:
    """Have the judge answer every question of both suites once; return the folder of its replies."""
    truth, replies = TruthJudge(written(folder)), folder / "replies"
    shutil.rmtree(replies, ignore_errors=True)
    for suite in ("magicbench", "prism"):
        judge = CachedJudge(truth, ResponseCache(replies))
        with tempfile.TemporaryDirectory() as scratch:
            subjects = [SubjectModel(model, folder / model) for model in SIDES]
            plan = planned(suite_named(suite), subjects, judge, prompts=folder / f"{suite}.jsonl")
            await execute(plan, judge, Path(scratch) / "results")
    return replies


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(record(target))
