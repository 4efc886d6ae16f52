"""Score an edited picture by decomposed questions: the alternative to R_rect in Table 4 of R³-Refiner.

The score is the share of a prompt's yes/no questions that another model answers as annotated; it replaces the policy's own
P(true).
"""

import asyncio
from collections.abc import Mapping, Sequence

from salon_bench.suites.r3_bench.questions import check
from salon_rewards.asking import parse_reply
from salon_taxonomy.answers import Parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Media
from salon_taxonomy.verdict import Reason, Unscored


class QuestionVerifier:
    """A judge that answers each prompt's questions.

    Args:
        judge: who looks.
        questions: prompt → its questions and the answers of a picture that shows it.
    """

    def __init__(self, judge: Judge, questions: Mapping[str, tuple[Sequence[str], Sequence[bool]]]) -> None:
        self.judge = judge
        self.questions = questions

    async def __call__(self, prompts: Sequence[str], pictures: Sequence[Media]) -> list[float | Unscored]:
        """The share of questions answered rightly, 0 to 1; ``Unscored`` when the judge gave no readable answer.

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
        reply = await self.judge.ask(asked.question)
        problem = reply.problem()
        if problem is not None:
            return problem
        heard = await parse_reply(asked.parse, reply.text)
        if not isinstance(heard, Parsed):
            return Unscored(Reason.MALFORMED, heard.detail)
        return sum(one is other for one, other in zip(heard.answer, answers, strict=True)) / len(answers)
