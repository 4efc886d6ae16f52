"""Small data sets of drawn pictures, and their bytes for comparison."""

import json
from io import BytesIO
from pathlib import Path

from PIL import Image

from salon_curate.dataset import DataSet
from salon_curate.importing import import_pictures
from salon_synthetic import generate, png


def drawn(folder: Path, per_category: int = 3, seed: int = 0) -> Path:
    """Write pictures and ``rows.jsonl``; return the table."""
    rows = []
    (folder / "pictures").mkdir(parents=True)
    for item in generate(per_category, seed=seed):
        (folder / "pictures" / f"{item.idx:05d}.png").write_bytes(png(item.shown))
        name = f"pictures/{item.idx:05d}.png"
        rows.append({"key": f"k{item.idx:05d}", "image": name, "prompt": item.prompt, "good": not item.findings})
    table = folder / "rows.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return table


def made(folder: Path, table: Path, shard_rows: int = 4) -> DataSet:
    dataset = DataSet.create(folder)
    import_pictures(dataset, table, shard_rows=shard_rows)
    return dataset


def jpeg(size: int = 64, seed: int = 0) -> bytes:
    image = Image.effect_noise((size, size), 40 + seed).convert("RGB")
    stream = BytesIO()
    image.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def tree(folder: Path, inside: str) -> dict[str, bytes]:
    """Every file below a folder of a data set, hidden ones aside."""
    files = sorted((folder / inside).rglob("*.parquet"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if not path.name.startswith(".")}


def workers_of(driver: int) -> list[int]:
    """Return the processes of the workers that a driver started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"salon_curate.worker" in words and str(driver).encode() in words:
            found.append(int(path.parent.name))
    return found


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and waits for its parent does not."""
    try:
        return "\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
