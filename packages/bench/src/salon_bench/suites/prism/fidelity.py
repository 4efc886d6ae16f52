"""Two ways to read replies and to count: as the paper says, and as the authors' script does.

With a score for every picture on both axes the two agree on every track; they part where verdicts are missing, and in the
overall score where tracks have unequal numbers of them.
"""

from dataclasses import dataclass

from salon_taxonomy.answers import Note, Outcome, PrismAnswer, Unparsed, parse_prism
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity
from salon_taxonomy.verdict import Reason


@dataclass(frozen=True, slots=True)
class CountingRules:
    """What a rule does where paper and script differ.

    Attributes:
        pool: whether a track's score is the mean of all its verdicts, and the overall score the mean of all verdicts of all
            tracks. The script pools; by the paper a track's score is the mean of its two axes' means, and the overall
            score the mean of the seven tracks, which is null when a track has none.
        take_text_scores: whether a score written as a string (``"8"``, as the paper's own template shows it) is read. The
            script skips it.
        need_justification: whether a score without a justification is malformed, as by the form of Tables 8 to 15. The script
            looks at the score alone.
        english_rubrics: whether Chinese prompts are judged by English rubrics, as the script does.
    """

    pool: bool
    take_text_scores: bool
    need_justification: bool
    english_rubrics: bool

    @classmethod
    def of(cls, fidelity: Fidelity) -> "CountingRules":
        """Return the rules of one way to count.

        Args:
            fidelity: ``paper`` is section 3.2 of PRISM-Bench, ``released`` the authors' evaluation script.

        Example:
            >>> CountingRules.of("paper").pool
            False
        """
        released = checked_fidelity(fidelity) == "released"
        return cls(pool=released, take_text_scores=not released, need_justification=not released, english_rubrics=released)


def parse_score(text: str, rules: CountingRules) -> Outcome[PrismAnswer]:
    """Read a reply by the grammar of :func:`salon_taxonomy.answers.parse_prism`, as strictly as the rules ask.

    Example:
        >>> reply = '{"justification": "The sign is misspelled.", "score": "3"}'
        >>> parse_score(reply, CountingRules.of("paper")).answer.score
        3.0
        >>> parse_score(reply, CountingRules.of("released")).detail
        'the released script takes no score that is written as a text'
        >>> parse_score('{"score": 3}', CountingRules.of("released")).answer.score
        3.0
    """
    outcome = parse_prism(text, need_justification=rules.need_justification)
    if isinstance(outcome, Unparsed) or rules.take_text_scores or Note.TEXT_SCORE not in outcome.notes:
        return outcome
    problem = "the released script takes no score that is written as a text"
    return Unparsed(Reason.MALFORMED, problem, outcome.reasoning)
