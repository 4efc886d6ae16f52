"""Markdown for people, Label Studio for annotators, JSON for programs: complete, escaped, and the same bytes every time."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy import Format, InputError, Label, Taxonomy, export
from salon_taxonomy.structure import DEEPEST

HOSTILE = "<b>&\"'|`*_[x](y)$#"


def hostile(text: str) -> Taxonomy:
    labels = (
        Label(id="a", name=text, definition=text, counts={text: 1}, aliases=(text,)),
        Label(id="b", parent="a", name=text, definition=text),
    )
    return Taxonomy(name="mine", title=text, description=text, guidelines=(text,), labels=labels)


@pytest.mark.parametrize("name", Taxonomy.names())
def test_json_makes_the_same_taxonomy_again(name: str) -> None:
    taxonomy = Taxonomy.load(name)
    assert Taxonomy.model_validate_json(export(taxonomy, Format.JSON)) == taxonomy


@pytest.mark.parametrize("name", Taxonomy.names())
def test_markdown_has_every_label_guideline_and_figure(name: str) -> None:
    taxonomy = Taxonomy.load(name)
    page = export(taxonomy, "markdown")
    assert all(f"(`{label.id}`): " in page for label in taxonomy.labels)
    assert all(f"{number}. " in page for number in range(1, len(taxonomy.guidelines) + 1))
    assert page.startswith("# ")
    assert page.endswith("\n")


def test_markdown_shows_counts_deductions_and_aliases() -> None:
    assert "cot 1,835" in export(Taxonomy.load("magicmirror"), "markdown")
    assert "Each Minor Omission (−1)" in export(Taxonomy.load("prism"), "markdown")
    assert "also called Non\\-Spa" not in export(Taxonomy.load("r3"), "markdown")
    assert "also called Non-Spa, Non" in export(Taxonomy.load("r3"), "markdown")


@pytest.mark.parametrize("name", Taxonomy.names())
def test_label_studio_has_the_same_tree_with_ids_as_aliases(name: str) -> None:
    taxonomy = Taxonomy.load(name)
    view = ElementTree.fromstring(export(taxonomy, "label-studio"))
    assert view.tag == "View"
    assert view[0].tag == {"image": "Image", "video": "Video"}[taxonomy.media]
    tag = view.find("Taxonomy")
    assert tag is not None
    assert tag.get("toName") == view[0].get("name")

    def shape(element: ElementTree.Element) -> list[tuple[str | None, list]]:
        return [(choice.get("alias"), shape(choice)) for choice in element.findall("Choice")]

    def expected(labels: tuple[Label, ...]) -> list[tuple[str, list]]:
        return [(label.id, expected(taxonomy.children(label))) for label in labels]

    assert shape(tag) == expected(taxonomy.roots())


def test_inner_labels_can_be_chosen_only_where_they_are_answers() -> None:
    def leaves_only(name: str) -> str | None:
        tag = ElementTree.fromstring(export(Taxonomy.load(name), "label-studio")).find("Taxonomy")
        assert tag is not None
        return tag.get("leafsOnly")

    assert leaves_only("mef") == "false"
    assert leaves_only("artifact-bench") == "true"


def test_signs_that_markdown_and_xml_act_on_are_escaped() -> None:
    page = export(hostile(HOSTILE), "markdown")
    assert "<b>" not in page
    assert r"\<b\>\&" in page
    choice = ElementTree.fromstring(export(hostile(HOSTILE), "label-studio")).find("Taxonomy/Choice")
    assert choice is not None
    assert choice.get("value") == choice.get("hint") == HOSTILE


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp", "Cn"]), min_size=1, max_size=30))
def test_any_label_that_is_allowed_survives_xml_and_json(text: str) -> None:
    taxonomy = hostile(text)
    choice = ElementTree.fromstring(export(taxonomy, "label-studio")).find("Taxonomy/Choice")
    assert choice is not None
    assert choice.get("value") == taxonomy.find("a").name
    assert Taxonomy.model_validate_json(export(taxonomy, "json")) == taxonomy


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="allowed: markdown, label-studio, json"):
        export(Taxonomy.load("r3"), "yaml")


@pytest.mark.parametrize("format_", Format)
def test_the_deepest_tree_is_exported_whole(format_: Format) -> None:
    labels = tuple(Label(id=f"l{n}", name=f"L{n}", definition="D.", parent=f"l{n - 1}" if n else None) for n in range(DEEPEST))
    text = export(Taxonomy(name="deep", title="Deep", labels=labels), format_)
    assert all(f"l{n}" in text for n in range(DEEPEST))
