"""What is wrong with a picture, given what it should show: explanations, and the instruction that mends each."""

from collections.abc import Sequence
from dataclasses import dataclass

from salon_synthetic.scenes.claims import Attributed, Claim, Description, Present, Related, holds, related
from salon_synthetic.scenes.scene import Scene
from salon_synthetic.scenes.vocabulary import OPPOSITE, Relation
from salon_synthetic.scenes.wording import counted, described, indefinite, noun, predicate, relation_phrase


@dataclass(frozen=True, slots=True)
class Finding:
    """One mismatch.

    Attributes:
        explanation: one sentence: what is there, and what was asked for.
        instruction: one sentence for an editor of pictures.
    """

    explanation: str
    instruction: str


def findings(claims: Sequence[Claim], scene: Scene) -> tuple[Finding, ...]:
    """Every mismatch between claims and a scene, in the order of the claims, additions last; empty when all claims hold.

    A missing object and an unclaimed one that differ in one attribute are one finding: the wrong attribute.

    Example:
        >>> from salon_synthetic.scenes.reading import read_prompt
        >>> from salon_synthetic.scenes.scene import Item
        >>> scene = Scene(items=[Item(shape="star", colour="red", x=40, y=40)])
        >>> findings(read_prompt("a blue star"), scene)
        (Finding(explanation='The star is red, not blue.', instruction='Make the red star blue.'),)
    """
    wanted = [claim for claim in claims if isinstance(claim, Present)]
    spare = {place for place, item in enumerate(scene.items) if not any(claim.kind.fits(item) for claim in wanted)}
    differences: list[Finding] = []
    for claim in claims:
        if holds(claim, scene):
            continue
        if isinstance(claim, Present):
            differences += _presence(claim, claims, scene, spare)
        elif isinstance(claim, Related):
            differences += _relation(claim, scene)
        else:
            differences += _attribute(claim, scene)
    return tuple(sorted(differences, key=lambda finding: finding.instruction.startswith("Add")))


def _presence(claim: Present, claims: Sequence[Claim], scene: Scene, spare: set[int]) -> list[Finding]:
    count = len(claim.kind.places(scene))
    missing = claim.number - count
    differences: list[Finding] = []
    for index in sorted(spare):
        wrong = claim.kind.differences(scene.items[index])
        if len(differences) < missing and len(wrong) == 1:
            spare.discard(index)
            differences.append(_wrong_attribute(claim.kind, wrong[0], scene, index))
    if len(differences) == missing:
        return differences
    if missing > 0:
        lacking = missing - len(differences)
        added = indefinite(noun(claim.kind)) if lacking == 1 else counted(claim.kind, lacking)
        return [*differences, Finding(_count(claim, count), f"Add {added}{_beside(claim.kind, claims)}.")]
    return [Finding(_count(claim, count), f"Remove {counted(claim.kind, -missing)}.")]


def _beside(kind: Description, claims: Sequence[Claim]) -> str:
    """Return where an added object must stand, as far as the claims say."""
    for claim in claims:
        if isinstance(claim, Related) and claim.relation != Relation.TIED:
            if claim.kind == kind:
                return f" {relation_phrase(claim.relation)} the {noun(claim.other)}"
            if claim.other == kind:
                return f" {relation_phrase(OPPOSITE[claim.relation])} the {noun(claim.kind)}"
    return ""


def _count(claim: Present, count: int) -> str:
    if count == 0 and claim.number == 1:
        return f"There is no {noun(claim.kind)}."
    asked = counted(claim.kind, claim.number).partition(" ")[0]
    return f"There {'is' if count == 1 else 'are'} {counted(claim.kind, count)}, not {asked}."


def _wrong_attribute(kind: Description, name: str, scene: Scene, index: int) -> Finding:
    drawn = scene.items[index]
    is_, ought = getattr(drawn, name), getattr(kind, name)
    target = noun(described(scene, index))
    if name == "shape":
        seen = noun(Description(colour=drawn.colour))
        return Finding(
            f"The {seen} is {indefinite(is_)}, not {indefinite(ought)}.", f"Change the {target} into {indefinite(ought)}."
        )
    plain = Description(drawn.shape, None if name == "colour" else drawn.colour)
    return Finding(f"The {noun(plain)} is {is_}, not {ought}.", f"Make the {target} {ought}.")


def _attribute(claim: Attributed, scene: Scene) -> list[Finding]:
    places = claim.kind.places(scene)
    if not places:
        return [Finding(f"There is no {noun(claim.kind)}.", f"Add {indefinite(noun(claim.kind))}.")]
    attribute = predicate(claim.predicate)
    instruction = f"Make the {noun(described(scene, places[0]))} {attribute}."
    return [Finding(f"The {noun(claim.kind)} is not {attribute}.", instruction)]


def _relation(claim: Related, scene: Scene) -> list[Finding]:
    """Nothing when one of the two is not there: that is a finding of its own."""
    firsts, seconds = claim.kind.places(scene), claim.other.places(scene)
    pair = next(((a, b) for a in firsts for b in seconds if a != b), None)
    if pair is None:
        return []
    one, two = noun(claim.kind), noun(claim.other)
    phrase = relation_phrase(claim.relation)
    if claim.relation == Relation.TIED:
        return [_untied(scene, pair, one, two)]
    seen = next((other for other in list(Relation)[:4] if related(scene, pair[0], other, pair[1])), None)
    explanation = f"The {one} is not {phrase} the {two}."
    if seen is not None:
        explanation = f"The {one} is {relation_phrase(seen)} the {two}, not {phrase} it."
    return [Finding(explanation, f"Move the {one} {phrase} the {two}.")]


def _untied(scene: Scene, pair: tuple[int, int], one: str, two: str) -> Finding:
    other = next((place for place in range(len(scene.items)) if scene.tied(pair[0], place)), None)
    if other is None:
        return Finding(f"The {one} is not tied to the {two}.", f"Tie the {one} to the {two}.")
    wrong = noun(described(scene, other))
    instruction = f"Untie the {one} from the {wrong}. Tie the {one} to the {two}."
    return Finding(f"The {one} is tied to the {wrong}, not to the {two}.", instruction)
