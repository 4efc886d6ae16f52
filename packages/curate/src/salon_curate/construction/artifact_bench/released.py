"""Questions in the released schema, as a JSON file that this suite and the authors' script read."""

import json
from collections.abc import Sequence
from pathlib import Path

from salon_judges.formats.artifact_bench import LEVEL_NAMES, TASK_TYPES, BenchRow, QuestionTask
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole


def export_rows(rows: Sequence[BenchRow], path: Path) -> None:
    """Write questions as one JSON array (replaced), which ``salon_judges.formats.artifact_bench.read_rows`` reads.

    Raises:
        InputError: the file cannot be written, or there is no question.

    Example:
        >>> import tempfile
        >>> from salon_judges.formats.artifact_bench import QuestionLevel, read_rows
        >>> file = Path(tempfile.mkdtemp()) / "rows.json"
        >>> row = BenchRow(QuestionTask.RVAC, "7", ("7.mp4",), "yes", QuestionLevel.L1)
        >>> export_rows([row], file)
        >>> read_rows(file) == [row]
        True
    """
    if not rows:
        raise InputError("there is no question to write", source=path)
    text = json.dumps([_released(row) for row in rows], ensure_ascii=False, indent=1)
    write_whole(path, text + "\n")


def _released(row: BenchRow) -> dict[str, object]:
    types = {task: number for number, task in TASK_TYPES.items()}
    levels = {level: name for name, level in LEVEL_NAMES.items()}
    answer = {
        QuestionTask.RVAC: row.answer,
        QuestionTask.PVRC: f"<Video {row.answer}>",
        QuestionTask.AID: ",".join(row.answer),
    }[row.task]
    options = {"option": list(row.options)} if row.options else {}
    return {
        "task_type": types[row.task],
        "sample_id": row.sample_id,
        "video_path": list(row.videos),
        **options,
        "answer": answer,
        "level": levels[row.level],
    }
