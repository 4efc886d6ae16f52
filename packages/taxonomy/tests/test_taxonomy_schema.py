"""The answer schemas accept what the grammar allows, refuse what it does not, and agree with the parsers of ``answers``."""

import json
from collections.abc import Mapping

import pytest

from salon_taxonomy import Grammar, InputError, Label, Taxonomy, answer_schema
from salon_taxonomy.schema import JsonSchema

MAGICMIRROR = answer_schema(Taxonomy.load("magicmirror"))
ARTIFACT_BENCH = answer_schema(Taxonomy.load("artifact-bench"))
LETTERS = answer_schema(Taxonomy.load("artifact-bench"), ["Oversmoothing", "inconsistent blur", "motion"])
R3 = answer_schema(Taxonomy.load("r3"))
PRISM = answer_schema(Taxonomy.load("prism"))
MEF = answer_schema(Taxonomy.load("mef"))

KEYWORDS = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "minProperties"}
KEYWORDS |= {"anyOf", "const", "enum", "items", "uniqueItems", "minItems", "minLength", "minimum", "maximum"}
TYPES = {"object": dict, "array": list, "string": str, "number": (int, float)}


def accepts(schema: Mapping[str, object], value: object) -> bool:
    """A JSON Schema check for exactly the keywords that the answer schemas use; any other keyword is a failing test."""
    assert set(schema) <= KEYWORDS, set(schema) - KEYWORDS
    if "anyOf" in schema and not any(accepts(one, value) for one in schema["anyOf"]):
        return False
    if "const" in schema and json.dumps(value) != json.dumps(schema["const"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool)):
        return False
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, list):
        distinct = not schema.get("uniqueItems") or len({json.dumps(item) for item in value}) == len(value)
        enough = len(value) >= schema.get("minItems", 0)
        return distinct and enough and all(accepts(schema.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        closed = schema.get("additionalProperties", True) is not False or set(value) <= set(known)
        enough = len(value) >= schema.get("minProperties", 0) and set(schema.get("required", ())) <= set(value)
        return closed and enough and all(accepts(known[key], item) for key, item in value.items() if key in known)
    return True


HAND = "L3: Hand Structure Deformity"
HUMAN, OBJECT, OTHER = "L2: Abnormal Human Anatomy", "L2: Abnormal Object Morphology", "L2: Other Irrationalities"

ACCEPTED: list[tuple[JsonSchema, object]] = [
    (MAGICMIRROR, {"Whether Normal": True}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {HUMAN: [HAND]}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {HUMAN: []}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {OBJECT: True, OTHER: True}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {OBJECT: True, HUMAN: ["L3: Abnormal Human Anatomy"]}}),
    (ARTIFACT_BENCH, {"answer": ["Oversmoothing", "Abnormal Multi-Object Merging/Splitting"]}),
    (LETTERS, {"answer": ["A", "C"]}),
    (R3, {"answer": True}),
    (R3, {"answer": True, "explanation": "", "edit_prompt": ""}),
    (R3, {"answer": False, "explanation": "Two cats.", "edit_prompt": "Remove the left cat."}),
    (PRISM, {"justification": "One finger too many.", "score": 7}),
    (PRISM, {"justification": "Fine.", "score": 9.5}),
    (PRISM, {"justification": "Nothing.", "score": 0}),
    (MEF, {"labels": ["Relation", "Comparative Relation", "Film"]}),
    (MEF, {"labels": []}),
]

REFUSED: list[tuple[JsonSchema, object]] = [
    (MAGICMIRROR, {"Whether Normal": "true"}),
    (MAGICMIRROR, {"Whether Normal": 1}),
    (MAGICMIRROR, {"Whether Normal": False}),
    (MAGICMIRROR, {"Whether Normal": True, "Type of Deformity": {OBJECT: True}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {HUMAN: True}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {HUMAN: ["L3: Abnormal Head Structure"]}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {HUMAN: [HAND, HAND]}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {"Abnormal Human Anatomy": [HAND]}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {OBJECT: False}}),
    (MAGICMIRROR, {"Whether Normal": False, "Type of Deformity": {OBJECT: True}, "Note": ""}),
    (ARTIFACT_BENCH, {"answer": []}),
    (ARTIFACT_BENCH, {"answer": ["Motion"]}),
    (ARTIFACT_BENCH, {"answer": "Oversmoothing"}),
    (LETTERS, {"answer": ["D"]}),
    (LETTERS, {"answer": ["A", "A"]}),
    (LETTERS, {"answer": ["Oversmoothing"]}),
    (R3, {"answer": False}),
    (R3, {"answer": False, "explanation": "", "edit_prompt": "x"}),
    (R3, {"answer": "false", "explanation": "x", "edit_prompt": "x"}),
    (R3, {"answer": False, "explanation": "x", "edit_prompt": "x", "verdict": 1}),
    (PRISM, {"justification": "Fine.", "score": 11}),
    (PRISM, {"justification": "Fine.", "score": -1}),
    (PRISM, {"justification": "Fine.", "score": "7"}),
    (PRISM, {"justification": "Fine.", "score": True}),
    (PRISM, {"score": 7}),
    (PRISM, {"justification": "", "score": 7}),
    (MEF, {"labels": ["Objective Capability"]}),
    (MEF, {"labels": "Film"}),
    (MEF, ["Film"]),
]


@pytest.mark.parametrize(("schema", "value"), ACCEPTED)
def test_an_answer_in_the_grammar_is_accepted(schema: JsonSchema, value: object) -> None:
    assert accepts(schema, value)


@pytest.mark.parametrize(("schema", "value"), REFUSED)
def test_an_answer_outside_the_grammar_is_refused(schema: JsonSchema, value: object) -> None:
    assert not accepts(schema, value)


def test_a_full_validator_agrees_with_the_check_above() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for cases, verdict in ((ACCEPTED, True), (REFUSED, False)):
        for schema, value in cases:
            jsonschema.Draft202012Validator.check_schema(schema)
            assert jsonschema.Draft202012Validator(schema).is_valid(value) is verdict, value


def test_magicmirrors_schema_offers_the_menu_of_its_parser() -> None:
    from salon_taxonomy.answers import MAGICMIRROR_MENU

    tree = Taxonomy.load("magicmirror")
    menu = {kind.spelling: tuple(case.spelling for case in tree.children(kind)) for kind in tree.tier("L2")}
    assert menu == dict(MAGICMIRROR_MENU)


def test_options_are_lettered_in_their_order_and_explained() -> None:
    answer = LETTERS["properties"]["answer"]
    assert answer["items"]["enum"] == ["A", "B", "C"]
    assert answer["description"] == "A: Oversmoothing; B: Inconsistent Blur; C: Motion"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("r3", ["Color"], "options belong to the grammar 'letters', not to 'refine'"),
        ("artifact-bench", ["No such artifact"], "no such label"),
        ("artifact-bench", ["Oversmoothing", "oversmoothing"], "an option is offered twice: 'Oversmoothing'"),
        ("artifact-bench", [label.id for label in Taxonomy.load("artifact-bench").leaves()], "at most 26 options"),
    ],
)
def test_options_that_cannot_be_asked_are_refused(name: str, options: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        answer_schema(Taxonomy.load(name), options)


def test_a_taxonomy_without_a_label_to_answer_with_has_no_schema() -> None:
    only = Label(id="only", name="Only", definition="The only one.", tier="top")
    mine = Taxonomy(name="mine", title="Mine", labels=(only,), tiers=("top", "low"), answer_tiers=("low",))
    with pytest.raises(InputError, match="no label is of an answer tier"):
        answer_schema(mine)


def test_labels_that_share_a_spelling_are_answered_by_id() -> None:
    labels = [
        Label(id="left", name="Left", definition="Left."),
        Label(id="right", name="Right", definition="Right."),
        Label(id="left-hand", parent="left", name="Hand", definition="The left hand."),
        Label(id="right-hand", parent="right", name="Hand", definition="The right hand."),
        Label(id="right-foot", parent="right", name="Foot", definition="The right foot."),
    ]
    mine = Taxonomy(name="mine", title="Mine", labels=tuple(labels))
    assert answer_schema(mine)["properties"]["labels"]["items"]["enum"] == ["left-hand", "right-hand", "Foot"]
    tree = mine.model_copy(update={"grammar": Grammar.TREE})
    assert accepts(answer_schema(tree), {"Whether Normal": False, "Type of Deformity": {"Left": ["Hand"]}})
