"""A small R³-Bench for tests: pictures of one colour, a policy, an editor and judges that can see just that."""

import io
import json
from pathlib import Path

from PIL import Image

from salon_taxonomy.protocols import Edit, Media, Question, Reply
from salon_taxonomy.records import CallStatus

COLOURS = {"red": (200, 0, 0), "blue": (0, 0, 200), "green": (0, 160, 0), "white": (255, 255, 255)}


def colour_of(data: bytes) -> str:
    pixel = Image.open(io.BytesIO(data)).convert("RGB").getpixel((0, 0))
    return next(name for name, value in COLOURS.items() if value == pixel)


def png(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), COLOURS[colour]).save(stream, "PNG")
    return stream.getvalue()


def wanted(text: str) -> str:
    """The first colour that is named between the first pair of data markers."""
    inner = text.split("<data>")[1].split("</data>")[0]
    return next(name for name in COLOURS if name in inner)


class World:
    """A judge that answers all four kinds of question about one-coloured pictures.

    Args:
        wrong: prompts that contain one of these words are judged blindly: "it matches".
    """

    def __init__(self, name: str = "seer", *, wrong: tuple[str, ...] = (), instruction: str = "Paint it {}.") -> None:
        self.name = name
        self.version = f"{name}-{'-'.join(wrong)}-{instruction}"
        self.asked = 0
        self._wrong = wrong
        self._instruction = instruction

    async def ask(self, question: Question) -> Reply:
        self.asked += 1
        text = question.text
        if '"edit_prompt"' in text:
            return Reply(self._reflect(question))
        if '"equivalent"' in text:
            parts = text.split("<data>")
            return Reply(json.dumps({"equivalent": parts[2].split("</data>")[0] == parts[3].split("</data>")[0]}))
        if '"questions"' in text:
            return Reply(json.dumps({"questions": [f"Is it {wanted(text)}?", "Is it square?"]}))
        seen = colour_of(question.media[0].data)
        questions = [part.split("</data>")[0].strip() for part in text.split("<data>")[1:]]
        return Reply("\n".join("yes" if seen in each or "square" in each else "no" for each in questions))

    def _reflect(self, question: Question) -> str:
        goal, seen = wanted(question.text), colour_of(question.media[0].data)
        if goal == seen or any(word in question.text for word in self._wrong):
            return '{"answer": true, "explanation": "", "edit_prompt": ""}'
        said = {"answer": False, "explanation": f"It is {seen}, not {goal}.", "edit_prompt": self._instruction.format(goal)}
        return f"<think>I look.</think>{json.dumps(said)}"


class Painter:
    """An editor that paints the whole picture in the colour that the instruction names, and refuses without one."""

    def __init__(self, name: str = "painter", *, fails: int = 0) -> None:
        self.name = self.version = name
        self.calls = 0
        self._fails = fails

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        self.calls += 1
        if self.calls <= self._fails:
            return Edit(None, CallStatus.UNREACHABLE, self.version, error="connection refused")
        colour = next((name for name in COLOURS if name in instruction), None)
        if colour is None:
            return Edit(None, CallStatus.REJECTED, self.version, error="no colour is named")
        return Edit(Media.from_bytes(png(colour)), version=self.version)


class Dead:
    """A judge, or an editor, whose server is not there."""

    name = "dead"
    version = "dead-1"

    async def ask(self, question: Question) -> Reply:
        return Reply("", CallStatus.UNREACHABLE, error="connection refused")

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        return Edit(None, CallStatus.UNREACHABLE, self.version, error="connection refused")


def row(idx: object, goal: str, seen: str, category: str = "color") -> dict[str, object]:
    explanation = "" if goal == seen else f"It is {seen}, not {goal}."
    qa = {"yn_question_list": [f"Is it {goal}?", "Is it square?"], "yn_answer_list": ["yes", "yes"]}
    return {
        "idx": idx,
        "original_prompt": f"a {goal} square",
        "bad_image": f"images/{idx}.png",
        "answer": goal == seen,
        "explanation": explanation,
        "category": category,
        "generated_qa": qa,
    }


def write_rows(folder: Path) -> Path:
    """Six rows: two aligned, four misaligned, over three categories."""
    plan = [("red", "red"), ("blue", "blue"), ("red", "blue"), ("green", "red"), ("blue", "green"), ("white", "red")]
    kinds = ["color", "shape", "color", "shape", "non", "color"]
    rows = [row(number, *each, kind) for number, (each, kind) in enumerate(zip(plan, kinds, strict=True))]
    (folder / "images").mkdir(parents=True)
    for number, (_, seen) in enumerate(plan):
        (folder / "images" / f"{number}.png").write_bytes(png(seen))
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path
