"""Tokens of a reply as a text that stores and journals keep, so that a stored reply gives the value of the live one."""

import json
import math
from collections.abc import Sequence
from typing import Any

from salon_taxonomy.answers.probabilities import MOST_TOKENS
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.protocols import Token


def stored_tokens(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens that are kept: the first 16 and the last 16, without non-finite numbers and lone surrogates.

    An answer is read from the first ones, the verdict behind a reason from the last.

    Example:
        >>> stored_tokens([Token("a", float("nan")), Token("b", -1.0, (("b", -1.0), ("c", -math.inf)))])
        (Token(text='b', logprob=-1.0, alternatives=(('b', -1.0),)),)
    """
    finite = [each for each in tokens if math.isfinite(each.logprob)]
    kept = finite if len(finite) <= 2 * MOST_TOKENS else finite[:MOST_TOKENS] + finite[-MOST_TOKENS:]
    return tuple(Token(without_surrogates(each.text), each.logprob, _finite(each.alternatives)) for each in kept)


def tokens_text(tokens: Sequence[Token]) -> str | None:
    """Return tokens as JSON, None for no token.

    Example:
        >>> tokens_text([Token("yes", -0.5, (("yes", -0.5), ("no", -1.0)))])
        '[["yes",-0.5,[["yes",-0.5],["no",-1.0]]]]'
    """
    rows = [[each.text, each.logprob, each.alternatives] for each in tokens]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) if rows else None


def tokens_of(text: object) -> tuple[Token, ...]:
    """Return the tokens of a stored text; none for null, and for anything that was not written by :func:`tokens_text`.

    Example:
        >>> tokens_of('[["yes",-0.5,[["yes",-0.5]]]]'), tokens_of("[["), tokens_of(None)
        ((Token(text='yes', logprob=-0.5, alternatives=(('yes', -0.5),)),), (), ())
    """
    try:
        rows = json.loads(text) if isinstance(text, str) else []
        tokens = [Token(str(word), float(p), tuple(map(_pair, others))) for word, p, others in rows]
    except (ValueError, TypeError, RecursionError, OverflowError):
        return ()
    return stored_tokens(tokens)


def _finite(alternatives: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple((without_surrogates(text), logprob) for text, logprob in alternatives if math.isfinite(logprob))


def _pair(pair: Any) -> tuple[str, float]:
    text, logprob = pair
    return str(text), float(logprob)
