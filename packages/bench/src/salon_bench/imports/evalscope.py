"""Reviews of evalscope: ``outputs/DATE/reviews/MODEL/DATASET_SUBSET.jsonl``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from salon_bench.imports.log import ForeignLog, LogSample, asked, fields_of, image_addresses, json_lines, number, picture
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

_DEFAULT: Final = "default"
_VERSION: Final = "not stated"


def read_evalscope(path: Path) -> ForeignLog:
    """Read the reviews of one data set.

    Raises:
        InputError: a line of the file is not evalscope's.
    """
    model = path.parent.name
    first = next((row for _, row in json_lines(path)), {})
    metadata = fields_of(_score(first, path, 1).get("metadata"))
    judge = metadata.get("model") if metadata.get("source") == "llm_judge" else None
    dataset, subset = _names(path)
    return ForeignLog("evalscope", path, dataset, model, str(judge or "evalscope"), _VERSION, None, _samples(path, subset))


def _names(path: Path) -> tuple[str, str]:
    """Return data set and subset; the reports of the model say where the first ends."""
    reports = path.parents[2] / "reports" / path.parent.name if len(path.parents) > 2 else path.parent
    names = [each.stem for each in reports.glob("*.json") if path.stem.startswith(f"{each.stem}_")]
    dataset = max(names, key=len, default=path.stem.removesuffix(f"_{_DEFAULT}"))
    return dataset, path.stem.removeprefix(dataset).removeprefix("_") or _DEFAULT


def _score(row: Mapping[str, object], path: Path, line: int) -> Mapping[str, Any]:
    score = fields_of(fields_of(row.get("sample_score")).get("score"))
    if not isinstance(score.get("value"), Mapping):
        raise InputError("is no review of evalscope: it has no sample_score with a score", source=path, line=line)
    return score


def _samples(path: Path, subset: str) -> Iterator[LogSample]:
    repeats: dict[str, int] = {}
    for line, row in json_lines(path):
        score = _score(row, path, line)
        sample = row["sample_score"]
        values = {str(name): number(value) for name, value in score["value"].items()}
        numbers: dict[str, float | Reason] = {name: value for name, value in values.items() if value is not None}
        words = score.get("explanation")
        main = str(score.get("main_score_name"))
        judged = main if main in numbers else next(iter(numbers), main)
        replies = {judged: words} if isinstance(words, str) and words.strip() else {}
        # repeated answers to a sample share a group
        sample_id = str(sample.get("group_id") if sample.get("group_id") is not None else row.get("index"))
        repeats[sample_id] = repeat = repeats.get(sample_id, -1) + 1
        prediction = str(score.get("prediction") or "")
        metadata = fields_of(sample.get("sample_metadata"))
        addresses = [metadata.get("image_path"), prediction, *image_addresses(row.get("input"))]
        pictures = (picture(address, path.parent) for address in addresses)
        text = asked(row.get("input")) or str(metadata.get("prompt") or "")
        first_picture = next((each for each in pictures if each), None)
        yield LogSample(f"{subset}-{sample_id}", repeat, text, subset, numbers, replies, prediction, first_picture)
