"""Files that several tests of training write: pictures with labels, and the question that is asked of them."""

import json
import random
from pathlib import Path

from PIL import Image

from salon_taxonomy.answers import Artifact, MagicMirrorAnswer, render_magicmirror
from salon_taxonomy.training_example import MAIN_BUCKETS, NORMAL

QUESTION = "What is wrong?"


def write_examples(folder: Path, name: str, count: int, *, seed: int) -> None:
    """Flat pictures whose grey tells the bucket, and their labels in MagicData340K's form."""
    (folder / "pictures").mkdir(exist_ok=True)
    luck = random.Random(seed)
    rows = []
    for number in range(count):
        bucket = MAIN_BUCKETS[number % 5] if number < 10 else luck.choice((NORMAL, *MAIN_BUCKETS))
        truth = MagicMirrorAnswer(True) if bucket == NORMAL else MagicMirrorAnswer(False, (Artifact(bucket),))
        picture = f"pictures/{name}-{number}.png"
        Image.new("RGB", (16, 16), (40 * MAIN_BUCKETS.index(bucket) + 20,) * 3).save(folder / picture)
        rows.append(json.dumps({"images": picture, "response": render_magicmirror(truth, "I look.")}))
    (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
