"""``salon view DATASET``: every picture, and the conditions that drop it."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from curate_world import drawn, jpeg, made, tree

from salon_bench.report.thumbnails import NoThumbnail
from salon_bench.viewer.app import Viewer
from salon_bench.viewer.export import export
from salon_bench.viewer.row_pages import filtered_rows, row_page, rows_page
from salon_bench.viewer.small_copies import SmallCopies
from salon_curate.cli.view import dataset_rows
from salon_curate.dataset import DataSet, Picture, read_rows
from salon_curate.engine import inline
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.running import run
from salon_curate.selection import select
from salon_synthetic.videos import Shot, write_shots
from salon_taxonomy.picture_formats import open_picture

CONDITIONS = {"sharp": "sharpness >= 200", "wide": "width > 1 AND NOT good"}
TEXT = '[[stage]]\nuse = "look"\n\n[[stage]]\nuse = "fields"\nparameters = { good = "bool" }\n\n[selection.default]\n'


@pytest.fixture
def dataset(tmp_path: Path) -> DataSet:
    dataset = made(tmp_path / "birds", drawn(tmp_path / "in"))
    lines = "".join(f"{name} = {json.dumps(sql)}\n" for name, sql in CONDITIONS.items())
    (dataset.folder / PIPELINE).write_text(TEXT + lines)
    return dataset


def test_a_row_says_which_conditions_drop_it_and_select_keeps_the_others(dataset: DataSet) -> None:
    stages = read_pipeline(dataset.folder / PIPELINE, environment={}).stages
    run(dataset, stages)
    view = dataset_rows(dataset.folder)
    assert view is not None
    before = tree(dataset.folder, ".")
    frame = view.rows().frame
    assert tree(dataset.folder, ".") == before  # nothing is written
    kept = (frame["selection_default"] == "kept").to_list()
    assert kept == select(dataset, stages, CONDITIONS).mask.tolist()
    assert any(kept) and not all(kept)
    for row in frame.iter_rows(named=True):
        failing = {"sharp"} if row["sharpness"] < 200 else set()
        failing |= {"wide"} if row["good"] else set()
        assert set(row["dropped_by_default"]) == failing
    wanted = {"is_dropped_by_default": ["wide"], "where": ["selection_default = 'dropped'"]}
    assert filtered_rows(view.rows(), wanted)["good"].all()
    key = frame["key"][0]
    assert key in rows_page(view, {})
    page = row_page(view, {"key": [key]})
    assert "sharpness &gt;= 200" in page and "look" in page


def test_each_row_has_its_own_picture(dataset: DataSet) -> None:
    view = dataset_rows(dataset.folder)
    assert view is not None
    for shard in dataset.shards:
        rows = read_rows(dataset.shard_path(shard.name), ["key", "image"])
        assert [view.picture(key) for key in rows["key"]] == rows["image"].to_list()
    assert view.picture("nobody") is None


def test_an_edit_is_beside_its_source(tmp_path: Path) -> None:
    dataset = DataSet.create(tmp_path / "edits")
    before, after = jpeg(seed=1), jpeg(seed=2)
    dataset.add(iter([Picture("a", after, edited=before), Picture("b", after)]), "edits", "table")
    dataset.add(iter([Picture("c", before)]), "pictures", "table")
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "look"\n')
    view = dataset_rows(dataset.folder)
    assert view is not None
    pictures = {row["key"]: row["pictures"] for row in view.rows().frame.iter_rows(named=True)}
    assert [view.picture(each["id"]) for key in "abc" for each in pictures[key]] == [before, after, None, after, before]
    assert view.picture("\x1fnobody") is None
    viewer = Viewer(view, SmallCopies(tmp_path / "copies"))
    page = row_page(view, {"key": ["a"]})
    assert page.count("<img") == 2 and "<bdi>source</bdi>" in page
    assert isinstance(viewer.small_picture(pictures["a"][0]["id"], "large"), bytes)
    assert row_page(view, {"key": ["c"]}).count("<img") == 1


def test_a_selection_whose_stages_have_not_finished_is_named_and_has_no_column(dataset: DataSet) -> None:
    view = dataset_rows(dataset.folder)
    assert view is not None
    table = view.rows()
    assert "selection_default" not in table.frame.columns
    assert any("default" in note and "not finished" in note for note in table.notes)
    assert table.frame.height == dataset.rows
    stages = read_pipeline(dataset.folder / PIPELINE, environment={}).stages
    run(dataset, stages)
    assert "selection_default" in view.rows().frame.columns  # it is read again


def test_a_folder_of_another_kind_is_none(tmp_path: Path) -> None:
    assert dataset_rows(tmp_path) is None


def test_the_page_of_a_clip_plays_it_from_its_own_address_and_an_export_holds_its_file(tmp_path: Path) -> None:
    clip = write_shots(tmp_path / "in.mp4", [Shot(1.0, 1)]).read_bytes()
    dataset = DataSet.create(tmp_path / "clips")
    dataset.add(iter([Picture("a <b>", clip), Picture("still", jpeg()), Picture("cut", clip[:-500])]), "drawn", "folder")
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "watch"\n')
    view = dataset_rows(dataset.folder)
    assert view is not None
    viewer = Viewer(view, SmallCopies(tmp_path / "copies"))
    page = row_page(view, {"key": ["a <b>"]})
    assert page.count("<video controls") == 1 and 'src="picture?id=a+%3Cb%3E&amp;size=clip"' in page
    assert "<video" not in row_page(view, {"key": ["still"]}) + rows_page(view, {})
    assert viewer.small_picture("a <b>", "clip") == clip
    for name, size in (("still", "clip"), ("nobody", "clip"), ("cut", "large")):
        assert isinstance(viewer.small_picture(name, size), NoThumbnail)
    poster = viewer.small_picture("a <b>", "large")
    assert isinstance(poster, bytes) and open_picture(poster).format == "WEBP"

    async def asked() -> None:
        async with TestClient(TestServer(viewer.app())) as client:
            address = f"/{viewer.token}/picture"
            query = {"id": "a <b>", "size": "clip"}
            whole = await client.get(address, params=query)
            assert (whole.status, whole.content_type, await whole.read()) == (200, "video/mp4", clip)
            assert "media-src 'self'" in whole.headers["Content-Security-Policy"]
            for given, part in (("bytes=10-19", clip[10:20]), ("bytes=5-", clip[5:]), ("bytes=-7", clip[-7:])):
                one = await client.get(address, params=query, headers={"Range": given})
                assert (one.status, await one.read()) == (206, part)
            for given in (f"bytes={len(clip)}-", "bytes=nonsense"):
                assert (await client.get(address, params=query, headers={"Range": given})).status == 416
            assert (await client.get(address, params={"id": "still", "size": "clip"})).content_type == "image/svg+xml"

    asyncio.run(asked())
    export(viewer.pages(), viewer.small_picture, ".", tmp_path / "out")
    assert {file.read_bytes() for file in (tmp_path / "out" / "pictures").glob("*.mp4")} == {clip, clip[:-500]}


def test_a_row_shows_what_was_asked_of_whom_and_what_was_answered(tmp_path: Path) -> None:
    dataset = made(tmp_path / "birds", drawn(tmp_path / "in"))
    text = '[[stage]]\nuse = "look"\n[[stage]]\nask = "agreement"\njudge = "pixels:"\nwhen = "width > 1"\n'
    text += '[selection.default]\na = "width > 1"\nb = "agrees"\n'
    (dataset.folder / PIPELINE).write_text(text)
    run(dataset, read_pipeline(dataset.folder / PIPELINE, environment={}, asks=True).stages, engine=inline)
    view = dataset_rows(dataset.folder)
    assert view is not None
    frame = view.rows().frame
    for row in frame.head(6).iter_rows(named=True):
        selection, imported, look, asked, *replies = view.details(row["key"])
        holds = row["agrees"] is True
        assert (selection.heading, selection.facts) == ("Selection default", "kept" if holds else "dropped")
        assert selection.text.splitlines()[:2] == ["holds  a: width > 1", f"{'holds' if holds else 'fails'}  b: agrees"]
        assert imported.facts.startswith("shard ") and look.heading == "look" and look.facts.startswith("version ")
        assert asked.heading == "agreement" and "judge pixels" in asked.facts and "asked when width > 1" in asked.facts
        assert json.loads(asked.text)["agrees"] is row["agrees"]
        assert replies and all(each.heading == "agreement: reply" for each in replies)
        for reply in replies:
            assert reply.text and reply.text not in reply.facts and row["key"] not in reply.facts.split()
            assert reply.facts and "None" not in reply.facts
    kept = int((frame["selection_default"] == "kept").sum())
    assert view.rows().notes == [f"Selection default keeps {kept} of {frame.height}."]
