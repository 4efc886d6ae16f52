"""Find the answer in a judge's reply: after the reasoning, in a box, or in a JSON object.

Each function makes one pass over the text, so its time is linear in the length of the reply, whatever the reply is. Replies of
more than :data:`LONGEST_REPLY` characters are not read.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from salon_taxonomy.answers.outcome import Note, Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

Fidelity: TypeAlias = Literal["paper", "released"]
"""Which rules read a reply: the paper's, or those of the authors' script."""

_THINK_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)
_BOX_OR_BRACE = re.compile(r"\\boxed\{|[{}]")
# The next brace behind any text and strings (the last closing quote may be missing). Possessive: the scan never turns back.
_BRACE_OUTSIDE_STRINGS = re.compile(r'(?:[^{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"?)*+([{}])', re.DOTALL)
_FENCE = "```"
_BRACE = re.compile(r"([{}])")
_MEMBER = re.compile(r'"[^"\n]{0,80}"\s{0,9}:\s{0,9}(?:true|false|null|"[^"\n]{0,80}"|\[[^\]\n]{0,200}\])')
"""A member of the answer, written without its braces."""
_COMMAND = re.compile(r"\\[a-zA-Z]+")
BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"
"""Hangul fillers: letters by their category that show nothing."""
# Said at the beginning of a reply that holds no answer. Kept short on purpose: prose that is no refusal stays malformed.
_REFUSAL = re.compile(
    r"i(?:['’]m| am) (?:very )?sorry|sorry,|i apologi[sz]e|抱歉|很抱歉|对不起|我无法|我不能"
    r"|(?:unfortunately, )?i (?:can['’]t|cannot|can not|won['’]t|will not|am unable to|am not able to) "
    r"(?:assist|help|comply|view|watch|access|process|fulfil|provide|engage|evaluate|answer|judge|rate|score)"
)
_REFUSAL_OPENING = 200
_LONGEST_SHOWN = 40
LONGEST_REPLY = 1_000_000
"""Characters of a reply that is read; models write at most about 500,000 in one reply."""


def checked_fidelity(fidelity: Fidelity) -> Fidelity:
    """Return a fidelity that is one.

    Raises:
        InputError: for another value.
    """
    if fidelity not in ("paper", "released"):
        raise InputError("unknown fidelity", value=fidelity, allowed=("paper", "released"))
    return fidelity


@dataclass(frozen=True, slots=True)
class SplitReply:
    """A reply split into reasoning and answer.

    Attributes:
        reasoning: the content of ``<think>``, stripped; None without such a block.
        answer: everything else, stripped; never empty.
        notes: what was noted on the way.
        behind: the part of the answer after all reasoning, stripped; may be empty.
    """

    reasoning: str | None
    answer: str
    notes: tuple[Note, ...]
    behind: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A piece of a reply that may contain the answer.

    Also records whether another piece was opened after or around it and never closed.
    """

    body: str
    notes: tuple[Note, ...]
    unfinished: bool


def split_reply(text: str) -> SplitReply | Unparsed:
    """Take the reasoning out of a reply.

    All text within ``<think>…</think>`` is reasoning, wherever it stands; so is everything before a ``</think>``
    without an opening tag. A ``<think>`` that is never closed means that the reply broke off while reasoning.

    Example:
        >>> split_reply("<think>Six fingers.</think>no")
        SplitReply(reasoning='Six fingers.', answer='no', notes=())
        >>> split_reply("<think>Six fing").reason
        <Reason.TRUNCATED: 'truncated'>
    """
    if len(text) > LONGEST_REPLY:
        return Unparsed(Reason.MALFORMED, f"the reply has {len(text):,} characters; at most {LONGEST_REPLY:,} are read")
    notes: tuple[Note, ...] = ()
    readable = without_surrogates(text)
    if readable != text:
        text, notes = readable, (Note.REPAIRED_TEXT,)
    thoughts: list[str] = []
    answers: list[str] = []
    inside, start, tags = False, 0, 0
    for tag in _THINK_TAG.finditer(text):
        opens, tags = not tag[1], tags + 1
        if inside and opens:
            continue
        piece = text[start : tag.start()]
        if not inside and not opens:
            thoughts += [*answers, piece]
            answers = []
            notes = (*notes, Note.THINK_UNOPENED) if Note.THINK_UNOPENED not in notes else notes
        else:
            (thoughts if inside else answers).append(piece)
        inside, start = opens, tag.end()
    if inside:
        thoughts.append(text[start:])
        return Unparsed(Reason.TRUNCATED, "the reasoning is never closed", _joined(thoughts))
    answers.append(text[start:])
    if tags > 2 or (tags == 2 and Note.THINK_UNOPENED in notes):
        notes = (*notes, Note.THINK_REPEATED)
    reasoning = _joined(thoughts) if start else None
    answer = _joined(answers)
    if not answer:
        after = " after the reasoning" if start else ""
        return Unparsed(Reason.EMPTY, f"nothing stands{after or ' in the reply'}", reasoning)
    return SplitReply(reasoning, answer, notes, text[start:].strip())


