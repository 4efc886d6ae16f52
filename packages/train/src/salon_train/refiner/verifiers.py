"""Measure a policy's certainty that a picture matches, P(v̂ = true | P, I) (R³-Bench, Equation 5).

    the policy's own thought, greedy ──► "</think>" and the answer's opening ──► log P("true"), log P("false")
                                                                                  └── softmax over the two ──► 0 … 1

The thought is written first because a verdict that skips it is not the verdict that the policy would give. Both verdicts are
then set behind it (teacher forcing), and the mass of their token sequences is compared; what else could be said there does
not count. A thought that does not end is cut off, so there always is a probability. This is the ``certainty`` that
``salon_rewards.RectificationReward`` asks for.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from salon_bench.suites.r3_bench.questions import check, reflect
from salon_judges.asking.asker import Asker, AskPolicy, Memory
from salon_judges.clients.local_generation import LocalModel, opened
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Judge, Media
from salon_taxonomy.verdict import Unscored

_OPENING: Final = '\n</think>\n{"answer": '
_VERDICTS: Final = ("true", "false")


class PolicyVerifier:
    """A policy asked about its own work.

    Args:
        model: any vision-language model of transformers; its weights of the moment are used, in evaluation mode.
        processor: its own.
        most_thought: tokens of a thought.
        batch: pairs in one forward pass.

    Raises:
        InputError: for a number below 1.
    """

    def __init__(self, model: Any, processor: Any, *, most_thought: int = 512, batch: int = 16) -> None:
        for name, value in (("most_thought", most_thought), ("batch", batch)):
            if value < 1:
                raise InputError("must be 1 or more", column=name, value=value)
        self.model = model
        self.processor = processor
        self.most_thought = most_thought
        self.batch = batch

    def __call__(self, prompts: Sequence[str], pictures: Sequence[Media]) -> list[float]:
        """Return one probability for each prompt and picture, 0 to 1; equal pairs are looked at once."""
        distinct = list(dict.fromkeys(zip(prompts, pictures, strict=True)))
        probabilities: list[float] = []
        with evaluating(self.model):
            for first in range(0, len(distinct), self.batch):
                probabilities += self._looked(distinct[first : first + self.batch])
        known = dict(zip(distinct, probabilities, strict=True))
        return [known[pair] for pair in zip(prompts, pictures, strict=True)]

    def _looked(self, pairs: Sequence[tuple[str, Media]]) -> list[float]:
        local = LocalModel(self.model, self.processor)
        questions = [reflect(picture, prompt).question for prompt, picture in pairs]
        decoding = Decoding(max_tokens=self.most_thought, stop=("</think>",))
        thoughts = [reply.text.rstrip() for reply in local.answer([(question, decoding) for question in questions])]
        openings = [
            local.prompt_text(question) + thought + _OPENING for question, thought in zip(questions, thoughts, strict=True)
        ]
        return verdict_probabilities(self.model, self.processor, openings, [opened(picture) for _, picture in pairs])


def verdict_probabilities(model: Any, processor: Any, openings: Sequence[str], pictures: Sequence[Any]) -> list[float]:
    """Return the share of ``true`` in the probability of ``true`` and ``false`` as the next words of each text.

    Args:
        model: gives ``logits``, shape (rows, tokens, vocabulary).
        processor: its own.
        openings: texts up to the verdict, question and picture's place included.
        pictures: one for each, decoded.

    Returns:
        P(true) / (P(true) + P(false)) for each, 0 to 1; a verdict of several tokens counts with their product.
    """
    import torch

    texts = [opening + verdict for opening in openings for verdict in _VERDICTS]
    images = [[picture] for picture in pictures for _ in _VERDICTS]
    inputs = processor(text=texts, images=images, padding=True, padding_side="right", return_tensors="pt").to(model.device)
    if "pixel_values" in inputs:
        inputs["pixel_values"] = inputs["pixel_values"].to(model.dtype)
    with torch.inference_mode():
        logits = model(**inputs).logits.float()
    ids, lengths = inputs["input_ids"], inputs["attention_mask"].sum(dim=1).tolist()
    probabilities = []
    for row in range(0, len(texts), 2):
        shared = _shared(ids[row, : lengths[row]].tolist(), ids[row + 1, : lengths[row + 1]].tolist())
        true, false = (_mass(logits[each], ids[each], shared, lengths[each]) for each in (row, row + 1))
        probabilities.append(1 / (1 + math.exp(min(false - true, 700.0))))
    return probabilities


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """The model without dropout, and as it was afterwards."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two texts have in common at their beginning."""
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _mass(logits: Any, ids: Any, start: int, end: int) -> float:
    """Return the log-probability of tokens ``start`` to ``end``, given those before."""
    rows = logits[start - 1 : end - 1].log_softmax(-1)
    return float(rows.gather(1, ids[start:end, None]).sum())


class QuestionVerifier:
    """Let a judge answer each prompt's yes/no questions about the edited picture: the alternative of R³-Bench's Table 4.

    Args:
        judge: answers the questions.
        questions: prompt → its questions and the answers of a picture that shows it.
    """

    def __init__(self, judge: Judge, questions: Mapping[str, tuple[Sequence[str], Sequence[bool]]]) -> None:
        self.judge = judge
        self.questions = questions

    async def __call__(self, prompts: Sequence[str], pictures: Sequence[Media]) -> list[float | Unscored]:
        """Return the share of questions answered rightly, 0 to 1; ``Unscored`` when the judge gave no readable answer.

        Raises:
            InputError: for a prompt without questions.
        """
        missing = next((prompt for prompt in prompts if not self.questions.get(prompt, ((), ()))[0]), None)
        if missing is not None:
            raise InputError("the prompt has no questions", column="text_prompt", value=missing)
        return list(await asyncio.gather(*(self._one(*pair) for pair in zip(prompts, pictures, strict=True))))

    async def _one(self, prompt: str, picture: Media) -> float | Unscored:
        questions, answers = self.questions[prompt]
        asked = check(picture, questions, step="check")
        heard = (await Asker(AskPolicy(self.judge, 0)).answer(asked, Memory())).verdict
        if isinstance(heard, Unscored):
            return heard
        return sum(one is other for one, other in zip(heard.value, answers, strict=True)) / len(answers)
