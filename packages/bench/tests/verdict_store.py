"""A store of made-up verdicts for tests of what looks at runs: two runs of one suite, some rows unscored."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from salon_store import ResultStore
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Assessment, Generation, JudgeCall, Prompt, Run, RunEvent, RunEventKind, Score

Value = float | str
"""A score, or the reason why there is none."""


class VerdictStore:
    """Writes finished runs with the rows that a test wants."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results"
        self._store = ResultStore.open(self.path)
        self._minute = 0

    def prompts(self, texts: Mapping[str, str], suite: str = "numbers") -> None:
        rows = [Prompt(prompt_id=name, suite=suite, text=text) for name, text in texts.items()]
        self._store.append("prompts", rows, run_id="prompts", on_duplicate="skip")

    def run(
        self,
        run_id: str,
        values: Mapping[tuple[str, str, str], Value | Sequence[Value]],
        *,
        subject: str = "ours",
        suite: str = "numbers",
        version: str = "v1",
        judge: str = "j",
        finished: bool = True,
        pictures: Mapping[str, Path] | None = None,
        replies: Mapping[str, Sequence[str]] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> str:
        """A run: values by (task, prompt, dimension), one for each sample; pictures, replies and labels by prompt."""
        self._minute += 1
        now = datetime(2026, 1, 1, 0, self._minute, tzinfo=UTC)
        by = {"judge": judge, "judge_version": version}
        self._store.append(
            "runs",
            [Run(run_id=run_id, suite=suite, salon_version="0", started_at=now, **by)],
            run_id=run_id,
            on_duplicate="skip",
        )
        kind = RunEventKind.FINISHED if finished else RunEventKind.STOPPED
        event = RunEvent(event_id=f"{run_id}-{kind}-{subject}", run_id=run_id, kind=kind, at=now, cases_done=1, cases_total=2)
        self._store.append("run_events", [event], run_id=run_id)
        scores, generations = [], {}
        for (task, prompt, dimension), given in values.items():
            for sample, value in enumerate([given] if isinstance(given, str | int | float) else given):
                generation = digest("generation", {"prompt": prompt, "model": subject, "sample": sample})
                path = (pictures or {}).get(prompt)
                if path is not None and path.exists():
                    generations[generation] = _generation(generation, prompt, subject, sample, path)
                reason = value if isinstance(value, str) else None
                number = None if isinstance(value, str) else value
                row = {"run_id": run_id, "suite": suite, "task": task, "subject_model": subject, "prompt_id": prompt, **by}
                scores.append(Score(generation_id=generation, dimension=dimension, value=number, unscored_reason=reason, **row))
        self._store.append("scores", scores, run_id=run_id)
        self._store.append("generations", list(generations.values()), run_id=run_id, on_duplicate="skip")
        first = {prompt: digest("generation", {"prompt": prompt, "model": subject, "sample": 0}) for _, prompt, _ in values}
        calls = [
            _call(run_id, first[prompt], number, text, by)
            for prompt, texts in (replies or {}).items()
            for number, text in enumerate(texts)
        ]
        self._store.append("judge_calls", calls, run_id=run_id)
        given_labels = [
            Assessment(
                assessment_id=digest("a", [run_id, prompt, name]),
                run_id=run_id,
                generation_id=first[prompt],
                taxonomy="own",
                label=name,
                present=True,
                **by,
            )
            for prompt, names in (labels or {}).items()
            for name in names
        ]
        self._store.append("assessments", given_labels, run_id=run_id)
        return run_id


def _generation(generation: str, prompt: str, model: str, sample: int, path: Path) -> Generation:
    import hashlib

    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Generation(generation_id=generation, prompt_id=prompt, model=model, sample=sample, uri=str(path), sha256=sha256)


def _call(run_id: str, generation: str, number: int, text: str, by: Mapping[str, str]) -> JudgeCall:
    return JudgeCall(
        call_id=digest("call", [run_id, generation, number]),
        run_id=run_id,
        case_id="case",
        generation_id=generation,
        step=f"step{number}",
        request_sha256="0" * 64,
        attempt=1,
        status="ok",
        response_text=text,
        parse_status="parsed",
        **by,
    )
