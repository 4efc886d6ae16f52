"""Finding and walking labels: ids, names, aliases, ambiguity; children, paths, leaves, tiers; what frozen means."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from salon_taxonomy import AmbiguousLabelError, Fault, InputError, Label, Taxonomy, TaxonomyError, UnknownLabelError
from salon_taxonomy.structure import DEEPEST

MAGICMIRROR = Taxonomy.load("magicmirror")


def label(id_: str, parent: str | None = None, **more: object) -> Label:
    return Label.model_validate({"id": id_, "name": id_.title(), "definition": f"What {id_} means.", "parent": parent, **more})


def tree(*labels: Label, **more: object) -> Taxonomy:
    return Taxonomy.model_validate({"name": "mine", "title": "Mine", "labels": labels, **more})


@pytest.mark.parametrize(
    "text",
    [
        "hand-structure-deformity",
        "Hand Structure Deformity",
        "  hand   structure\tdeformity ",
        "HAND_STRUCTURE_DEFORMITY",
        "L3: Hand Structure Deformity",
        "l3 hand structure deformity",
        "Ｈａｎｄ Structure Deformity",
    ],
)
def test_a_label_is_found_whatever_its_case_and_spacing(text: str) -> None:
    assert MAGICMIRROR.find(text).id == "hand-structure-deformity"


def test_aliases_and_both_spellings_of_and_find_their_label() -> None:
    mef = Taxonomy.load("mef")
    assert mef.find("Image Description").id == "visual-description"
    assert mef.find("layout and typography") == mef.find("Layout & Typography")
    assert Taxonomy.load("r3").find("Non").id == "non-spatial"


def test_a_name_that_two_labels_bear_is_refused_with_both_ids() -> None:
    with pytest.raises(AmbiguousLabelError, match=r"abnormal-human-anatomy, abnormal-human-anatomy-multiple") as caught:
        MAGICMIRROR.find("Abnormal Human Anatomy")
    assert caught.value.allowed == ("abnormal-human-anatomy", "abnormal-human-anatomy-multiple")
    assert MAGICMIRROR.find("Abnormal Human Anatomy", tier="L3").id == "abnormal-human-anatomy-multiple"


def test_an_unknown_label_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownLabelError, match="Did you mean hand-structure-deformity"):
        MAGICMIRROR.find("hand structur deformty")
    with pytest.raises(UnknownLabelError, match="salon taxonomy show magicmirror"):
        MAGICMIRROR.find("\U0001f590")


def test_an_exact_spelling_wins_over_one_that_differs_in_signs() -> None:
    languages = tree(label("c", name="C"), label("c-plus-plus", name="C++"))
    assert languages.find("C++").id == "c-plus-plus"
    assert languages.find("C").id == "c"


@given(st.text())
def test_matching_never_fails_and_finding_fails_only_with_its_own_errors(text: str) -> None:
    found = MAGICMIRROR.matches(text)
    if len(found) == 1:
        assert MAGICMIRROR.find(text) == found[0]
    else:
        with pytest.raises(AmbiguousLabelError if found else UnknownLabelError):
            MAGICMIRROR.find(text)


@pytest.mark.parametrize("name", Taxonomy.names())
def test_paths_ancestors_children_and_leaves_agree(name: str) -> None:
    taxonomy = Taxonomy.load(name)
    assert tuple(taxonomy.walk()) == tuple(dict.fromkeys(taxonomy.walk()))
    assert set(taxonomy.walk()) == set(taxonomy.labels)
    for at in taxonomy.labels:
        path = taxonomy.path(at)
        assert path[0] in taxonomy.roots()
        assert path[-1] == at
        assert taxonomy.ancestors(at) == tuple(reversed(path[:-1]))
        assert taxonomy.parent(at) == (path[-2] if len(path) > 1 else None)
        assert all(taxonomy.parent(child) == at for child in taxonomy.children(at))
        assert (taxonomy.leaves(at) == (at,)) == (not taxonomy.children(at))
        assert at in taxonomy.tier(taxonomy.tier_of(at))
    assert len(taxonomy.leaves()) == sum(len(taxonomy.leaves(root)) for root in taxonomy.roots())


def test_tiers_come_from_the_label_then_the_header_then_the_depth() -> None:
    mine = tree(label("a"), label("b", "a", tier="deep"), label("c", "a"), label("d", "c"), tiers=["top", "middle", "deep"])
    assert [mine.tier_of(id_) for id_ in "abcd"] == ["top", "deep", "middle", "deep"]
    assert [tree(label("a"), label("b", "a")).tier_of(id_) for id_ in "ab"] == ["level 1", "level 2"]
    assert mine.tier("no such tier") == ()


def test_membership_is_by_id_or_by_the_label_itself() -> None:
    assert "normal" in MAGICMIRROR
    assert "Normal" not in MAGICMIRROR
    assert MAGICMIRROR.find("normal") in MAGICMIRROR
    assert label("normal") not in MAGICMIRROR
    assert 3 not in MAGICMIRROR


def test_labels_and_taxonomies_are_frozen_hashable_and_survive_pickling() -> None:
    with pytest.raises(ValidationError):
        MAGICMIRROR.name = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        MAGICMIRROR.find("normal").name = "other"  # type: ignore[misc]
    assert len(set(MAGICMIRROR.labels)) == 25
    copy = pickle.loads(pickle.dumps(MAGICMIRROR))
    assert copy == MAGICMIRROR
    assert copy.find("normal").counts == MAGICMIRROR.find("normal").counts


def test_a_taxonomy_is_loaded_once_and_opened_by_name_or_path(tmp_path, monkeypatch) -> None:
    assert Taxonomy.load("r3") is Taxonomy.load("r3")
    assert Taxonomy.open("r3") is Taxonomy.load("r3")
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\ntitle = "Mine"\n[[label]]\nid = "a"\nname = "A"\ndefinition = "An a."\n')
    assert Taxonomy.open(str(file)).find("A").id == "a"
    plain = file.rename(tmp_path / "mine")
    assert Taxonomy.open(plain.as_posix()).find("A").id == "a"
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    plain.rename("folder/mine")
    assert Taxonomy.open("folder/mine").find("A").id == "a"
    with pytest.raises(InputError, match="allowed: artifact-bench, magicmirror, mef, prism, r3"):
        Taxonomy.load("../../etc/passwd")


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        ([label("a"), label("a", name="Other")], Fault.DUPLICATE_ID),
        ([label("a", "b")], Fault.UNKNOWN_PARENT),
        ([label("a", "b"), label("b", "a")], Fault.CYCLE),
        ([label("a", "a")], Fault.CYCLE),
        ([label("a"), label("b"), label("c", "a"), label("c", "b")], Fault.TWO_PARENTS),
        ([label("a", name="Same"), label("b", name="Same")], Fault.SAME_NAME),
        ([label("a", answer="Same"), label("b", answer="Same")], Fault.SAME_NAME),
    ],
)
def test_a_taxonomy_made_in_code_is_checked_like_a_file(labels: list[Label], fault: Fault) -> None:
    with pytest.raises(TaxonomyError) as caught:
        tree(*labels)
    assert caught.value.fault is fault


def test_a_branch_has_at_most_so_many_labels_and_ten_thousand_are_refused_in_any_order() -> None:
    chain = [label("l0"), *(label(f"l{n}", f"l{n - 1}") for n in range(1, 10_000))]
    deep = tree(*reversed(chain[:DEEPEST]))
    assert len(deep.path(f"l{DEEPEST - 1}")) == DEEPEST
    assert deep.leaves("l0")[0].id == f"l{DEEPEST - 1}"
    for labels in (chain, chain[::-1]):
        with pytest.raises(TaxonomyError) as caught:
            tree(*labels)
        assert caught.value.fault is Fault.TOO_DEEP


def test_answers_are_the_leaves_unless_tiers_say_otherwise() -> None:
    assert MAGICMIRROR.answers() == MAGICMIRROR.leaves()
    relation = Taxonomy.load("mef").find("relation")
    assert relation in Taxonomy.load("mef").answers()
    assert relation not in Taxonomy.load("mef").leaves()


def test_control_characters_and_surrogates_are_kept_out_of_labels() -> None:
    for character in ("\x1b", "\x00", "\ud800", "\ufffe"):
        with pytest.raises(ValidationError):
            label("a", name=f"A{character}")


def test_one_label_is_a_taxonomy_and_none_is_not() -> None:
    whole = Taxonomy.load("magicmirror").model_dump()
    roots = [label for label in whole["labels"] if label["parent"] is None]
    assert len(Taxonomy.model_validate({**whole, "labels": roots[:1]})) == 1
    with pytest.raises(ValueError, match="at least 1 item"):
        Taxonomy.model_validate({**whole, "labels": []})
