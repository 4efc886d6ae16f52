"""What a refiner's thought claims: that the picture shows what was asked for, or that it does not.

R³-Refiner (R³-Bench) thinks, and then gives a verdict. A policy that is paid for verdicts may stop minding its thoughts.
Read by a handful of words with negation, suppositions and conclusions, for watching a whole batch; where they are unsure,
there is no claim.

    reasoning ──► clauses, each of which says "matches", "does not" or neither
              ──► the last conclusion, else any "does not", else any "matches"
"""

from itertools import pairwise
from typing import Final

from salon_rewards.monitors.clauses import clauses
from salon_rewards.monitors.lexicon import CONCLUSIONS, NEGATORS, UNASSERTED, words

LONGEST_REASONING: Final = 2_000
"""Characters; of longer reasonings the last so many are read, as conclusions stand at the end."""
_REACH: Final = 4
"""Words that a negation reaches over."""
_SUPPOSED: Final = UNASSERTED | {"were", "looked", "looks", "compare"}
_FITS: Final = frozenset(
    words("""
    match matches matching matched correct correctly accurate accurately right faithful faithfully satisfies satisfied
    satisfy fulfils fulfills fulfilled consistent agrees agree fits fit meets meet shown present""")
)
_FAILS: Final = frozenset(
    words("""
    mismatch mismatched mismatches missing absent lacks lacking wrong wrongly incorrect incorrectly inconsistent inaccurate
    contradicts contradict contradiction differs differ different discrepancy discrepancies violates violate fails fail failed
    misspelled swapped""")
)
_FIT_PHRASES: Final = frozenset(
    (first, second)
    for first, seconds in {
        "as": ("asked", "requested", "described", "required", "stated", "specified", "wanted"),
        "in": ("accordance",),
        "what": ("was",),
    }.items()
    for second in seconds
)
_FAIL_PHRASES: Final = frozenset({("instead", "of"), ("rather", "than"), ("too", "few"), ("too", "many")})
_NOT_SHOWN: Final = frozenset(words("show shows contain contains include includes depict depicts what in there present"))
"""What a negation before it makes a thing that is not there."""


def claimed_match(reasoning: str) -> bool | None:
    """Return what a reasoning claims about its picture, as far as a few words can tell; None where they cannot. English only.

    Example:
        >>> claimed_match("The dog is missing."), claimed_match("Nothing is missing, all is as asked.")
        (False, True)
        >>> claimed_match("A dog on a chair.")
    """
    claims: bool | None = None
    for clause in clauses(reasoning[-LONGEST_REASONING:].lower().replace("’", "'")):
        says = _says(clause)
        if says is None:
            continue
        if says is False or claims is None or not CONCLUSIONS.isdisjoint(clause):
            claims = says
    return claims


def _says(clause: list[str]) -> bool | None:
    """Return whether a clause says that something is as asked, that something is not, or neither."""
    if not _SUPPOSED.isdisjoint(clause) or "?" in clause:
        return None
    fits, fails = False, clause[0] == "not" or ("and", "not") in set(pairwise(clause))  # the one, not the other
    reach = 0
    for word, following in zip(clause, [*clause[1:], ""], strict=True):
        if word in NEGATORS:
            reach = _REACH + 1
            continue
        reach -= 1
        pair = (word, following)
        if pair in _FIT_PHRASES or word in _FITS:
            fits, fails = (fits, True) if reach > 0 else (True, fails)
        elif pair in _FAIL_PHRASES or word in _FAILS:
            fits, fails = (True, fails) if reach > 0 else (fits, True)
        elif word in _NOT_SHOWN and reach > 0:
            fails = True
    return False if fails else True if fits else None
