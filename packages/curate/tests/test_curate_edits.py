"""Edits: imported as triples, compared block by block, released with both pictures."""

import io
import json
import tarfile

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageDraw

from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.dataset import DataSet
from salon_curate.duplicates_and_splits import duplicates, split
from salon_curate.edits import compared, edit
from salon_curate.importing import Columns, import_pictures
from salon_curate.judging import judge_stage
from salon_curate.measures import look
from salon_curate.release import release
from salon_curate.running import run
from salon_curate.selection import read_columns, save_selection, select
from salon_synthetic import generate, png
from salon_synthetic.videos import write_clip
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply
from salon_taxonomy.testing import ReplayJudge

COLUMNS = Columns(key="id", image="result", prompt="instruction", edited="source")


def encoded(picture, kind="PNG", **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def triples(folder):
    """Edits of one drawn scene whose truth is known, and files that cannot be compared."""
    folder.mkdir()
    scene = next(iter(generate(1, seed=2))).shown
    source = Image.open(io.BytesIO(png(scene))).convert("RGB").resize((160, 120))
    painted = source.copy()
    ImageDraw.Draw(painted).rectangle((16, 24, 79, 87), fill=(250, 10, 250))
    wide = painted.resize((320, 240))
    results = {
        "painted": encoded(painted),
        "jpeg": encoded(painted, "JPEG", quality=75),
        "copied": encoded(source, "JPEG", quality=75),
        "large": encoded(wide),
        "other": encoded(Image.effect_noise((160, 120), 90).convert("RGB")),
        "cropped": encoded(painted.crop((0, 0, 80, 120))),
        "cut": encoded(painted)[:-60],
        "tiny": encoded(painted.resize((4, 3))),
    }
    (folder / "source.png").write_bytes(encoded(source))
    rows = []
    for name, content in results.items():
        (folder / f"{name}.bin").write_bytes(content)
        rows.append({"id": name, "source": "source.png", "instruction": "paint a square", "result": f"{name}.bin"})
    rows.append({**rows[0], "id": "lost", "source": "nowhere.png"})
    rows.append({**rows[0], "id": "none", "source": None})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


@pytest.fixture
def dataset(tmp_path):
    made = DataSet.create(tmp_path / "d")
    assert import_pictures(made, triples(tmp_path / "in"), columns=COLUMNS, shard_rows=4).problems == 2
    assert run(made, [edit]).set_aside == ()
    return made


@pytest.mark.parametrize(("role", "words"), [("source", "the edited picture is a video"), ("result", "the result is a video")])
def test_a_video_is_named_as_what_it_is_in_the_edit(tmp_path, role, words):
    triples(tmp_path / "in")
    write_clip(tmp_path / "in" / "clip.mp4", "clean", seconds=1)
    row = {"id": "x", "source": "source.png", "instruction": "move", "result": "painted.bin", role: "clip.mp4"}
    (tmp_path / "in" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    made = DataSet.create(tmp_path / "d")
    import_pictures(made, tmp_path / "in" / "rows.jsonl", columns=COLUMNS)
    run(made, [edit])
    [problem] = read_columns(made, [edit], ["edit_problem"]).collect()["edit_problem"]
    assert words in problem, problem


def test_drawn_edits_measure_as_they_were_drawn(dataset):
    columns = [*edit.writes, "edit_problem"]
    found = read_columns(dataset, [edit], columns).select("key", *columns).collect()
    rows = {row["key"]: row for row in found.iter_rows(named=True)}
    share = 64 * 64 / (160 * 120)
    painted = rows["painted"]
    assert painted["changed_area"] == pytest.approx(share) and painted["kept_difference"] == 0.0 and not painted["copied"]
    assert rows["jpeg"]["changed_area"] == pytest.approx(share, abs=0.03) and 0 < rows["jpeg"]["kept_difference"] < 4
    assert rows["copied"]["copied"] and rows["copied"]["changed_area"] == 0.0 and rows["copied"]["change"] is None
    assert rows["large"]["changed_area"] == pytest.approx(share, abs=0.08)
    assert rows["other"]["changed_area"] > 0.9
    for key, words in (("cropped", "shapes differ: 160 × 120 and 80 × 120"), ("cut", ""), ("tiny", "fewer than 8 pixels"),
                       ("lost", "the edited picture: there is no such file"),
                       ("none", "the edited picture: the row has no picture")):  # fmt: skip
        assert words in rows[key]["edit_problem"] and rows[key]["changed_area"] is None, key


@settings(max_examples=50)
@given(hnp.arrays(np.uint8, (21, 30, 3), elements=st.sampled_from([0, 100, 112, 255])),
       hnp.arrays(np.uint8, (21, 30, 3), elements=st.sampled_from([0, 100, 112, 255])))  # fmt: skip
def test_the_comparison_agrees_with_plain_loops_and_is_symmetric(one, other):
    found = compared(one, other)
    assert found == compared(other, one)
    means = {(y, x): float(np.abs(one[8 * y : 8 * y + 8, 8 * x : 8 * x + 8].astype(int)
                                  - other[8 * y : 8 * y + 8, 8 * x : 8 * x + 8].astype(int)).mean())
             for y in range(2) for x in range(3)}  # fmt: skip
    changed = {place for place, mean in means.items() if mean > 10}
    kept = [mean for (y, x), mean in means.items() if not any(abs(y - a) <= 1 and abs(x - b) <= 1 for a, b in changed)]
    assert found["changed_area"] == pytest.approx(len(changed) / 6) and found["copied"] == (not changed)
    assert (found["kept_difference"] is None) == (not kept)
    if kept:
        assert found["kept_difference"] == pytest.approx(np.mean(kept))


def grainy(size=(512, 384)):
    """A picture with grain, as a camera makes it."""
    random = np.random.default_rng(0)
    smooth = Image.fromarray(random.integers(0, 255, (24, 32, 3), dtype=np.uint8)).resize(size, 3)
    return Image.fromarray((smooth + random.normal(0, 12, (size[1], size[0], 1))).clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [(256, 192), (384, 288), (512, 384), (768, 576), (1024, 768)])
def test_a_result_of_any_size_and_orientation_is_compared_with_what_was_edited(size, turned):
    source = grainy()
    painted = source.copy()
    painted.paste((255, 0, 0), (128, 96, 256, 288))  # an eighth
    upright = {}
    for name, picture in (("copy", source), ("edit", painted)):
        made = picture.resize(size, 1)
        turn = Image.Exif()
        turn[0x0112] = 6 if turned else 1
        upright[name] = encoded(made.rotate(90, expand=True) if turned else made, "JPEG", quality=95, exif=turn)
    for one, other in (("image", "edited"), ("edited", "image")):
        rows = {"key": ["copy", "edit"], one: list(upright.values()), other: [encoded(source)] * 2, "problem": [None] * 2}
        copy, edited = edit.function(pl.DataFrame(rows, schema_overrides={"problem": pl.String})).iter_rows(named=True)
        assert (copy["copied"], copy["changed_area"], edited["copied"]) == (True, 0.0, False)
        assert edited["changed_area"] == pytest.approx(1 / 8, abs=0.03) and edited["kept_difference"] < 6


def test_a_release_has_both_pictures_of_each_edit(dataset, tmp_path):
    save_selection(dataset, [edit], select(dataset, [edit], {"edits": "NOT copied AND changed_area < 0.5"}, "v1"))
    written = release(dataset, [edit], "v1", "v1", columns=["changed_area"])
    rows = pl.concat(pl.read_parquet(path) for path in sorted((written.folder / "data").iterdir()))
    source = (tmp_path / "in" / "source.png").read_bytes()
    assert set(rows["key"]) == {"painted", "jpeg", "large"}
    assert all(each["bytes"] == source for each in rows["edited"])
    again = release(dataset, [edit], "v1", "v2", form="webdataset")
    with tarfile.open(sorted((again.folder / "data").iterdir())[0]) as archive:
        assert {name.partition(".")[2] for name in archive.getnames()} == {"png", "jpg", "json", "txt", "edited.png"}


def test_a_source_column_that_is_missing_or_leads_away_is_refused_by_name_and_nothing_changes(tmp_path):
    table = triples(tmp_path / "in")
    dataset = DataSet.create(tmp_path / "d")
    with pytest.raises(InputError, match="lacks the column"):
        import_pictures(dataset, table, columns=Columns(key="id", image="result", edited="before"))
    for name in ("../source.png", "/etc/passwd", 5):
        table.write_text(json.dumps({"id": "a", "source": name, "result": "painted.bin"}) + "\n")
        with pytest.raises(InputError, match=r"rows.jsonl, row 1, column 'source'"):
            import_pictures(dataset, table, columns=COLUMNS)
    with pytest.raises(InputError, match="no effect"):
        import_pictures(dataset, tmp_path / "in", columns=Columns(edited="source"))
    assert DataSet.open(tmp_path / "d").shards == []


def test_no_split_divides_the_edits_of_one_picture(tmp_path):
    """Whatever the instructions and the results are: who learns from a source has seen it."""
    rows = []
    for number in range(16):
        for name in (f"source{number % 4}.png", f"result{number}.png"):
            noise = np.random.default_rng(number % 4 if name[0] == "s" else 99 + number).integers(0, 255, (32, 32, 3), np.uint8)
            (tmp_path / name).write_bytes(encoded(Image.fromarray(noise)))
        rows.append({"id": f"e{number}", "source": f"source{number % 4}.png", "instruction": f"do {number}"})
        rows[-1]["result"] = f"result{number}.png"
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = DataSet.create(tmp_path / "d")
    import_pictures(made, tmp_path / "rows.jsonl", columns=COLUMNS, shard_rows=5)
    stages = [look, duplicates, split.with_parameters(shares={"a": 0.5, "b": 0.5})]
    run(made, stages)
    found = dict(read_columns(made, stages, ["split"]).collect().select("key", "split").iter_rows())
    assert {found[key] for key in found} == {"a", "b"}
    assert all(found[f"e{number}"] == found[f"e{number % 4}"] for number in range(16))


def test_edits_as_commands(tmp_path):
    table, folder = triples(tmp_path / "in"), tmp_path / "d"
    words = ["--key", "id", "--image", "result", "--prompt", "instruction", "--edited", "source"]
    for command in (["init", folder], ["import", folder, table, *words]):
        done = CliRunner().invoke(curate, [str(each) for each in command], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert "10 pictures from rows.jsonl (manifest), 2 with a problem" in done.output


class Sees:
    name = version = "sees"

    def __init__(self, text):
        self.text, self.seen = text, []

    async def ask(self, question):
        self.seen.append(question)
        return Reply(self.text, version=self.version)


RIGHT = json.dumps({"followed": True, "kept": False, "explanation": "the sky changed"})


@pytest.mark.parametrize("text", [RIGHT, "", "Well done!", RIGHT[:-9], RIGHT.replace("true", '"very"')])
def test_a_judge_is_shown_the_source_and_then_the_result_and_what_it_writes_is_typed_or_a_reason(tmp_path, text):
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, triples(tmp_path / "in"), columns=COLUMNS)
    judge = Sees(text)
    stage = judge_stage(asks.editing(), judge, re_asks=0)
    run(dataset, [stage])
    columns = ["edit_followed", "edit_kept", "edit_explanation", "editing_problem"]
    rows = {key: rest for key, *rest in read_columns(dataset, [stage], columns).collect().iter_rows()}
    right = [True, False, "the sky changed", None]
    assert rows["painted"] == right if text == RIGHT else rows["painted"][:3] == [None] * 3 and rows["painted"][3]
    assert rows["none"][3].startswith("abstained: ") and rows["cut"][3].startswith("bad_media: ")
    for question in judge.seen:
        assert [media.role for media in question.media] == [MediaRole.SOURCE, MediaRole.RESULT]
        assert "paint a square" in question.text


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff"])
def test_half_a_character_in_a_reply_is_a_replacement_character_and_the_run_goes_on(dataset, half):
    text = f'{{"followed": true, "kept": true, "explanation": "as asked {half}"}}'
    stages = [judge_stage(asks.editing(), ReplayJudge([text] * dataset.rows))]
    assert not run(dataset, stages).set_aside
    told = set(read_columns(dataset, stages, ["edit_explanation"]).collect()["edit_explanation"].drop_nulls())
    assert told == {"as asked \ufffd"}
