"""VQAScore: the probability that a judge begins its answer with "yes" when asked whether the picture shows the text.

Any judge that reports log-probabilities: ``vqa-score:vllm:MODEL@host:8000``, ``vqa-score:transformers:FOLDER``.
Lin et al. 2024, Evaluating Text-to-Visual Generation with Image-to-Text Generation (arXiv 2404.01291), section 3; the
question is theirs.
"""

import asyncio
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Final

from salon_judges.clients.specification import open_judge
from salon_taxonomy.answers import answer_probabilities
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import ManagedJudge, ScorerKind
from salon_taxonomy.protocols import Decoding, Media, Question, Reply
from salon_taxonomy.records import CallStatus
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

QUESTION: Final = 'Does this figure show "{}"? Please answer yes or no.'
"""As in the released code of VQAScore (t2v_metrics)."""

_FORMULA: Final = 2
_TOP: Final = 20
_ON_MENU: Final = 0.5
_DECODING: Final = Decoding(temperature=0.0, max_tokens=1, top_logprobs=_TOP)


class VqaScore:
    """Asks a judge about every picture and returns P("yes").

    Args:
        judge: reports log-probabilities (``Reply.tokens``).
    """

    range = (0.0, 1.0)
    higher_is_better = True

    def __init__(self, judge: ManagedJudge) -> None:
        self._judge = judge
        self.name = f"vqa-score {judge.name}"
        self.version = f"{_FORMULA}-{judge.version}"

    async def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> list[Verdict[float]]:
        """Return the probability for each picture, or the reason for a missing one."""
        asked = (self._judge.ask(question(image, prompt)) for image, prompt in zip(images, prompts, strict=True))
        return [yes_probability(reply) for reply in await asyncio.gather(*asked)]

    async def close(self) -> None:
        """Close the judge."""
        await self._judge.close()


def question(image: Any, prompt: str) -> Question:
    """Return the question about one PIL image."""
    encoded = BytesIO()
    image.save(encoded, "PNG", compress_level=1)
    return Question((Media.from_bytes(encoded.getvalue()), QUESTION.format(prompt)), decoding=_DECODING)


def yes_probability(reply: Reply) -> Verdict[float]:
    """Return the probability that the reply begins with "yes", in any case and with any white space around it.

    Returns:
        ``Unscored`` where the judge reports no log-probabilities, or where "yes" and "no" together have less than half of the
        probability: then the judge does not answer the question, and a small P("yes") would mean nothing.

    Example:
        >>> import math
        >>> from salon_taxonomy.protocols import Token
        >>> first = Token("Yes", math.log(0.7), (("Yes", math.log(0.7)), ("No", math.log(0.2)), (" yes", math.log(0.05))))
        >>> yes_probability(Reply("Yes", tokens=(first,)))
        Scored(value=0.75)
    """
    if reply.status == CallStatus.CANCELLED:  # no judge was asked, which says nothing of the picture
        return Unscored(Reason.UNREACHABLE, reply.error or "no judge was asked")
    if not reply.tokens:
        return reply.problem() or Unscored(Reason.NOT_REPORTED, "the judge reports no log-probabilities", reply.text)
    shares = answer_probabilities(reply.tokens, {"yes": ("yes",), "no": ("no",)}).shares
    if sum(shares.values()) < _ON_MENU:
        words = f"the reply begins with neither yes nor no: together {sum(shares.values()):.3f} of the probability"
        return Unscored(Reason.OFF_MENU, words, reply.text)
    return Scored(shares["yes"])


def _open(text: str, environment: Mapping[str, str]) -> VqaScore:
    if not text:
        hint = "Write vqa-score:vllm:MODEL@localhost:8000, or another judge that reports log-probabilities."
        raise InputError("needs a judge", source="vqa-score", hint=hint)
    return VqaScore(open_judge(text, environment or None))


kind: Final = ScorerKind("vqa-score", _open)
"""The entry point ``vqa-score`` of the group ``salon.scorers``."""
