"""MagicBench's prompt file: ``prompt_t2i, subject, class, detail_class``, and an own ``prompt_id`` if there is one.

The released file (``prompts/subject_prompt800.jsonl`` of the authors' repository) is JSON Lines; CSV, JSON and Parquet with
the same columns are read as well, and so is what ``salon curate magicbench compose`` writes.
"""

from pathlib import Path

from salon_console.table_rows import TableRow, UsableRows, unique_rows
from salon_judges.formats.magicbench_subjects import CLASS_NAMES, SubCategory
from salon_judges.formats.suite_prompt import SuitePrompt
from salon_taxonomy.records import Prompt

LONGEST_PROMPT = 8000
"""In characters; a longer text is no prompt."""
_LONGEST_ID = 200
_LONGEST_SUBJECT = 400


def read_prompts(path: Path) -> UsableRows[SuitePrompt]:
    """Read a prompt file.

    A row without ``prompt_id`` is called by its number in four digits (``0001``), so pictures are ``0001.png``, ``0002.png``, …

    Returns:
        The prompts in the file's order, with ``subject``, ``class`` and ``detail_class`` as their facts; a row that lacks a
        column, contradicts itself or repeats an id is left out and named.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt_t2i,subject,class,detail_class\\nA red kettle.,kettle,object,object_single\\n")
        >>> [prompt] = read_prompts(path)
        >>> prompt.prompt.prompt_id, prompt.facts["subject"]
        ('0001', 'kettle')
    """
    return unique_rows(path, _prompt, lambda prompt: prompt.prompt.prompt_id, "prompt_id", what="prompt")


def _prompt(row: TableRow) -> SuitePrompt:
    text, subject = row.text("prompt_t2i"), row.text("subject")
    for column, value, longest in (("prompt_t2i", text, LONGEST_PROMPT), ("subject", subject, _LONGEST_SUBJECT)):
        if len(value) > longest:
            raise row.problem(f"has more than {longest} characters:", column, value=value)
    subject_class = CLASS_NAMES[row.text("class", allowed=tuple(CLASS_NAMES))]
    category = SubCategory(row.text("detail_class", allowed=tuple(SubCategory)))
    if category.subject_class is not subject_class:
        raise row.problem("does not belong to the row's class:", "detail_class", value=str(category))
    prompt_id = row.optional_text("prompt_id") or f"{row.number:04d}"
    if len(prompt_id) > _LONGEST_ID:
        raise row.problem(f"has more than {_LONGEST_ID} characters:", "prompt_id", value=prompt_id)
    prompt = Prompt(prompt_id=prompt_id, suite="magicbench", text=text, scenario=str(category))
    return SuitePrompt(prompt, {"subject": subject, "class": str(subject_class), "detail_class": str(category)})
