"""A small Artifact-Bench of drawn clips, and a judge that reads the pixels of their frames; for tests.

The judge measures light and the ball from frame to frame. With ``blindness`` above 0 it does not look at that share of the
videos and guesses, so that judges of known quality can be ranked.
"""

import json
import random
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from salon_synthetic.videos import write_clip
from salon_taxonomy.protocols import Media, Question, Reply

LABELS = {
    "flicker": "Flickering and Noise",
    "pop": "Abnormal Object Disappearance/Appearance",
    "morph": "Unnatural Morphing",
    "freeze": "Dynamic and Kinematic Inconsistency",
}
OTHERS = ("Oversmoothing", "Spatial Clipping")


def write_bench(folder: Path, each: int = 2) -> Path:
    """Clips of every kind, and a file of rows: RVAC, PVRC and AID about them; returns the rows' path."""
    levels = ("easy", "medium", "hard")
    rows: list[dict[str, object]] = []
    for seed in range(each):
        level = levels[seed % 3]
        for kind in ("clean", *LABELS):
            name = f"{kind}-{seed}.mp4"
            write_clip(folder / name, kind, seed=seed)
            common = {"sample_id": f"{kind}-{seed}", "level": level}
            rows.append({"task_type": 1, **common, "video_path": [name], "answer": "no" if kind == "clean" else "yes"})
            if kind == "clean":
                continue
            pair = [name, f"clean-{seed}.mp4"]
            first = seed % 2 == 0
            rows.append(
                {"task_type": 2, **common, "video_path": pair[:: -1 if first else 1], "answer": f"<Video {'AB'[not first]}>"}
            )
            options = [f"{label}: a definition." for label in (*LABELS.values(), *OTHERS)]
            rows.append(
                {"task_type": 3, **common, "video_path": [name], "option": options, "answer": "ABCD"[list(LABELS).index(kind)]}
            )
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    return path


class PixelJudge:
    """Answers by what it sees in the frames."""

    def __init__(self, name: str, blindness: float = 0.0) -> None:
        self.name = name
        self.version = f"pixels-{blindness}"
        self.asked: list[Question] = []
        self._blindness = blindness

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        drawing = random.Random(f"{self.name}/{question.request_sha256()}")
        blind = drawing.random() < self._blindness
        kinds = [drawing.choice(["clean", *LABELS]) if blind else kind_of(video) for video in question.media]
        if len(kinds) == 2:
            place = 0 if kinds[0] == "clean" else 1 if kinds[1] == "clean" else drawing.randrange(2)
            return Reply(f"It moves as it should.\nAnswer: <Video {'AB'[place]}>")
        if "letters of all kinds" in question.text:
            place = list(LABELS).index(kinds[0]) if kinds[0] in LABELS else drawing.randrange(6)
            return Reply(f"It shows.\nAnswer: {'ABCDEF'[place]}")
        return Reply(f"Hm.\nAnswer: {'no' if kinds[0] == 'clean' else 'yes'}")


def kind_of(video: Media) -> str:
    """What is wrong with a drawn clip, by its pixels."""
    assert video.film is not None
    frames = [np.asarray(Image.open(BytesIO(frame.image.data)).convert("RGB"), np.int16) for frame in video.film.frames]
    if np.std([frame[:50, :100].mean() for frame in frames]) > 10:
        return "flicker"
    balls = [_ball(frame) for frame in frames]
    if any(len(each) < 30 for each in balls[1:-1]):
        return "pop"
    hues = [np.median(frame[tuple(ball.T)], axis=0) for frame, ball in zip(frames, balls, strict=True)]
    if np.abs(hues[0] - hues[len(hues) // 2]).max() > 40:
        return "morph"
    steps = np.abs(np.diff([ball[:, 1].mean() for ball in balls]))
    return "freeze" if steps.max() > 60 else "clean"


def _ball(frame: np.ndarray) -> np.ndarray:
    """Rows and columns of the pixels below the horizon that are not meadow."""
    meadow = np.abs(frame - np.array([80, 150, 70])).sum(axis=2) < 60
    return np.argwhere(~meadow & (np.arange(frame.shape[0])[:, None] > 68))


def hostile_rows(row: dict[str, object]) -> Sequence[tuple[dict[str, object], str]]:
    """Rows with one thing wrong, from a good one of task 3; and the column that must be named."""
    wrong: list[tuple[str, object]] = [
        ("task_type", 4),
        ("task_type", True),
        ("task_type", None),
        ("sample_id", ""),
        ("sample_id", "x" * 181),
        ("sample_id", ["1"]),
        ("video_path", []),
        ("video_path", ["a.mp4", "b.mp4"]),
        ("video_path", ["../a.mp4"]),
        ("video_path", ["/etc/passwd"]),
        ("video_path", ["http://localhost/a.mp4"]),
        ("video_path", [7]),
        ("video_path", "[oops"),
        ("option", []),
        ("option", ["Oversmoothing: x"]),
        ("option", ["Oversmoothing: x", "oversmoothing: y"]),
        ("option", ["Oversmoothing: x", "Melting Clocks: y"]),
        ("option", {"A": "Oversmoothing"}),
        ("answer", ""),
        ("answer", "G"),
        ("answer", "A,A"),
        ("answer", "yes"),
        ("level", "impossible"),
        ("level", None),
    ]
    return [({**row, column: value}, column) for column, value in wrong]
