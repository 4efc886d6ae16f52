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

    A verdict that stands first is taken where what follows cannot turn it round: on the same line after a comma, full stop or
    dash ("No, it is cropped."), or from the next line on, beginning a sentence, when no later line is the other verdict.

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
    found = _bare(lines[-1]) if lines else None
    if found is None and len(lines) == 1:
        found = re.match(r"\W{0,8}(yes|no)\s?[,.:;–—-]", lines[0], re.IGNORECASE)
    elif found is None and lines and not lines[1][0].islower() and not any(map(_bare, lines[1:])):
        found = _bare(lines[0])
    if found is not None:
        return Parsed(found[1].lower() == "yes", heard.reasoning, heard.notes)
    if is_refusal(heard.answer):
        return Unparsed(Reason.REFUSED, f"the reply begins {heard.answer[:40]!r}", heard.reasoning)
    return Unparsed(Reason.MALFORMED, "the last line is neither yes nor no", heard.reasoning)


def _bare(line: str) -> re.Match[str] | None:
    """The verdict of a line that holds nothing else."""
    return _VERDICT.fullmatch(line) if len(line) <= _LONGEST_LINE else None


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
