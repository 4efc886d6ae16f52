"""A judge without a model: it counts patches of the prompt's colour and answers both suites.

It replaces a vision-language model so that the example needs none; its replies are recorded and replayed.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from io import BytesIO

from PIL import Image
from scenes import COLOURS, GROUNDS, NUMBERS

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.records import Finish

ANATOMY = {"human": "L2: Abnormal Human Anatomy", "animal": "L2: Abnormal Animal Anatomy"}
ANIMALS = ("horse", "dog", "cow", "goat")
OBJECTS = ("lantern", "kettle", "chest", "table")
SMALLEST_PATCH = 8


@dataclass(frozen=True)
class Seen:
    """What is in a picture: patches of each colour, the colour behind them, and whether it is all noise."""

    patches: dict[str, int]
    ground: str
    noise: bool


class PixelJudge:
    """Answers MagicBench's and PRISM-Bench's questions by counting pixels."""

    name = "pixel-judge"
    version = "pixel-judge-1"

    async def ask(self, question: Question) -> Reply:
        """The reply to a question that shows one picture and quotes its prompt."""
        picture = next(part for part in question.parts if not isinstance(part, str))
        wanted = re.search(r"(one|two|three) (\w+) (\w+?)s? on a (\w+) ground", question.text, re.IGNORECASE)
        if wanted is None or picture.data is None:
            raise InputError("the pixel judge is asked about the scenes of this example only", value=question.text[:80])
        number, colour, thing, ground = (word.lower() for word in wanted.groups())
        return Reply(
            self._answer(question.text, look(picture.data), NUMBERS[number], colour, thing, ground), finish=Finish.STOP
        )

    def _answer(self, text: str, seen: Seen, number: int, colour: str, thing: str, ground: str) -> str:
        if seen.noise:
            return "I see only noise and would rather not say."
        found = seen.patches.get(colour, 0)
        if "Whether Normal" in text:
            return _assessment(found, number, thing)
        if "Yes or No" in text:
            return f"I count {found} {colour} patches.\n{'Yes' if found else 'No'}"
        faults = {f"no {thing} is there": 7} if not found else {f"{found} patches, not {number}": 3} if found != number else {}
        if "belongs to the track" in text and seen.ground != ground:
            faults[f"the ground is {seen.ground}"] = 2
        said = "; ".join(faults) or "nothing is wrong"
        return f'{{"justification": "{said}", "score": {10 - sum(faults.values())}}}'


def _assessment(found: int, number: int, thing: str) -> str:
    if found == number:
        return '<think>Every figure is whole and stands alone.</think>\n\\boxed{{"Whether Normal": true}}'
    kind = "animal" if thing in ANIMALS else "object" if thing in OBJECTS else "human"
    if found < number:
        label, cases = "L2: Irrational Element Interaction", "[]"
    else:
        label, cases = ANATOMY.get(kind, "L2: Abnormal Object Morphology"), "[]" if kind in ANATOMY else "true"
    thought = f"<think>There are {found} patches where {number} should be.</think>"
    return f'{thought}\n\\boxed{{{{"Whether Normal": false, "Type of Deformity": {{"{label}": {cases}}}}}}}'


@cache
def look(data: bytes) -> Seen:
    """Find the patches of a picture: connected pixels of exactly one of the palette's colours."""
    picture = Image.open(BytesIO(data)).convert("RGB")
    pixels, (width, height) = picture.load(), picture.size
    names = {colour: name for name, colour in (COLOURS | GROUNDS).items()}
    where = {(x, y): names.get(pixels[x, y], "") for x in range(width) for y in range(height)}
    counts = Counter(where.values())
    patches: Counter[str] = Counter()
    unseen = {place: name for place, name in where.items() if name in COLOURS}
    while unseen:
        first, name = next(iter(unseen.items()))
        del unseen[first]
        patch = [first]
        for x, y in patch:  # grows while it is walked through
            near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
            mine = [place for place in near if unseen.get(place) == name]
            for place in mine:
                del unseen[place]
            patch += mine
        patches[name] += len(patch) >= SMALLEST_PATCH
    ground = max(GROUNDS, key=lambda name: counts[name])
    return Seen(dict(patches), ground, noise=counts[""] > width * height // 2)
