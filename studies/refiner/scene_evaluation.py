"""How good a refiner is on drawn scenes: S_ref, S_rect, verdicts and illusory instructions, from the scenes' exact truth.

S_ref and S_rect are R³-Bench's (section 2.3, :mod:`salon_bench.suites.r3_bench.scoring`). No model judges:
explanations are compared by the scenes' own rule (``same_mismatch``), questions are answered from the scene of the edited
picture, and instructions are carried out by the ``draw`` editor. What is missing counts 0, and is counted.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from salon_bench.suites.r3_bench.scoring import gain
from salon_rewards import illusory
from salon_synthetic.draw_editor.editor import DrawEditor
from salon_synthetic.scenes.claims import holds
from salon_synthetic.scenes.drawing import png, read_scene
from salon_synthetic.scenes.equivalence import same_mismatch
from salon_synthetic.scenes.generating import DrawnItem
from salon_synthetic.scenes.reading import read_question
from salon_synthetic.scenes.scene import Scene
from salon_taxonomy.answers import Parsed, R3Answer, parse_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_train.refiner.rows import question_text
from salon_train.run.greedy import answers, opened


@dataclass(frozen=True, slots=True)
class SceneEvaluation:
    """Shares over a set of items.

    Attributes:
        s_ref: over all items: an aligned one is passed, a misaligned one refused with the right explanation.
        s_rect: over the misaligned items: how much of what was wrong is right after the edit; 0 where nothing was edited.
        verdict: items with the right verdict.
        illusory: of the instructions given, those that rewrite the prompt; None when none was given.
        refused: of the instructions given, those that the editor could not carry out, illusory ones among them.
        unparsed: items whose reply holds no verdict; they count 0 above.
        items: how many.
        misaligned: how many of them.
    """

    s_ref: float
    s_rect: float
    verdict: float
    illusory: float | None
    refused: float | None
    unparsed: int
    items: int
    misaligned: int


def evaluate_on_scenes(
    model: Any, processor: Any, items: Sequence[DrawnItem], *, most_tokens: int = 64, batch: int = 128
) -> SceneEvaluation:
    """Ask a policy about every item, greedily, and carry out what it says.

    Args:
        model: the policy.
        processor: its own.
        items: with a misaligned one among them at least.
        most_tokens: of a reply.
        batch: items asked at once.

    Raises:
        InputError: when nothing is misaligned.
    """
    return evaluate_replies(items, answers_to(model, processor, items, most_tokens=most_tokens, batch=batch))


def answers_to(model: Any, processor: Any, items: Sequence[DrawnItem], *, most_tokens: int = 64, batch: int = 128) -> list[str]:
    """Return the policy's greedy reply to every item; empty where it was cut off."""
    asked = [(question_text(item.prompt), opened(_drawn(item.shown))) for item in items]
    return [each.text if each.whole else "" for each in answers(model, processor, asked, batch=batch, longest=most_tokens)]


def evaluate_replies(items: Sequence[DrawnItem], replies: Sequence[str]) -> SceneEvaluation:
    """Score replies to items; see :class:`SceneEvaluation`.

    Raises:
        InputError: when nothing is misaligned.

    Example:
        >>> from salon_taxonomy.answers import render_r3
        >>> from salon_train.refiner.small_scenes import draw_small_scenes
        >>> [item] = draw_small_scenes(1, seed=5, misaligned=1)
        >>> said = R3Answer(False, item.explanation, item.edit_prompt)
        >>> found = evaluate_replies([item], [render_r3(said, "I see.")])
        >>> found.s_ref, found.s_rect, found.illusory
        (1.0, 1.0, 0.0)
    """
    misaligned = sum(bool(item.findings) for item in items)
    if not misaligned:
        raise InputError("there is no misaligned item to rectify", column="items", value=len(items))
    s_ref = s_rect = right = evasive = refused = told = unparsed = 0.0
    for item, reply in zip(items, replies, strict=True):
        heard = parse_r3(reply)
        if not isinstance(heard, Parsed):
            unparsed += 1
            continue
        answer: R3Answer = heard.answer
        if answer.matches is not bool(item.findings):
            right += 1
            s_ref += answer.matches or same_mismatch(answer.explanation, item.explanation)
        if answer.matches:
            continue
        told += 1
        evasive += illusory(answer.edit_prompt) is not None
        after = _edited(item.shown, answer.edit_prompt)
        refused += after is None
        if item.findings and after is not None:
            s_rect += gain(_share(item, item.shown), _share(item, after))
    number = len(items)
    return SceneEvaluation(
        s_ref / number,
        s_rect / misaligned,
        right / number,
        evasive / told if told else None,
        refused / told if told else None,
        int(unparsed),
        number,
        misaligned,
    )


def _edited(scene: Scene, instruction: str) -> Scene | None:
    """Return the scene after the instruction; None when the editor refuses."""
    edit = asyncio.run(DrawEditor().edit(Media.from_bytes(_drawn(scene)), instruction))
    return None if edit.image is None or edit.image.data is None else read_scene(edit.image.data)


def _share(item: DrawnItem, scene: Scene) -> float:
    """Return the share of the item's questions that a scene answers as annotated."""
    claims = [read_question(question) for question in item.questions]
    right = sum(claim is not None and holds(claim, scene) is answer for claim, answer in zip(claims, item.answers, strict=True))
    return right / len(item.answers)


@cache
def _drawn(scene: Scene) -> bytes:
    return png(scene)
