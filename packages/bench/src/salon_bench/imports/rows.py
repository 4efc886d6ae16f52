"""Write the logs of other tools into a store, each as one imported run."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from salon_bench.imports.evalscope import read_evalscope
from salon_bench.imports.inspect_log import read_inspect
from salon_bench.imports.lmms_eval import read_lmms_eval
from salon_bench.imports.log import ForeignLog, LogSample, json_lines
from salon_bench.runs.session import keyed_prompt
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.enums import CallStatus
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.records import Generation, JudgeCall, Prompt, Record, Run, RunPrompt, Score
from salon_taxonomy.store_address import StoreAddress, is_url
from salon_taxonomy.verdict import Reason
from salon_taxonomy.whole_files import write_whole

_ENDINGS: Final = (".eval", ".json", ".jsonl")
_ANSWER: Final = "answer"
"""The step of the row of ``judge_calls`` that has the model's own words."""
_LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One log in the store.

    Attributes:
        run_id: its run.
        suite: the tool and its task: ``inspect_ai:my-task``.
        model: that was evaluated.
        judge: its scorers.
        samples: that have a number, or a reason why it is missing.
        scored: numbers.
        unscored: numbers that are missing.
        replies: words of judges and scorers.
        pictures: that the viewer can show.
        remarks: what was left out.
    """

    run_id: str
    suite: str
    model: str
    judge: str
    samples: int
    scored: int
    unscored: int
    replies: int
    pictures: int
    remarks: tuple[str, ...]


def read_log(path: Path) -> ForeignLog:
    """Read a result file of another tool; what it holds says which.

    Raises:
        InputError: the file is missing, or none of a known kind.
    """
    if not path.is_file():
        raise missing_path(path, "result file")
    if path.suffix in (".eval", ".json"):
        if path.name.endswith("_results.json"):
            hint = "Import the files DATE_samples_TASK.jsonl beside it, which `--log_samples` writes."
            raise InputError("has no samples, only their means", source=path, hint=hint)
        return read_inspect(path)
    if path.suffix == ".jsonl":
        first = next((row for _, row in json_lines(path)), {})
        if "sample_score" in first:
            return read_evalscope(path)
        if "doc_id" in first:
            return read_lmms_eval(path)
    hint = "inspect_ai: .eval or .json; lmms-eval: DATE_samples_TASK.jsonl; evalscope: reviews/MODEL/DATASET.jsonl"
    raise InputError("is no result file of inspect_ai, lmms-eval or evalscope", source=path, hint=hint)


def log_files(paths: list[Path]) -> list[Path]:
    """Return the files among paths, and below folders those with the endings and names of result files."""
    files: list[Path] = []
    for path in paths:
        below = sorted(each for each in path.rglob("*") if _is_log_file(each)) if path.is_dir() else [path]
        files += [each for each in below if each == path or _is_result(each)]
    if not files:
        raise InputError("no result file of inspect_ai, lmms-eval or evalscope is there", source=paths[0])
    return list(dict.fromkeys(files))


def _is_log_file(path: Path) -> bool:
    return path.suffix in _ENDINGS and path.is_file()


def _is_result(path: Path) -> bool:
    if path.suffix == ".jsonl":
        return "_samples_" in path.name or path.parent.parent.name == "reviews"
    return path.suffix == ".eval" or (path.suffix == ".json" and b'"eval"' in path.open("rb").read(200))


def import_log(log: ForeignLog, store: StoreAddress) -> ImportedRun:
    """Write one log into a store, made if missing. The same file again changes nothing.

    Pictures that the log contains are written into the folder ``STORE-pictures`` beside the store; a store in a bucket gets
    none of them.

    Raises:
        InputError: the log is damaged, or has no number at all; then nothing is written.
        SalonError: the store cannot be written.
    """
    from salon_store import ResultStore

    suite = f"{log.tool}:{log.task}"
    run_id = f"{log.tool}-{digest('log', [suite, log.model, file_sha256(log.path)])[:12]}"
    counts: Counter[str] = Counter()
    folder = None if is_url(store) else Path(f"{Path(store).resolve()}-pictures")
    try:
        run = Run(
            run_id=run_id,
            suite=suite,
            subject_model=log.model,
            judge=log.judge,
            judge_version=log.judge_version,
            source=str(log.path),
            salon_version=version("salon-bench"),
            started_at=log.created,
        )
        rows = list(_rows(log, suite, run_id, folder, counts))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(first["msg"], source=log.path, column=str(first["loc"][0]), value=str(first["input"])[:80]) from error
    if not counts["scored"] + counts["unscored"]:
        raise InputError("has no number of a sample", source=log.path)
    with ResultStore.open(store).journal(run_id, sync_every=1_000_000) as journal:
        for table, row in rows:
            journal.add(table, row)
        journal.add("runs", run)
    remarks = list(log.remarks)
    for name, words in _LEFT_OUT.items():
        remarks += [f"{log.path.name}: {counts[name]:,} {words}"] if counts[name] else []
    return ImportedRun(
        run_id,
        suite,
        log.model,
        log.judge,
        counts["samples"],
        counts["scored"],
        counts["unscored"],
        counts["replies"],
        counts["pictures"],
        tuple(remarks),
    )


_LEFT_OUT: Final = {
    "blank": "samples without any number were left out",
    "unkept": "pictures inside the log were not kept, as the store is in a bucket",
}


def _rows(log: ForeignLog, suite: str, run_id: str, folder: Path | None, counts: Counter[str]) -> Iterator[tuple[str, Record]]:
    prompts: set[str] = set()
    for sample in log.samples:
        if not sample.numbers:
            counts["blank"] += 1
            continue
        counts["samples"] += 1
        prompt_id = sample.sample_id or "-"
        if len(prompt_id) > _LONGEST_ID:  # others may begin alike
            prompt_id = f"{prompt_id[:180]}-{digest('id', prompt_id)[:16]}"
        generation_id = digest("imported", [run_id, prompt_id, sample.repeat])
        if sample.text and prompt_id not in prompts:
            prompts.add(prompt_id)
            prompt = keyed_prompt(Prompt(prompt_id=prompt_id, suite=suite, text=sample.text, scenario=sample.category))
            yield "prompts", prompt
            yield "run_prompts", RunPrompt(run_id=run_id, prompt_id=prompt_id, prompt_key=str(prompt.prompt_key))
        path = _picture(sample, folder, counts)
        if path is not None:
            counts["pictures"] += 1
            yield (
                "generations",
                Generation(
                    generation_id=generation_id,
                    prompt_id=prompt_id,
                    model=log.model,
                    sample=sample.repeat,
                    uri=str(path),
                    sha256=file_sha256(path),
                ),
            )
        for name, value in sample.numbers.items():
            missing = isinstance(value, Reason)
            counts["unscored" if missing else "scored"] += 1
            yield (
                "scores",
                Score(
                    run_id=run_id,
                    suite=suite,
                    task=sample.category or log.task,
                    subject_model=log.model,
                    prompt_id=prompt_id,
                    generation_id=generation_id,
                    dimension=name,
                    value=None if isinstance(value, Reason) else value,
                    unscored_reason=value.value if isinstance(value, Reason) else None,
                    judge=log.judge,
                    judge_version=log.judge_version,
                ),
            )
        words = {_ANSWER: (log.model, sample.answer)} if sample.answer else {}
        words |= {name: (log.judge, text) for name, text in sample.replies.items()}
        counts["replies"] += len(sample.replies)
        for step, (who, text) in words.items():
            yield (
                "judge_calls",
                JudgeCall(
                    call_id=digest("imported call", [generation_id, step]),
                    run_id=run_id,
                    judge=who,
                    judge_version=log.judge_version,
                    case_id=f"{prompt_id}#{sample.repeat}"[:200],
                    generation_id=generation_id,
                    step=step,
                    request_sha256=sha256(sample.text.encode(errors="replace")).hexdigest(),
                    attempt=1,
                    status=CallStatus.OK,
                    response_text=text,
                ),
            )


def _picture(sample: LogSample, folder: Path | None, counts: Counter[str]) -> Path | None:
    if not isinstance(sample.picture, tuple):
        return sample.picture
    if folder is None:
        counts["unkept"] += 1
        return None
    data, ending = sample.picture
    path = folder / f"{sha256(data).hexdigest()}{ending}"
    if not path.exists():
        write_whole(path, data, parents=True)
    return path