def thought_letters(reasoning: str) -> str:
    r"""Return the letters and digits of reasoning that a reader sees as words: those outside of braces and commands.

    A thought that holds the answer and nothing else, zero-width characters or signs has none.

    Example:
        >>> thought_letters("Six fingers."), thought_letters("\u200b ."), thought_letters('\\boxed{{"Whether Normal": true}}')
        ('Sixfingers', '', '')
    """
    depth, seen = 0, []
    for piece in _BRACE.split(reasoning):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
        elif not depth:
            seen.append(_COMMAND.sub(" ", _MEMBER.sub(" ", piece)))
    return "".join(sign for sign in "".join(seen) if sign.isalnum() and sign not in BLANK_LETTERS)


def without_surrogates(text: str) -> str:
    """Return the text with pairs of surrogates joined and lone ones turned into U+FFFD, so that any encoding can carry it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def last_box(answer: str) -> Found | None:
    r"""Return the content of the last ``\boxed{…}`` whose braces balance, else None.

    Braces are counted as they stand, also within strings, as the released checkers of boxed answers do.

    Example:
        >>> last_box(r"first \boxed{1}, then \boxed{{2}}").body
        '{2}'
    """
    depth = 0
    open_boxes: list[tuple[int, int]] = []
    span: tuple[int, int] | None = None
    for token in _BOX_OR_BRACE.finditer(answer):
        if token[0] == "}":
            if not depth:
                continue
            depth -= 1
            if open_boxes and open_boxes[-1][0] == depth:
                opened = open_boxes.pop()[1]
                span = max(span or (0, 0), (opened, token.start()))
        else:
            if token[0] != "{":
                open_boxes.append((depth, token.end()))
            depth += 1
    if span is None:
        return None
    start, end = span
    around = answer[: start - len(r"\boxed{")].strip() or answer[end + 1 :].strip()
    notes = (Note.SURROUNDED,) if around else ()
    return Found(answer[start:end].strip(), (*notes, Note.UNFINISHED) if open_boxes else notes, bool(open_boxes))


def last_object(answer: str) -> Found | None:
    """Return the last outermost ``{…}`` whose braces balance, else None.

    Within braces, double-quoted strings are skipped; outside of them quotation marks mean nothing, so prose may use them.

    Example:
        >>> last_object('Not {this}, but: {"score": 7}.').body
        '{"score": 7}'
    """
    opened: list[int] = []
    closed: tuple[int, int] | None = None  # always the last: what it contains was closed before it
    position = answer.find("{")
    while position >= 0 and (brace := _BRACE_OUTSIDE_STRINGS.match(answer, position)) is not None:
        position = brace.end()
        if brace[1] == "{":
            opened.append(position - 1)
            continue
        closed = opened.pop(), position
        if not opened:
            position = answer.find("{", position)
    if closed is None:
        return None
    start, end = closed
    notes: tuple[Note, ...] = ()
    if answer.startswith(_FENCE) and answer.endswith(_FENCE):
        notes = (Note.FENCED,)
    elif start > 0 or end < len(answer):
        notes = (Note.SURROUNDED,)
    return Found(answer[start:end], (*notes, Note.UNFINISHED) if opened else notes, bool(opened))


def split_object(text: str) -> tuple[SplitReply, Found] | Unparsed:
    """Split a reply whose answer is a JSON object into its text and its last object.

    Without an object, return the reason.

    Example:
        >>> heard, found = split_object('<think>Six fingers.</think>{"score": 7}')
        >>> heard.reasoning, found.body
        ('Six fingers.', '{"score": 7}')
        >>> split_object("It is fine.").detail
        'no {…} is in the reply'
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    fragment = last_object(heard.answer)
    return nothing_found(heard, "{") if fragment is None else (heard, fragment)


def rejected(fragment: Found, reason: Reason, detail: str, reasoning: str | None) -> Unparsed:
    """Return the outcome for a piece that the grammar refuses.

    If another piece was cut off, that is the reason.
    """
    if fragment.unfinished:
        return Unparsed(Reason.TRUNCATED, f"the reply broke off, and what it holds is no answer: {detail}", reasoning)
    return Unparsed(reason, detail, reasoning)


def nothing_found(heard: SplitReply, wanted: str) -> Unparsed:
    """Return why a reply without its box or object is no answer: cut off, a refusal, or something else altogether."""
    if wanted in heard.answer:
        return Unparsed(Reason.TRUNCATED, f"{wanted} is opened and never closed", heard.reasoning)
    if is_refusal(heard.answer):
        return refused(heard)
    return Unparsed(Reason.MALFORMED, f"no {wanted}…}} is in the reply", heard.reasoning)


def refused(heard: SplitReply) -> Unparsed:
    """Return the reason of a reply that declines, with its beginning."""
    return Unparsed(Reason.REFUSED, f"the reply begins {heard.answer[:_LONGEST_SHOWN]!r}", heard.reasoning)


def is_refusal(answer: str) -> bool:
    """Return whether a reply begins the way judges decline.

    Example:
        >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("I cannot find any artifacts.")
        (True, False)
    """
    return _REFUSAL.match(answer[:_REFUSAL_OPENING].lower()) is not None


def _joined(pieces: list[str]) -> str:
    return "\n".join(stripped for piece in pieces if (stripped := piece.strip()))
