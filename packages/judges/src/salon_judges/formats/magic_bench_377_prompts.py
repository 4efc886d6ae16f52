"""The prompt file of Magic-Bench-377: ``prompt, labels, scenario``, and if wanted ``test_points, prompt_id, language``.

CSV, JSON, JSON Lines and Parquet. In CSV one cell contains several labels with semicolons between them, and so do test points,
each with its demand after a colon: ``Quantity: exactly three gems; Negation: no box``.

The released files (the data set ``ByteDance-Seed/MagicBench``) are read as they are: ``Prompt_text_cn``, ``Prompt_text_en``,
``Application Scenario``, ``Expression Form``, ``Element Composition``, ``Element``. Each row is one prompt in two languages;
its labels are those of the last three columns together.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salon_console.table_rows import TableRow, UsableRows, unique_rows
from salon_judges.formats.magic_bench_377_labels import capability, point, points, scenario, scenarios, taxonomy
from salon_judges.formats.magic_bench_377_pairs import listed_battles
from salon_judges.formats.suite_prompt import SuitePrompt
from salon_taxonomy import Label
from salon_taxonomy.digest import Digestible
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

SUITE = "magic-bench-377"
LONGEST_PROMPT = 8000
"""In characters; a longer text is no prompt. Demands of test points are held to the same."""
LANGUAGES = ("en", "zh")
RELEASED_TEXTS: Mapping[str, str] = {"en": "Prompt_text_en", "zh": "Prompt_text_cn"}
"""The released columns that hold a prompt, by language."""
RELEASED_SCENARIO = "Application Scenario"
RELEASED_LABELS = ("Expression Form", "Element Composition", "Element")
"""The released columns that hold labels, several in a cell with a comma or semicolon between them."""

_LONGEST_ID = 200
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_BETWEEN_LABELS = re.compile(r"[;,\n|；，、]")
_NO_LABEL = frozenset(("", "none", "no", "n/a", "na", "nan", "null", "-", "–", "/", "无"))


def read_prompts(path: Path, language: str | None = None) -> UsableRows[SuitePrompt]:
    """Read the usable prompts of a file.

    A row without ``prompt_id`` is called by its number: ``mb377-001``, so its pictures are ``mb377-001.0.png``, …. A row
    without ``language`` is Chinese (``zh``) when the prompt contains a Han character, else English (``en``). Labels are
    capabilities or test points, by name, id or alias. Without ``test_points`` those labels are checked that are test points.

    Of a released row the text in the language asked for is taken (English when none is); the Chinese prompt is called
    ``mb377-001-zh``.

    Args:
        path: the file.
        language: ``en`` or ``zh``: only prompts in this language; None: the prompts of every language that an own file
            holds, and the English ones of a released file.

    Returns:
        The prompts in the file's order. Facts: ``test_points``, pairs of a test point's id and its demand (empty: the prompt
        itself says it), and ``battles``, where the file lists them (see ``magic_bench_377_pairs``). A row is left out and named
        that has no prompt, an unknown label, scenario, language or test point, one twice, or the id of another row.

    Raises:
        InputError: the file cannot be read, none of its rows can be used, or none is in the language.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt,labels,scenario\\nA tank without fish.,Negation; Style,Art\\n")
        >>> [prompt] = read_prompts(path)
        >>> prompt.prompt.prompt_id, prompt.prompt.labels, prompt.facts["test_points"]
        ('mb377-001', ('Negation', 'Style'), [['negation', '']])
    """
    if language is not None and language not in LANGUAGES:
        raise InputError("unknown language", value=language, allowed=LANGUAGES)
    prompts = unique_rows(
        path, lambda row: _prompt(row, language), lambda prompt: prompt.prompt.prompt_id, "prompt_id", what="prompt"
    )
    kept = [each for each in prompts if language in (None, each.prompt.language)]
    if not kept:
        raise InputError("there is no prompt in the language", source=path, value=language, allowed=LANGUAGES)
    return UsableRows(path, kept, prompts.left_out)


def _prompt(row: TableRow, language: str | None) -> SuitePrompt:
    if any(column in row.cells for column in RELEASED_TEXTS.values()):
        return _released(row, language or "en")
    text = row.text("prompt")
    if len(text) > LONGEST_PROMPT:
        raise row.problem(f"has more than {LONGEST_PROMPT} characters:", "prompt", value=text[:80])
    prompt_id = row.optional_text("prompt_id") or f"mb377-{row.number:03d}"
    if len(prompt_id) > _LONGEST_ID:
        raise row.problem(f"has more than {_LONGEST_ID} characters:", "prompt_id", value=prompt_id[:80])
    labels = _labels(row)
    work = _scenario(row, "scenario")
    written = row.optional_text("language") or ("zh" if _HAN.search(text) else "en")
    if written not in LANGUAGES:
        raise row.problem("unknown language", "language", value=written, allowed=LANGUAGES)
    prompt = Prompt(
        prompt_id=prompt_id,
        suite=SUITE,
        text=text,
        language=written,
        scenario=work,
        labels=tuple(label.name for label in labels),
    )
    checks: list[Digestible] = [*_checks(row, labels)]
    facts: dict[str, Digestible] = {"test_points": checks}
    battles = listed_battles(row)
    if battles is not None:
        facts["battles"] = [list(each) for each in battles]
    return SuitePrompt(prompt, facts)


def _released(row: TableRow, language: str) -> SuitePrompt:
    """Return a row of the released file, in one of its languages."""
    column = RELEASED_TEXTS[language]
    text = row.text(column)
    if len(text) > LONGEST_PROMPT:
        raise row.problem(f"has more than {LONGEST_PROMPT} characters:", column, value=text[:80])
    labels = list(dict.fromkeys(label for name in RELEASED_LABELS for label in _labels_in(row, name)))
    prompt = Prompt(
        prompt_id=f"mb377-{row.number:03d}" + ("-zh" if language == "zh" else ""),
        suite=SUITE,
        text=text,
        language=language,
        scenario=_scenario(row, RELEASED_SCENARIO),
        labels=tuple(label.name for label in labels),
    )
    return SuitePrompt(prompt, {"test_points": [[label.id, ""] for label in labels if label.id in points()]})


def _labels_in(row: TableRow, column: str) -> list[Label]:
    """Return the labels that a released cell lists; none for an empty one, and for one that says so."""
    names = [name.strip() for name in _BETWEEN_LABELS.split(row.optional_text(column) or "")]
    return [_known_label(row, column, name) for name in names if name.casefold() not in _NO_LABEL]


def _known_label(row: TableRow, column: str, name: object) -> Label:
    label = capability(name) if isinstance(name, str) else None
    if label is None:
        allowed = tuple(each.name for tier in ("item", "point") for each in taxonomy().tier(tier))
        raise row.problem("unknown capability label", column, value=_shown(name), allowed=allowed)
    return label


def _scenario(row: TableRow, column: str) -> str:
    match = scenario(row.text(column))
    if match is None:
        allowed = tuple(label.name for label in scenarios().values())
        raise row.problem("unknown scenario", column, value=row.cells[column], allowed=allowed)
    return match.name


def _labels(row: TableRow) -> list[Label]:
    labels: list[Label] = []
    for name in _items(row, "labels"):
        label = _known_label(row, "labels", name)
        if label in labels:
            raise row.problem("the label is given twice:", "labels", value=label.name)
        labels.append(label)
    return labels


def _checks(row: TableRow, labels: Sequence[Label]) -> list[list[str]]:
    """Return ids of test points and what each demands, in the row's order."""
    if _blank(row.cells.get("test_points")):
        return [[label.id, ""] for label in labels if label.id in points()]
    demands: dict[str, str] = {}
    for entry in _items(row, "test_points"):
        name, demand = _point_and_demand(row, entry)
        found_point = point(name)
        if found_point is None:
            allowed = tuple(label.name for label in points().values())
            raise row.problem("unknown test point", "test_points", value=_shown(name), allowed=allowed)
        if found_point.id in demands:
            hint = "Write everything that is to be checked into one demand."
            raise row.problem("the test point is given twice:", "test_points", value=found_point.name, hint=hint)
        if len(demand) > LONGEST_PROMPT:
            raise row.problem(f"has more than {LONGEST_PROMPT} characters:", "test_points", value=demand[:80])
        demands[found_point.id] = demand
    return [[point_id, demand] for point_id, demand in demands.items()]


def _point_and_demand(row: TableRow, entry: Any) -> tuple[str, str]:
    if isinstance(entry, dict):
        name, demand = entry.get("point"), entry.get("demand")
    elif isinstance(entry, str):
        head, _, tail = entry.partition(":")
        name, demand = head.strip(), tail.strip()
    else:
        name, demand = None, None
    if not isinstance(name, str) or not isinstance(demand, str | None):
        hint = 'Write "Quantity", "Quantity: three gems", or {"point": "Quantity", "demand": "three gems"}.'
        raise row.problem("is no test point:", "test_points", value=_shown(entry), hint=hint)
    return name, (demand or "").strip()


def _items(row: TableRow, column: str) -> list[Any]:
    """Return the things that a cell lists: a list's, or those between semicolons."""
    value = row.cells.get(column)
    if isinstance(value, list):
        return value
    return [item.strip() for item in row.text(column).split(";") if item.strip()]


def _blank(value: object) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def _shown(value: object) -> str:
    return value[:80] if isinstance(value, str) else type(value).__name__
