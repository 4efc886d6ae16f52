"""LogSample files of lmms-eval (``--log_samples``): ``MODEL/DATE_samples_TASK.jsonl`` beside ``MODEL/DATE_results.json``.

What a line holds beyond the tool's own fields are the task's metrics: numbers, or objects that a judge's reply, its scores and
its model are kept in.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from salon_bench.imports.log import ForeignLog, LogSample, asked, fields_of, json_lines, json_object, number
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

_OWN: Final = frozenset(
    (
        *("doc_id", "doc", "doc_hash", "input", "arguments", "prompt_hash", "target", "target_hash"),
        *("resps", "filtered_resps", "filter", "metrics", "success"),
    )
)
_FILE: Final = re.compile(r"(?P<date>.*)_samples_(?P<task>.+)")
_REPLIES: Final = ("review", "judge_response", "raw_response", "response", "explanation")
_ELSEWHERE: Final = -999
"""What a judged task writes as the score of a metric that is about another category."""
_VERSION: Final = "not stated"
_NO_CALL: Final = "Failed Request"


def read_lmms_eval(path: Path) -> ForeignLog:
    """Read the samples of one task.

    Raises:
        InputError: the name or a line of the file is not lmms-eval's.
    """
    name = _FILE.fullmatch(path.stem)
    if name is None:
        raise InputError("is no sample file of lmms-eval, which is called DATE_samples_TASK.jsonl", source=path)
    date, task = name["date"], name["task"]
    summary = path.with_name(f"{date}_results.json")
    results = json_object(summary.read_bytes(), summary) if summary.is_file() else {}
    version = fields_of(results.get("versions")).get(task)
    first = next((row for _, row in json_lines(path)), {})
    models = [model for value in first.values() if isinstance(value, Mapping) and (model := value.get("eval_model"))]
    try:
        created = datetime.strptime(date, "%Y%m%d_%H%M%S").astimezone()
    except ValueError:
        created = None
    return ForeignLog(
        "lmms-eval",
        path,
        task,
        str(results.get("model_name") or path.parent.name),
        str(next((each for each in models if each != _NO_CALL), "lmms-eval")),
        _VERSION if version is None else str(version),
        created,
        _samples(path),
        () if results else (f"{path.name}: no {summary.name} beside it; the model is called {path.parent.name}",),
    )


def _samples(path: Path) -> Iterator[LogSample]:
    seen: dict[str, int] = {}
    for line, row in json_lines(path):
        if "doc_id" not in row:
            raise InputError("is no sample of lmms-eval: it has no doc_id", source=path, line=line)
        numbers: dict[str, float | Reason] = {}
        replies: dict[str, str] = {}
        category = None
        for name, value in row.items():
            if name in _OWN:
                continue
            if not isinstance(value, Mapping):
                known = number(value)
                numbers |= {} if known is None else {name: known}
                continue
            named = _numbers(name, value)
            numbers |= named
            words = next((value[key] for key in _REPLIES if isinstance(value.get(key), str) and value[key].strip()), None)
            if words is not None and named:
                replies[next(iter(named))] = words
            about = value.get("category")
            category = about if isinstance(about, str) and about else category
        sample_id = str(row["doc_id"])
        seen[sample_id] = repeat = seen.get(sample_id, -1) + 1
        answers = row.get("filtered_resps") or row.get("resps")
        yield LogSample(sample_id, repeat, asked(row.get("input")), category, numbers, replies, _flat(answers))


def _numbers(name: str, value: Mapping[str, Any]) -> dict[str, float | Reason]:
    """Return the numbers of a metric that is an object.

    They are its ``score``, each of its ``scores``, or whatever in it is true or false.
    """
    scores = value.get("scores")
    if isinstance(scores, list):
        named = {f"{name}.{place}": number(score) for place, score in enumerate(scores, 1)}
    elif (single := number(value.get("score"))) is not None:
        named = {name: single}
    else:
        named = {f"{name}.{key}": number(each) for key, each in value.items() if isinstance(each, bool | float)}
    if value.get("eval_model") == _NO_CALL:
        return {key: Reason.REJECTED for key, each in named.items() if each != _ELSEWHERE}
    return {key: each for key, each in named.items() if each is not None and each != _ELSEWHERE}


def _flat(answers: object) -> str:
    while isinstance(answers, list) and answers:
        answers = answers[0]
    return answers if isinstance(answers, str) else ""
