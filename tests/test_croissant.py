"""Croissant metadata as mlcroissant, the format's own reader, sees it."""

import hashlib
import json
from io import BytesIO

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, made
from PIL import Image

from salon_curate.engine import inline
from salon_curate.measures import fields, look
from salon_curate.release import release
from salon_curate.running import run
from salon_curate.selection import save_selection, select
from salon_ranking.cli.pairs import pairs

mlcroissant = pytest.importorskip("mlcroissant")
absl_logging = pytest.importorskip("absl.logging")  # what mlcroissant logs with
# When any program sets up logging, uvicorn for one, it would close the stream that pytest captures.
absl_logging.get_absl_handler().python_handler.close = lambda: None


def rows_of(path):
    """Every row of every record set, by column; texts, which mlcroissant gives as bytes, as texts."""
    document = json.loads(path.read_text())
    for each in document["distribution"]:
        assert hashlib.sha256((path.parent / each["contentUrl"]).read_bytes()).hexdigest() == each["sha256"]
    data = mlcroissant.Dataset(jsonld=str(path))
    assert not data.metadata.ctx.issues.errors
    return [
        {
            name.removeprefix(f"{records.id}/"): value.decode() if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for records in data.metadata.record_sets
        for row in data.records(records.id)
    ]


def test_pairs_are_read_as_they_were_written(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("prompt_id,prompt,model_a,model_b,winner\n1,a “cat”,x,y,model_a\n2,a/b,y,x,tie\n3,ß,x,y,model_b\n")
    output = tmp_path / "two words.parquet"
    done = CliRunner().invoke(pairs, [str(votes), "--form", "croissant", "--undecided", "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert rows_of(tmp_path / "two words.croissant.json") == pl.read_parquet(output).to_dicts()
    for wrong in ([], ["--output", str(tmp_path / "pairs.jsonl")]):
        done = CliRunner().invoke(pairs, [str(votes), "--form", "croissant", *wrong])
        assert done.exit_code == 2 and "describes a Parquet file" in done.output


def test_a_release_is_read_as_it_was_written(tmp_path):
    dataset, stages = made(tmp_path / "d", drawn(tmp_path / "in", 1), shard_rows=3), [look, fields(good="bool")]
    run(dataset, stages, engine=inline)
    save_selection(dataset, stages, select(dataset, stages, {"sharp": "sharpness >= 1"}, "v1"))
    written = release(dataset, stages, "v1", "1.0.0", columns=["sharpness", "good", "width"])
    expected = pl.concat([pl.read_parquet(path) for path in sorted((written.folder / "data").iterdir())]).to_dicts()
    found = rows_of(written.folder / "croissant.json")
    assert len(found) == len(expected) > 3
    for one, other in zip(found, expected, strict=True):
        picture = Image.open(BytesIO(other.pop("image")["bytes"]))
        assert one.pop("image").tobytes() == picture.tobytes()
        assert one == {**other, "sharpness": pytest.approx(other["sharpness"])}
    archives = release(dataset, stages, "v1", "1.0.1", form="webdataset").folder / "croissant.json"
    assert rows_of(archives) == [] and json.loads(archives.read_text())["distribution"]
