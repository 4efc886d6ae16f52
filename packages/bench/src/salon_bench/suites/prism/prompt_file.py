"""PRISM-Bench's prompts: one file with a column ``track``, or the released folder with one file for each track.

prompts.jsonl|csv|json|parquet    prompt, track, and if wanted prompt_id, language, source
captions/en/imagination.jsonl …   the released layout: the file's name is the track, each line holds ``prompt``
"""

from collections.abc import Iterator
from pathlib import Path

from salon_bench.suites.contract.suite import SuitePrompt
from salon_console.table_rows import TABLE_ENDINGS, BadRow, TableRow, UsableRows, read_each
from salon_judges.formats.prism_tracks import TRACK_SPELLINGS, Language, Track
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

LONGEST_PROMPT = 20_000
"""In characters; a longer text is no prompt."""
_LONGEST_ID = 200


def read_prompts(path: Path, language: Language) -> UsableRows[SuitePrompt]:
    """Read the prompts of one language.

    A row without ``prompt_id`` is called by its track and its number within the track, from 0 as the released pictures are:
    ``imagination-0``, in Chinese ``imagination-0-zh``. A row without ``language`` is in the language asked for; rows in the
    other one are left out.

    Returns:
        The prompts in the order of the file (or of the tracks, for a folder), with ``track`` as their fact; a row that lacks
        a column, has an unknown track or language or repeats an id is left out and named. Its number stays its own.

    Raises:
        InputError: the file cannot be read, or none of its rows is a prompt in the language.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt,track\\nA melting clock.,imagination\\nA sign “OPEN”.,text_rendering\\n")
        >>> [(each.prompt.prompt_id, each.facts["track"]) for each in read_prompts(path, Language.ENGLISH)]
        [('imagination-0', 'imagination'), ('text-rendering-0', 'text-rendering')]
    """
    prompts: list[SuitePrompt] = []
    left_out: list[BadRow] = []
    seen: dict[str, int] = {}
    numbers = dict.fromkeys(Track, 0)
    others = 0
    for file, track_of_file in _files(path):
        for pair in read_each(file, lambda row: row):
            if isinstance(pair, BadRow):
                left_out.append(pair)
                if track_of_file is not None:
                    numbers[track_of_file] += 1
                continue
            number, row = pair
            try:
                track = track_of_file or TRACK_SPELLINGS[row.text("track", allowed=tuple(TRACK_SPELLINGS))]
                if not _is_in(row, language):
                    others += 1
                    continue
                numbers[track] += 1
                prompt = _prompt(row, track, numbers[track] - 1, language)
                prompt_id = prompt.prompt.prompt_id
                if prompt_id in seen:
                    raise row.problem(f"is the id of row {seen[prompt_id]} already:", "prompt_id", value=prompt_id)
            except InputError as error:
                left_out.append(BadRow(number, error))
                continue
            seen[prompt_id] = number
            prompts.append(prompt)
    if prompts:
        return UsableRows(path, prompts, left_out)
    if left_out:
        raise left_out[0].error
    hint = f"{others} rows are in another language; use the suite of that language." if others else None
    raise InputError("there is no prompt for the suite in the language", source=path, value=str(language), hint=hint)


def _files(path: Path) -> list[tuple[Path, Track | None]]:
    """Return the files to read, each with its track; None for a file with a column ``track``."""
    if not path.is_dir():
        return [(path, None)]
    files = {(track, file) for track in Track for file in _files_of(track, path)}
    if not files:
        names = tuple(f"{track.column}.jsonl" for track in Track)
        raise InputError("the folder has no file of a track", source=path, allowed=names)
    order = list(Track)
    return [(file, track) for track, file in sorted(files, key=lambda pair: (order.index(pair[0]), pair[1].name))]


def _is_in(row: TableRow, language: Language) -> bool:
    """Return whether a row is in the language; one that names none is."""
    written = row.optional_text("language")
    return written is None or row.text("language", allowed=tuple(Language)) == language


def _files_of(track: Track, folder: Path) -> Iterator[Path]:
    for spelling in sorted({track.value, track.column}):
        for ending in TABLE_ENDINGS:
            file = folder / f"{spelling}{ending}"
            if file.is_file():
                yield file


def _prompt(row: TableRow, track: Track, number: int, language: Language) -> SuitePrompt:
    text = row.text("prompt")
    if len(text) > LONGEST_PROMPT:
        raise row.problem(f"has more than {LONGEST_PROMPT} characters:", "prompt", value=text)
    prompt_id = row.optional_text("prompt_id") or f"{track}-{number}{language.id_ending}"
    if len(prompt_id) > _LONGEST_ID:
        raise row.problem(f"has more than {_LONGEST_ID} characters:", "prompt_id", value=prompt_id)
    prompt = Prompt(
        prompt_id=prompt_id, suite=f"prism{language.id_ending}", text=text, language=str(language), scenario=str(track)
    )
    return SuitePrompt(prompt, {"track": str(track)})
