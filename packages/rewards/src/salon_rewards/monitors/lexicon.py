"""List words that name a fault of a picture, or its absence, by the labels of MagicMirror's taxonomy.

In our own words, after the taxonomy's definitions. English only. An ambiguous word is listed where it misleads
least.
"""

from collections.abc import Mapping
from typing import Final


def words(text: str) -> list[str]:
    """Return the words of a list that is written like prose."""
    return text.split()


HUMAN: Final = "L2: Abnormal Human Anatomy"
ANIMAL: Final = "L2: Abnormal Animal Anatomy"
OBJECT: Final = "L2: Abnormal Object Morphology"
INTERACTION: Final = "L2: Irrational Element Interaction"
ATTRIBUTES: Final = "L2: Irrational Element Attributes"
OTHER: Final = "L2: Other Irrationalities"

SUBJECTS: Final[Mapping[str, str]] = {
    word: label
    for label, listed in {
        HUMAN: """
            human humans person people man men woman women girl girls boy boys child children baby lady adult figure figures
            dancer dancers runner rider player worker crowd hand hands finger fingers thumb thumbs palm wrist wrists knuckle
            knuckles arm arms elbow elbows shoulder shoulders torso trunk spine waist chest hip hips knee knees ankle ankles
            toe toes foot feet face faces facial lip lips tooth teeth smile cheek chin forehead skin anatomy anatomical
            anatomically""",
        ANIMAL: """
            animal animals dog dogs cat cats horse horses bird birds cow sheep lion tiger bear elephant fish spider insect
            butterfly bee rabbit mouse monkey deer wolf fox duck snake frog creature paw paws hoof hooves tail tails wing
            wings fin fins claw claws beak snout muzzle mane fur trunks horn horns antler antlers feather feathers""",
        OBJECT: """
            object objects chair chairs table car cars wheel wheels bicycle bike cup cups bottle bottles teapot pot vase
            lamp lamps clock watch phone book books guitar piano scissors ladder rung rungs rails bridge bridges house
            building door window glasses lens lenses frame handle handles spoon fork knife plate bowl bag shoe shoes boat
            ship plane train machine engine tool tools toy box sign string strings spokes blade blades spout dial cables
            furniture sofa bed desk shelf cart""",
        INTERACTION: """
            shadow shadows light lighting sunlight reflection reflections mirror mirrors overlap overlaps support position""",
        ATTRIBUTES: """
            texture textures material materials color colors colour colours size sizes scale proportion proportions pattern""",
    }.items()
    for word in words(listed)
}
"""What a clause is about."""

PARTS: Final = frozenset(
    words("""
    finger fingers thumb thumbs hand hands arm arms leg legs foot feet toe toes eye eyes ear ears nose mouth lip lips neck
    head wing wings tail tails paw paws beak fin fins wheel wheels handle handles spout blade lens lenses spokes strings
    frame support shadow reflection limb limbs""")
)
"""What a body or a thing has: "no" before it means that it is missing, and a wrong number of it is a flaw."""

FLAWS: Final[Mapping[str, str | None]] = {
    **dict.fromkeys(
        words("""
        deformed deformity deformities deformation distorted distortion distortions malformed malformation misshapen warped
        warping wrong wrongly unnatural unnaturally unrealistic implausible impossible impossibly incorrect incorrectly
        improper abnormal abnormally abnormality abnormalities anomaly anomalies extra additional surplus superfluous
        missing lacks lacking fused merged jumbled mangled twisted crooked dislocated disconnected detached misplaced
        duplicated asymmetrical asymmetric broken flaw flaws flawed defect defects defective artifact artifacts artefact
        artefacts error errors glitch glitches problem problems odd strange weird bizarre senseless nonsensical gibberish
        mutilated disfigured severed stump irregular uncoordinated contorted disproportionate disproportionately unstable
        ill-formed backwards upside-down mistake mistakes issue issues""")
    ),
    **dict.fromkeys(
        words("""
        floats float floating hovers hover hovering levitates levitating intersects intersect intersecting penetrates
        penetrate penetrating interpenetration sinks sunk melts melt melting merge merges merging clips clipping
        inconsistent inconsistency inconsistencies"""),
        INTERACTION,
    ),
    **dict.fromkeys(words("oversized undersized discolored discoloured garish mismatched"), ATTRIBUTES),
}
"""Words that say something is wrong, unless negated, and the kind that some imply by themselves."""

