"""Two ways to read replies and to count: as the paper says, and as the authors' script does.

They differ in five places, each a field of :class:`CountingRules`. The printed tables of MagicMirror follow the script: the
Human score of FLUX.1-dev (46.00, Table 3) is not the mean of its three sub-scores (46.33, Table 7), because a picture of
another class showed a deformed person.
"""

from dataclasses import dataclass

from salon_taxonomy.answers import MagicMirrorAnswer, Note, Outcome, Unparsed, parse_magicmirror
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity
from salon_taxonomy.verdict import Reason


@dataclass(frozen=True, slots=True)
class CountingRules:
    """What a rule does where paper and script differ.

    Attributes:
        assess_without_subject: whether a picture that lacks its subject is shown to the assessor all the same. The script
            assesses every picture; the paper says that those without their subject are assessed no further.
        need_readable_assessment: whether a picture that lacks its subject is left out, numerator and denominator, when the
            assessor's reply to it cannot be read. The script leaves it out.
        count_flags_of_all_classes: whether the numerators of Human, Animal and Object count flags on pictures of every
            class, over denominators that hold one class. The script does; such a score can fall below 0.
        take_artifact_without_label: whether "not normal" without any label is an answer (an artifact of no kind). The script
            takes it; by the paper an artifact has a label, so the reply is malformed.
        take_paper_key: whether the key ``Type of Abnormality``, which the paper's own examples use, is read. The script
            takes ``Type of Deformity`` alone.
    """

    assess_without_subject: bool
    need_readable_assessment: bool
    count_flags_of_all_classes: bool
    take_artifact_without_label: bool
    take_paper_key: bool

    @classmethod
    def of(cls, fidelity: Fidelity) -> "CountingRules":
        """Return the rules of one way to count.

        Args:
            fidelity: ``paper`` is section 3.3 and Equation 4 of MagicMirror, ``released`` the authors' scoring script.

        Example:
            >>> CountingRules.of("paper").count_flags_of_all_classes
            False
        """
        released = checked_fidelity(fidelity) == "released"
        return cls(
            assess_without_subject=released,
            need_readable_assessment=released,
            count_flags_of_all_classes=released,
            take_artifact_without_label=released,
            take_paper_key=not released,
        )


def parse_assessment(text: str, rules: CountingRules) -> Outcome[MagicMirrorAnswer]:
    r"""Read an assessor's reply by MagicMirror's grammar, as strictly as the rules ask.

    Example:
        >>> reply = r'\boxed{{"Whether Normal": false, "Type of Deformity": {}}}'
        >>> parse_assessment(reply, CountingRules.of("released")).answer.normal
        False
        >>> parse_assessment(reply, CountingRules.of("paper")).detail
        'not normal, but no label says why'
    """
    outcome = parse_magicmirror(text)
    if isinstance(outcome, Unparsed):
        return outcome
    if not rules.take_paper_key and Note.PAPER_KEY in outcome.notes:
        return Unparsed(Reason.MALFORMED, "the released script does not take the key 'Type of Abnormality'", outcome.reasoning)
    if not rules.take_artifact_without_label and not outcome.answer.normal and not outcome.answer.artifacts:
        return Unparsed(Reason.MALFORMED, "not normal, but no label says why", outcome.reasoning)
    return outcome
