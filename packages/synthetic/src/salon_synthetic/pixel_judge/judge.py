"""Judge drawn scenes from their pixels, without a model; verdicts can be wrong.

Four kinds of question are answered; any other gets prose that no parser accepts as a verdict:

    a picture, "edit_prompt" in the text        the R³ grammar: verdict, explanation, instruction
    a picture, lines that end with "?"          one line for each: yes or no, and what was understood
    a video, lines that end with "?"            the same, from all of its frames (``scenes/moving.py``)
    no picture, two texts in data markers       whether two explanations name the same mismatch
"""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from salon_synthetic.pixel_judge.settings import PixelSettings
from salon_synthetic.pixel_judge.vision import perceive
from salon_synthetic.scenes.claims import Claim, holds
from salon_synthetic.scenes.diagnosis import findings
from salon_synthetic.scenes.drawing import read_picture
from salon_synthetic.scenes.equivalence import same_mismatch
from salon_synthetic.scenes.moving import answered
from salon_synthetic.scenes.reading import read_prompt
from salon_synthetic.scenes.scene import Scene
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Media, Question, Reply
from salon_taxonomy.records import CallStatus, Finish, MediaKind, MediaRole

_DATA: Final = re.compile(r"<data>\n(.*?)\n</data>", re.DOTALL)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\(?\d+[.):]?|Q\d+[.:])\s+", re.IGNORECASE)
_KEY: Final = re.compile(r'"(\w+)"\s*:')
_LABEL: Final = re.compile(r"(?im)^\s*(?:original |image |target )?prompt:\s*(.+)$")
_PUZZLED: Final = "This judge understands drawn scenes alone, and not this."
_MOST_QUESTIONS: Final = 200


class PixelJudge(Closing):
    """Answers from what :func:`~salon_synthetic.pixel_judge.vision.perceive` sees. Needs no network and no key.

    Args:
        settings: its eyes and its name; sharp eyes by default.

    Example:
        >>> import asyncio
        >>> from salon_synthetic import Item, Scene, png
        >>> picture = Media.from_bytes(png(Scene(items=[Item(shape="star", colour="red", x=40, y=40)])))
        >>> question = Question((picture, "Is the star red?\\nIs there a circle?"))
        >>> print(asyncio.run(PixelJudge().ask(question)).text)
        Yes, the picture shows it.
        No, the picture does not show it.
    """

    reports_tokens = False

    def __init__(self, settings: PixelSettings | None = None) -> None:
        self.settings = settings or PixelSettings()

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.title

    @property
    def version(self) -> str:
        """See :attr:`PixelSettings.version`."""
        return self.settings.version

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def ask(self, question: Question) -> Reply:
        """Answer one question about the result, or else the first picture; one that cannot be read is a rejected call."""
        media = question.media
        if not media:
            return self._said(_compared(question))
        result = next((each for each in media if each.role == MediaRole.RESULT), media[0])
        try:
            seen = await asyncio.to_thread(self._look, result)
        except InputError as error:
            return Reply("", CallStatus.REJECTED, self.version, error=str(error))
        return self._said(_answered(question, seen))

    def _said(self, text: str) -> Reply:
        return Reply(text, version=self.version, finish=Finish.STOP)

    def _look(self, media: Media) -> list[Scene]:
        """Return the scene that a picture seems to show, or those of a video's frames.

        Raises:
            InputError: it cannot be seen.
        """
        if media.kind == MediaKind.IMAGE:
            return [self._perceived(media)]
        if media.film is None:
            raise InputError("no frames of the video were taken; this judge takes none itself")
        return [self._perceived(frame.image) for frame in media.film.frames]

    def _perceived(self, picture: Media) -> Scene:
        content = picture.data
        if content is None:
            try:
                content = Path(picture.uri or "").read_bytes()
            except (OSError, ValueError) as error:
                raise InputError(f"the picture cannot be read ({type(error).__name__})") from error
        return perceive(read_picture(content), self.settings.eyes)


def _answered(question: Question, scenes: Sequence[Scene]) -> str:
    text = question.text
    if "edit_prompt" in f"{question.system or ''}\n{text}":
        return _reflection(_prompt(text), scenes[0])
    asked = _questions(text)
    return "\n".join(_line(line, scenes) for line in asked[:_MOST_QUESTIONS]) if asked else _PUZZLED


def _prompt(text: str) -> str:
    """Return the prompt that a question is about: in its data markers, or behind the word ``prompt:``, or the last line."""
    match = _DATA.search(text)
    if match:
        return match[1]
    labels = _LABEL.findall(text)
    return labels[-1] if labels else text.strip().rpartition("\n")[2]


def _questions(text: str) -> list[str]:
    """Return the lines that end with a question mark: within the data markers, if there are some, else anywhere."""
    for asked in ("\n".join(_DATA.findall(text)), _DATA.sub(r"\1", text)):
        lines = (_BULLET.sub("", line).strip() for line in asked.splitlines())
        if questions := [line for line in lines if line.endswith("?")]:
            return questions
    return []


def _line(line: str, scenes: Sequence[Scene]) -> str:
    answer = answered(line, scenes)
    if answer is None:
        return "Unclear: this judge does not understand the question."
    return "Yes, the picture shows it." if answer else "No, the picture does not show it."


def _reflection(prompt: str, scene: Scene) -> str:
    claims: Sequence[Claim] | None = read_prompt(prompt)
    if claims is None:
        return _PUZZLED
    differences = findings(claims, scene)
    thought = f"{len(scene.items)} objects are seen; {len(claims)} claims were checked."
    if not differences and all(holds(claim, scene) for claim in claims):
        return render_r3(R3Answer(True), thought)
    explanation = " ".join(finding.explanation for finding in differences)
    return render_r3(R3Answer(False, explanation, " ".join(finding.instruction for finding in differences)), thought)


def _compared(question: Question) -> str:
    """Answer whether the last two texts in data markers name the same mismatch, in the requested form."""
    texts = _DATA.findall(question.text)
    if len(texts) < 2:
        return _PUZZLED
    same = same_mismatch(texts[-1], texts[-2])
    reason = "Both name the same mismatch." if same else "They do not name the same mismatches."
    members = _members(question, same, reason)
    return json.dumps(members) if members else f"{'Yes' if same else 'No'}. {reason}"


def _members(question: Question, same: bool, reason: str) -> dict[str, Any]:
    """Return the members that the schema or the text asks for.

    The boolean one, else the first, holds the verdict.
    """
    properties = (question.response_schema or {}).get("properties")
    if isinstance(properties, dict):
        return {
            key: same if isinstance(kind, dict) and kind.get("type") == "boolean" else reason
            for key, kind in properties.items()
        }
    keys = list(dict.fromkeys(_KEY.findall(f"{question.system or ''}\n{_DATA.sub('', question.text)}")))
    return {key: same if place == 0 else reason for place, key in enumerate(keys)}
