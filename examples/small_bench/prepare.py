"""Draws the pictures, writes the prompts, and records what the pixel judge says: ``python prepare.py [FOLDER]``.

Everything a run needs is then in the folder; ``README.md`` has the commands that judge, compare and show.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from drawing import draw_all
from pixel_judge import PixelJudge
from scenes import write_prompts

from salon_bench.judges.recording import RecordingJudge
from salon_bench.runs.plan import Subject, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.suites.contract.registry import suite_named


async def record(folder: Path) -> Path:
    """Have the pixel judge answer every question of both suites once; returns the recording."""
    pictures = draw_all(folder)
    recording = folder / "replies.jsonl"
    recording.unlink(missing_ok=True)
    for name, prompts in zip(("magicbench", "prism"), write_prompts(folder), strict=True):
        judge = RecordingJudge(PixelJudge(), recording)
        subjects = [Subject(model, where) for model, where in pictures.items()]
        with tempfile.TemporaryDirectory() as scratch:
            plan = planned(suite_named(name), subjects, judge, prompts=prompts)
            await execute(plan, judge, Path(scratch) / "results")
    return recording


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(record(target))