SOUND: Final = frozenset(
    words("""
    normal normally natural naturally correct correctly right fine sound plausible plausibly believable realistic
    realistically convincing convincingly consistent consistently coherent proper properly intact accurate accurately
    sensible flawless healthy clean regular well expected matches match fits fit agree agrees harmonize harmonizes
    symmetrical proportionate well-formed well-proportioned well-shaped perfect perfectly firmly firm even evenly straight
    usual ordinary unremarkable possible""")
)
"""Words that say all is well, unless negated."""

NEGATORS: Final = frozenset(
    words("""
    no not never none nothing neither nor without hardly cannot free nobody isn't aren't doesn't don't wasn't weren't can't
    couldn't didn't won't""")
)
BOUNDARIES: Final = frozenset(words("but however yet although though while whereas except nevertheless still"))
"""Words at which a clause ends."""
UNASSERTED: Final = frozenset(words("whether if check checking checked seems seemed seem appeared might may would first"))
"""A clause with one of these claims nothing by itself."""
CONCLUSIONS: Final = frozenset(words("so therefore thus hence overall altogether verdict conclusion consequently"))

NUMBERS: Final[Mapping[str, int]] = {
    word: number for number, word in enumerate(words("zero one two three four five six seven eight nine ten eleven twelve"))
} | {str(number): number for number in range(13)}
COUNTS: Final[Mapping[str, tuple[str | None, frozenset[int]]]] = {
    **dict.fromkeys(("finger", "fingers"), (HUMAN, frozenset({6, 7, 8, 9}))),
    **dict.fromkeys(("toe", "toes"), (HUMAN, frozenset({6, 7, 8, 9}))),
    **dict.fromkeys(("thumb", "thumbs"), (HUMAN, frozenset({3, 4, 5}))),
    **dict.fromkeys(("arm", "arms"), (HUMAN, frozenset({3, 4, 5, 6}))),
    **dict.fromkeys(("head", "heads"), (None, frozenset({2, 3}))),
    **dict.fromkeys(("leg", "legs"), (None, frozenset({3, 5, 6, 7}))),
    **dict.fromkeys(("tail", "tails"), (ANIMAL, frozenset({2, 3, 4}))),
    **dict.fromkeys(("wing", "wings"), (None, frozenset({3, 5}))),
    **dict.fromkeys(("trunks",), (ANIMAL, frozenset({2, 3}))),
    **dict.fromkeys(("eyes", "ears"), (None, frozenset({3, 4, 5}))),
}
"""Numbers of a part that no body has, and whose part it is."""
ORDINALS: Final = frozenset(
    {("fifth", "leg"), ("sixth", "finger"), ("sixth", "toe"), ("third", "arm"), ("third", "leg"), ("second", "head")}
)
PHRASES: Final[Mapping[tuple[str, str], str | None]] = {
    **{("too", word): None for word in words("many few long short thin thick wide narrow")},
    **{("too", word): ATTRIBUTES for word in words("big large small")},
    ("bends", "backwards"): HUMAN,
    ("passes", "through"): INTERACTION,
    ("goes", "through"): INTERACTION,
    ("go", "through"): INTERACTION,
    ("cuts", "through"): INTERACTION,
    ("right", "through"): INTERACTION,
    ("half", "inside"): INTERACTION,
    ("bigger", "than"): ATTRIBUTES,
    ("larger", "than"): ATTRIBUTES,
    ("only", "four"): None,
    ("only", "three"): None,
    ("only", "two"): None,
    ("only", "one"): None,
    ("different", "heights"): None,
    ("makes", "no"): OTHER,
    ("nowhere", "."): None,
}
"""Two words in a row that say something is wrong."""
TELLING: Final = frozenset({*FLAWS, *SOUND, *NEGATORS, *NUMBERS, *(first for first, _ in (*ORDINALS, *PHRASES))})
"""Words at which a clause may say something; all others only make its subjects."""
