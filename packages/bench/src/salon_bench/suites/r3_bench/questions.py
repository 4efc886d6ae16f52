"""The questions of R³-Bench and of the loop, built from the templates in ``prompts/``; the words are ours.

What is asked follows R³-Bench: the policy's turn (Figure 17), equivalence of explanations (Figure 18), decomposition of a
prompt (Figure 19) and yes/no questions about a picture (Figure 20).
"""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from salon_bench.suites.contract.suite import Inquiry
from salon_bench.suites.r3_bench.replies import parse_equivalent, parse_questions, parse_yes_no_lines
from salon_judges.asking.templates import Templates
from salon_taxonomy.answers import R3Answer, parse_r3
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.digest import digest
from salon_taxonomy.protocols import Decoding, Media, Question

POLICY_DECODING: Final = Decoding(temperature=0.01, max_tokens=2048)
"""T = 0.01 and 2,048 tokens, as in R³-Bench, Table 11."""
JUDGE_DECODING: Final = Decoding(max_tokens=2048)


@cache
def templates() -> Templates:
    """Return the templates of this folder, compiled once."""
    return Templates(Path(__file__).with_name("prompts"))


def words_version(*names: str) -> str:
    """Return a digest of some of the templates as they were written."""
    return digest("r3_words", {name: templates().texts[name] for name in names})


def reflect(image: Media, prompt: str, *, step: str = "reflect", fidelity: Fidelity = "paper") -> Inquiry[R3Answer]:
    """Does the picture match; if not, what differs, and what should an editor do?"""
    text = templates().render("reflect", prompt=prompt)
    return Inquiry(step, Question((image, text), decoding=POLICY_DECODING), partial(parse_r3, fidelity=fidelity))


def equivalent(prompt: str, truth: str, explanation: str, *, step: str = "equivalent") -> Inquiry[bool]:
    """Do two explanations name the same error? The judge sees no picture."""
    text = templates().render("explanations", prompt=prompt, truth=truth, said=explanation)
    return Inquiry(step, Question((text,), decoding=JUDGE_DECODING), parse_equivalent)


def check(image: Media, questions: Sequence[str], *, step: str) -> Inquiry[tuple[bool, ...]]:
    """Yes or no to each question about one picture; ``questions`` has at least one."""
    text = templates().render("questions", questions=list(questions), count=len(questions))
    parse = partial(parse_yes_no_lines, count=len(questions))
    return Inquiry(step, Question((image, text), decoding=JUDGE_DECODING), parse)


def decompose(prompt: str, *, step: str = "decompose") -> Inquiry[tuple[str, ...]]:
    """Ask which yes/no questions a prompt consists of. All are answered with yes for a picture that is right."""
    text = templates().render("decompose", prompt=prompt)
    return Inquiry(step, Question((text,), decoding=JUDGE_DECODING), parse_questions)
