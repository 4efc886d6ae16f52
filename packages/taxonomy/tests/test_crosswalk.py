"""The crosswalk that comes with the package, both ways; a user's own, and every way in which it can be wrong."""

import pytest

from salon_taxonomy import Crosswalk, Fault, InputError, LinkKind, Taxonomy, TaxonomyError
from salon_taxonomy.crosswalk import parse_crosswalk

LEFT, RIGHT = Taxonomy.load("magicmirror"), Taxonomy.load("artifact-bench")
WALK = Crosswalk.load("magicmirror", "artifact-bench")

HEADER = 'left = "magicmirror"\nright = "artifact-bench"\n'


def link(from_: str = "normal", to: str = "motion", relation: str = "related") -> str:
    return f'[[link]]\nfrom = "{from_}"\nto = "{to}"\nrelation = "{relation}"\nrationale = "Because."\n'


def test_every_leaf_is_linked_or_listed_with_its_reason() -> None:
    unmatched = WALK.unmatched(LEFT, RIGHT)
    assert all(leaf.rationale for leaf in unmatched)
    assert {(leaf.taxonomy, leaf.label) for leaf in unmatched} == {(said.taxonomy, said.label) for said in WALK.reasons}
    linked = {link.from_ for link in WALK.links} | {link.to for link in WALK.links}
    leaves = [*LEFT.leaves(), *RIGHT.leaves()]
    assert len([leaf for leaf in leaves if leaf.id in linked]) + len(unmatched) == len(leaves) == 50


def test_the_fourteen_leaves_without_a_counterpart_are_reported() -> None:
    by_side = {
        name: [leaf.label for leaf in WALK.unmatched(LEFT, RIGHT) if leaf.taxonomy == name] for name in (WALK.left, WALK.right)
    }
    assert by_side["magicmirror"] == ["normal", "other-irrationalities"]
    assert len(by_side["artifact-bench"]) == 12
    assert "cross-shot-coherence" in by_side["artifact-bench"]


def test_every_artifact_label_of_magicmirror_that_has_a_meaning_has_a_link() -> None:
    assert all(WALK.of(case) for case in LEFT.tier("L3"))


def test_reading_it_backwards_turns_broader_into_narrower_and_back() -> None:
    back = Crosswalk.load("artifact-bench", "magicmirror")
    assert (back.left, back.right) == ("artifact-bench", "magicmirror")
    assert {link.to for link in back.of("biological-anatomy-violation")} >= {
        "hand-structure-deformity",
        "abnormal-head-structure",
    }
    assert {link.relation for link in back.of("biological-anatomy-violation")} == {LinkKind.NARROWER}
    assert back.inverted() == WALK
    assert {leaf.label for leaf in back.unmatched(RIGHT, LEFT)} == {leaf.label for leaf in WALK.unmatched(LEFT, RIGHT)}


def test_a_pair_without_a_crosswalk_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="allowed: magicmirror artifact-bench"):
        Crosswalk.load("r3", "prism")


def test_a_leaf_that_the_file_does_not_mention_is_reported_without_a_reason() -> None:
    walk = parse_crosswalk(HEADER + link(), LEFT, RIGHT)
    unmatched = walk.unmatched(LEFT, RIGHT)
    assert len(unmatched) == 49
    assert all(leaf.rationale is None for leaf in unmatched)


@pytest.mark.parametrize(
    ("text", "fault", "line", "key"),
    [
        (HEADER + link(from_="norml"), Fault.UNKNOWN_LABEL, 4, "from"),
        (HEADER + link(to="motions"), Fault.UNKNOWN_LABEL, 5, "to"),
        (HEADER + link(relation="same"), Fault.BAD_VALUE, 6, "relation"),
        (HEADER + link() + link(), Fault.DUPLICATE_ID, 10, "to"),
        (HEADER + link(relation="exact") + link(to="causality", relation="exact"), Fault.CONTRADICTION, 9, "from"),
        (HEADER + '[[unmatched]]\ntaxonomy = "r3"\nlabel = "color"\n', Fault.BAD_VALUE, 4, "taxonomy"),
        (HEADER + '[[unmatched]]\ntaxonomy = "magicmirror"\nlabel = "color"\n', Fault.UNKNOWN_LABEL, 5, "label"),
        (HEADER + link() + '[[unmatched]]\ntaxonomy = "magicmirror"\nlabel = "normal"\n', Fault.CONTRADICTION, 10, "label"),
        (HEADER.replace("magicmirror", "r3") + link(), Fault.BAD_VALUE, 1, "left"),
        (HEADER + "link = 3", Fault.WRONG_TYPE, 3, "link"),
        (HEADER + link().replace('rationale = "Because."', ""), Fault.MISSING, 3, "rationale"),
        (link(), Fault.MISSING, None, "left"),
        (HEADER + "left = 1", Fault.BROKEN_TOML, 3, None),
    ],
)
def test_a_crosswalk_of_ones_own_is_checked_to_the_line(text: str, fault: Fault, line: int | None, key: str | None) -> None:
    with pytest.raises(TaxonomyError) as caught:
        parse_crosswalk(text, LEFT, RIGHT, source="mine.toml")
    assert (caught.value.fault, caught.value.line, caught.value.key) == (fault, line, key)
