"""JSON Schemas that hold a judge to a taxonomy's answer grammar while it decodes.

They describe what to *ask* for, so they are narrower than what the parsers in ``answers`` accept of an answer that was not
constrained. Only keywords that the common constrained decoders know are used (type, enum, const, properties, required, anyOf,
items, bounds), and no references. Where a grammar wraps its JSON in text (MagicMirror's ``\\boxed{…}``) the schema is that of
the JSON alone.
"""

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from salon_taxonomy.errors import InputError
from salon_taxonomy.label import Grammar, Label
from salon_taxonomy.taxonomy import Taxonomy

JsonSchema: TypeAlias = dict[str, object]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MOST_OPTIONS = len(string.ascii_uppercase)
"""Options are lettered A to Z."""


def answer_schema(taxonomy: Taxonomy, options: Sequence[str | Label] = ()) -> JsonSchema:
    """Return the schema of one answer in the taxonomy's own grammar.

    Args:
        taxonomy: its ``grammar`` decides the form.
        options: for the grammar ``letters`` only: the labels that the question offers, in order; the answer then gives their
            letters. Without options the answer gives the labels themselves.

    Raises:
        InputError: options for a grammar that has none, an unknown or repeated option, or more than 26; or a taxonomy whose
            ``answer_tiers`` hold no label.

    Example:
        >>> schema = answer_schema(Taxonomy.load("artifact-bench"), ["Oversmoothing", "Inconsistent Blur"])
        >>> schema["properties"]["answer"]["items"]["enum"]
        ['A', 'B']
        >>> list(answer_schema(Taxonomy.load("r3"))["anyOf"][1]["properties"])
        ['answer', 'explanation', 'edit_prompt']
    """
    if options and taxonomy.grammar is not Grammar.LETTERS:
        problem = f"options belong to the grammar {Grammar.LETTERS.value!r}, not to"
        raise InputError(problem, source=taxonomy.name, value=taxonomy.grammar.value)
    body = _BODIES[taxonomy.grammar](taxonomy) if not options else _letters(taxonomy, options)
    return {"$schema": DRAFT, "title": f"An answer in {taxonomy.title}", **body}


def spellings(labels: Sequence[Label]) -> Mapping[str, Label]:
    """Return how each label is written in an answer: its spelling, or its id where two labels share a spelling."""
    often = Counter(label.spelling for label in labels)
    return {label.spelling if often[label.spelling] == 1 else label.id: label for label in labels}


def _object(properties: Mapping[str, object], required: Sequence[str] | None = None, **more: object) -> JsonSchema:
    """Return an object with these keys and no others; all are required unless ``required`` says which."""
    wanted = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": wanted, "additionalProperties": False, **more}


def _some_of(values: Sequence[str], **more: object) -> JsonSchema:
    """Return a list of different values out of these."""
    return {"type": "array", "items": {"type": "string", "enum": list(values)}, "uniqueItems": True, **more}


def _tree(taxonomy: Taxonomy) -> JsonSchema:
    """MagicMirror: ``{"Whether Normal": true}``, or false with the kinds; a kind has the list of its own cases, or true.

    The kinds are what stands under a label with the id ``artifact``; without one, the roots other than ``normal``.
    """
    roots = [root for root in taxonomy.roots() if root.id != "normal"]
    kinds = taxonomy.children("artifact") if "artifact" in taxonomy else tuple(roots)
    properties: dict[str, object] = {}
    for kind in kinds:
        cases = taxonomy.children(kind)
        properties[kind.spelling] = _some_of([case.spelling for case in cases]) if cases else {"const": True}
    deformity = _object(properties, required=(), minProperties=1)
    normal = _object({"Whether Normal": {"const": True}})
    return {"anyOf": [normal, _object({"Whether Normal": {"const": False}, "Type of Deformity": deformity})]}


def _menu(taxonomy: Taxonomy) -> list[str]:
    """Return every label that may be answered, as it is spelled."""
    menu = list(spellings(taxonomy.answers()))
    if not menu:
        raise InputError("no label is of an answer tier:", source=taxonomy.name, value=list(taxonomy.answer_tiers))
    return menu


def _label_letters(taxonomy: Taxonomy) -> JsonSchema:
    return _object({"answer": _some_of(_menu(taxonomy), minItems=1)})


def _letters(taxonomy: Taxonomy, options: Sequence[str | Label]) -> JsonSchema:
    labels = [taxonomy.find(option) for option in options]
    if len(labels) > MOST_OPTIONS:
        raise InputError(f"at most {MOST_OPTIONS} options have letters, not", source=taxonomy.name, value=len(labels))
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise InputError("an option is offered twice:", source=taxonomy.name, value=label.name)
    letters = string.ascii_uppercase[: len(labels)]
    meaning = "; ".join(f"{letter}: {label.name}" for letter, label in zip(letters, labels, strict=True))
    return _object({"answer": _some_of(list(letters), minItems=1, description=meaning)})


def _refine(taxonomy: Taxonomy) -> JsonSchema:
    """R³: an image that fails its prompt needs an explanation and an edit instruction that are not empty."""
    text: JsonSchema = {"type": "string"}
    sentence: JsonSchema = {"type": "string", "minLength": 1}
    aligned = _object({"answer": {"const": True}, "explanation": text, "edit_prompt": text}, required=["answer"])
    return {"anyOf": [aligned, _object({"answer": {"const": False}, "explanation": sentence, "edit_prompt": sentence})]}


def _score(taxonomy: Taxonomy) -> JsonSchema:
    """PRISM: one sentence first, so that the score follows from it."""
    score: JsonSchema = {"type": "number", "minimum": 0, "maximum": 10}
    return _object({"justification": {"type": "string", "minLength": 1}, "score": score})


def _labels(taxonomy: Taxonomy) -> JsonSchema:
    return _object({"labels": _some_of(_menu(taxonomy))})


_BODIES = {
    Grammar.TREE: _tree,
    Grammar.LETTERS: _label_letters,
    Grammar.REFINE: _refine,
    Grammar.SCORE: _score,
    Grammar.LABELS: _labels,
}
