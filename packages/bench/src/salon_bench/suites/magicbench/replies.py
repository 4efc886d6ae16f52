r"""What MagicBench's two questions are answered with: yes or no, and MagicMirror's boxed labels."""

import re

from salon_bench.suites.magicbench.fidelity import CountingRules
from salon_taxonomy.answers import MagicMirrorAnswer, Note, Outcome, Parsed, Unparsed, parse_magicmirror
from salon_taxonomy.answers.reading import is_refusal, said
from salon_taxonomy.verdict import Reason

_VERDICT = re.compile(r"\W{0,8}(?:(?:my |the )?(?:final )?answer(?: is)?\W{0,8})?(yes|no)\W{0,8}", re.IGNORECASE)
_LONGEST_LINE = 80


def parse_subject(text: str) -> Outcome[bool]:
    """Read a reply to "is the complete subject there": its last line must be yes or no, and nothing more.

    A reply that is a single line may begin with the verdict and go on after a comma, full stop or dash ("No, it is cropped.").

    Example:
        >>> parse_subject("Both hands are in the frame.\\n\\n**Yes**").answer
        True
        >>> parse_subject("I would say yes or no.").reason
        <Reason.MALFORMED: 'malformed'>
    """
    heard = said(text)
    if isinstance(heard, Unparsed):
        return heard
    lines = [line.strip() for line in heard.answer.splitlines() if line.strip()]
    found = _VERDICT.fullmatch(lines[-1]) if lines and len(lines[-1]) <= _LONGEST_LINE else None
    if found is None and len(lines) == 1:
        found = re.match(r"\W{0,8}(yes|no)\s?[,.:;–—-]", lines[0], re.IGNORECASE)
    if found is not None:
        return Parsed(found[1].lower() == "yes", heard.reasoning, heard.notes)
    if is_refusal(heard.answer):
        return Unparsed(Reason.REFUSED, f"the reply begins {heard.answer[:40]!r}", heard.reasoning)
    return Unparsed(Reason.MALFORMED, "the last line is neither yes nor no", heard.reasoning)


def parse_assessment(text: str, rules: CountingRules) -> Outcome[MagicMirrorAnswer]:
    r"""Read an assessor's reply by MagicMirror's grammar, as strictly as the rules ask.

    Example:
        >>> from salon_bench.suites.magicbench.fidelity import Fidelity
        >>> reply = r'\boxed{{"Whether Normal": false, "Type of Deformity": {}}}'
        >>> parse_assessment(reply, CountingRules.of(Fidelity.RELEASED)).answer.normal
        False
        >>> parse_assessment(reply, CountingRules.of(Fidelity.PAPER)).detail
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
