"""The demonstration: from prompts to a release, and every number of it against the exact truth."""

import json

import polars as pl
from click.testing import CliRunner

from salon_curate.cli import curate


def test_the_demonstration_ends_with_a_release_that_its_truth_confirms(tmp_path):
    done = CliRunner().invoke(curate, ["demo", str(tmp_path / "d"), "--per-category", "6"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (tmp_path / "d" / "candidates" / "rows.jsonl").read_text().splitlines()]
    truth = {row["key"]: row["truth"] for row in rows}
    released = pl.concat([pl.read_parquet(each) for each in (tmp_path / "d/dataset/releases/v1/data").iterdir()])
    assert len(released) > 0 and all(truth[key] for key in released["key"])
    page = (tmp_path / "d" / "demo.html").read_text()
    assert "<svg" in page and "precision" in page and "http://www.w3.org" in page and "<script" not in page
