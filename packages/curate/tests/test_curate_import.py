"""Import: every source gives the same pictures, and what is wrong is refused by name or becomes a row with a problem."""

import io
import json
import math
import os
import tarfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, jpeg, made
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_curate.cli import curate
from salon_curate.clips import watch
from salon_curate.dataset import DataSet, Picture
from salon_curate.importing import FORMATS, Columns, _text, import_pictures
from salon_curate.measures import fields, look, text_share
from salon_curate.running import run, verify
from salon_curate.selection import read_columns
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError, StorageError


def archive(path, members):
    with tarfile.open(path, "w") as file:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return path


def shards(dataset):
    return pl.concat([pl.read_parquet(dataset.shard_path(shard.name)) for shard in dataset.shards])


def test_a_manifest_an_archive_parquet_with_bytes_and_a_folder_give_the_same_pictures(tmp_path):
    rows = [json.loads(line) for line in drawn(tmp_path / "in", 1).read_text().splitlines()]
    data = [(tmp_path / "in" / row["image"]).read_bytes() for row in rows]
    members = [(f"{row['key']}.{end}", value) for row, picture in zip(rows, data, strict=True)
               for end, value in (("png", picture), ("txt", row["prompt"].encode()))]  # fmt: skip
    tar = archive(tmp_path / "a.tar", members)
    frame = pl.DataFrame({"id": [row["key"] for row in rows], "image": [{"bytes": d, "path": "x.png"} for d in data],
                          "caption": [row["prompt"] for row in rows]})  # fmt: skip
    frame.write_parquet(tmp_path / "t.parquet")
    found = {}
    for name, source in (("manifest", tmp_path / "in" / "rows.jsonl"), ("tar", tar), ("parquet", tmp_path / "t.parquet")):
        dataset = made(tmp_path / name, source)
        found[name] = shards(dataset).select("key", "image", "sha256", "prompt", "problem")
        again = import_pictures(dataset, source)
        assert (again.rows, again.unchanged) == (0, len(rows)), name
    assert found["manifest"].equals(found["tar"]) and found["manifest"].equals(found["parquet"])
    folder = shards(made(tmp_path / "folder", tmp_path / "in" / "pictures"))
    assert folder["image"].equals(found["manifest"]["image"])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"key": "a", "image": "p.jpg"}, {"key": "a", "image": "p.jpg"}], ["occurs twice", "'a'"]),
        ([{"key": "a", "image": "../p.jpg"}], ["leads out of its folder", "row 1", "../p.jpg"]),
        ([{"key": "a", "image": "/etc/passwd"}], ["leads out of its folder", "/etc/passwd"]),
        ([{"key": " ", "image": "p.jpg"}], ["a key must have", "row 1"]),
        ([{"key": "a", "photo": "p.jpg"}], ["no column is known to contain the image", "photo"]),
    ],
)
def test_a_wrong_table_is_refused_by_name_and_changes_nothing(tmp_path, rows, words):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "p.jpg").write_bytes(jpeg())
    source = tmp_path / "in" / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = DataSet.create(tmp_path / "d")
    with pytest.raises(InputError) as caught:
        import_pictures(dataset, source)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert DataSet.open(tmp_path / "d").shards == []


def test_of_a_source_that_has_grown_only_what_is_new_is_added(tmp_path):
    """Equal rows are counted; a key that names another picture, prompt or value is refused, and one given twice as well."""
    source, dataset = drawn(tmp_path / "in", 1), DataSet.create(tmp_path / "d")
    import_pictures(dataset, source, licence="CC0-1.0", shard_rows=4)
    before, rows = list(dataset.shards), [json.loads(line) for line in source.read_text().splitlines()]
    again = import_pictures(dataset, source)
    assert (again.rows, again.unchanged, dataset.shards, len(dataset.sources)) == (0, len(rows), before, 1)

    added = [{**rows[0], "key": "new"}, *reversed(rows)]
    source.write_text("".join(json.dumps(row) + "\n" for row in added))
    grown = import_pictures(dataset, source)
    assert (grown.rows, grown.unchanged) == (1, len(rows))
    assert DataSet.open(tmp_path / "d").keys(dataset.shards[-1]).to_list() == ["new"]

    assert [each.licence for each in dataset.sources] == ["CC0-1.0"] * 2
    with pytest.raises(InputError, match="no row would have the licence"):
        import_pictures(dataset, source, licence="MIT")
    other = drawn(tmp_path / "other", 1, seed=3)
    other.write_text(other.read_text().replace('"key": "k', '"key": "other'))
    assert import_pictures(dataset, other).licence == "unknown"  # another source, though it has the same name
    whole = list(dataset.shards)
    for changed in ([{**rows[1], "image": rows[2]["image"]}], [{**rows[0], "prompt": "another"}],
                    [{**rows[0], "extra": 1}], [rows[0], rows[0]]):  # fmt: skip
        source.write_text("".join(json.dumps(row) + "\n" for row in changed))
        with pytest.raises(InputError, match="occurs twice"):
            import_pictures(dataset, source)
        assert DataSet.open(tmp_path / "d").shards == whole


def test_a_text_beside_a_picture_is_its_prompt(tmp_path):
    """A link that leads out of the folder is no text of its."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jpg").write_bytes(jpeg(seed=ord(name)))
    (folder / "a.txt").write_text(" a red star\n")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "b.txt").symlink_to(tmp_path / "secret.txt")
    assert shards(made(tmp_path / "d", folder))["prompt"].to_list() == ["a red star", None, None]


def test_imports_at_once_and_after_one_another_lose_no_picture(tmp_path):
    """A second import while one is at work is refused; one that opened the data set before another ended adds to its shards."""
    first, second = drawn(tmp_path / "a", 1), drawn(tmp_path / "b", 1, seed=3)
    second.write_text(second.read_text().replace('"key": "k', '"key": "other'))
    one, other = DataSet.create(tmp_path / "d"), DataSet.open(tmp_path / "d")

    def slow():
        with pytest.raises(StorageError, match="another process"):
            import_pictures(other, second)
        yield from (Picture(f"slow{number}", jpeg(seed=number)) for number in range(3))

    one.add(slow(), "slow", "folder")
    import_pictures(other, second)
    import_pictures(one, first)
    found = DataSet.open(tmp_path / "d")
    assert found.rows == 3 + 8 + 8 == one.rows and len({shard.name for shard in found.shards}) == len(found.shards) == 3
    assert [source.name for source in found.sources] == ["slow", "rows.jsonl", "rows.jsonl"] and verify(found, []) == []


def test_a_manifest_of_another_format_is_refused(tmp_path):
    DataSet.create(tmp_path / "d")
    path = tmp_path / "d" / "dataset.json"
    for form in (0, 2, "1", None):
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": form}))
        with pytest.raises(InputError, match="unknown format of a manifest"):
            DataSet.open(tmp_path / "d")


def test_interleaved_cut_off_and_escaping_archives_are_refused(tmp_path):
    picture = jpeg()
    interleaved = archive(tmp_path / "i.tar", [("a.jpg", picture), ("b.jpg", picture), ("a.txt", b"late")])
    escaping = archive(tmp_path / "e.tar", [("../a.jpg", picture)])
    cut = tmp_path / "c.tar"
    cut.write_bytes(interleaved.read_bytes()[:1500])
    dataset = DataSet.create(tmp_path / "d")
    for path, words in ((interleaved, "interleaved"), (escaping, "leads out"), (cut, "cut off")):
        with pytest.raises(InputError, match=words) as caught:
            import_pictures(dataset, path)
        assert path.name in str(caught.value)


@pytest.mark.parametrize("wrong", range(3))
def test_a_wrong_sample_of_an_archive_is_named_by_its_place(tmp_path, wrong):
    members = []
    for place in range(3):
        members += [(f"s{place}.jpg", jpeg()), (f"s{place}.json", b"{" if place == wrong else b"{}")]
    with pytest.raises(InputError, match="JSON of a sample cannot be read") as caught:
        import_pictures(DataSet.create(tmp_path / "d"), archive(tmp_path / "a.tar", members))
    assert (caught.value.row, caught.value.value) == (wrong + 1, f"s{wrong}")


def test_an_archive_gives_every_sample_or_is_refused(tmp_path):
    """Damage at any header, two archives in one file, a name twice, a member that is too large: never a sample less."""
    pictures = [jpeg(seed=number) for number in range(4)]
    whole = archive(tmp_path / "whole.tar", [(f"{number}.jpg", data) for number, data in enumerate(pictures)]).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as opened:
        heads = [member.offset for member in opened]
    damaged = {}
    for head in heads:
        for place in (0, 124, 148, 257):
            changed = bytearray(whole)
            changed[head + place] ^= 0x55
            damaged[f"{head}-{place}"] = bytes(changed)
    damaged["twice in one file"] = whole + whole
    damaged["zeros between"] = whole[: heads[2]] + bytes(1024) + whole[heads[2] :]
    damaged["junk behind"] = whole[: -tarfile.BLOCKSIZE * 2] + b"x" * 512 + bytes(1024)
    for name, members in (("name twice", [("a.jpg", pictures[0]), ("a.jpg", pictures[1])]),
                          ("name twice but for case", [("a.jpg", pictures[0]), ("a.JPG", pictures[1])])):  # fmt: skip
        damaged[name] = archive(tmp_path / "name.tar", members).read_bytes()
    for number, (name, data) in enumerate(damaged.items()):
        (tmp_path / "d.tar").write_bytes(data)
        dataset = DataSet.create(tmp_path / f"d{number}")
        with pytest.raises(InputError, match=r"d\.tar") as caught:
            import_pictures(dataset, tmp_path / "d.tar")
            pytest.fail(f"{name}: {dataset.rows} of {len(heads)} samples and no word")
        assert "Error" not in str(caught.value), name


@pytest.mark.parametrize("kind", ["jsonl", "tar", "parquet"])
def test_values_that_no_table_can_hold_are_kept_as_text_or_refused_by_row(tmp_path, kind):
    """Lone surrogates, deep brackets, huge and non-finite numbers, dates, bytes: typed errors or values, no other exception."""
    hostile = {"surrogate": '"x\\ud800"', "deep": "[" * 50_000 + "]" * 50_000, "huge": "9" * 5000, "wide": str(2**70),
               "infinite": "1e999", "nan": "NaN", "zero": '"a\\u0000b"', "empty": "{}",
               "prompt": '["a", "b"]', "megabyte": json.dumps("x" * 1_000_000)}  # fmt: skip
    for column in ("prompt", "other"):
        for name, text in hostile.items():
            dataset = DataSet.create(tmp_path / f"{kind}-{column}-{name}")
            if kind == "jsonl":
                source = tmp_path / "rows.jsonl"
                source.write_text(f'{{"key": "a", "image": "p.jpg", "{column}": {text}}}\n')
            elif kind == "tar":
                source = archive(tmp_path / "a.tar", [("a.jpg", jpeg()), ("a.json", f'{{"{column}": {text}}}'.encode())])
            else:
                source = tmp_path / "t.parquet"
                values = {"surrogate": {"a": b"x"}, "deep": [[b"x"]], "huge": date(2026, 1, 1),
                          "wide": Decimal("1.50"), "infinite": math.inf,
                          "nan": datetime(2026, 1, 1), "zero": "a\0b",
                          "empty": timedelta(1), "prompt": time(1), "megabyte": "x" * 1_000_000}  # fmt: skip
                pl.DataFrame({"key": ["a"], "image": [jpeg()], column: [values[name]]}).write_parquet(source)
            try:
                import_pictures(dataset, source)
            except InputError as error:
                assert source.name in str(error), (name, str(error))
                continue
            found = shards(dataset)
            assert found["prompt"].item() is not None if column == "prompt" else json.loads(found["meta"].item()), (name, found)


@pytest.mark.parametrize("image", [[5], [1.5], [True], [{"x": 1}], [["a.jpg", "b.jpg"]], [[]]])
def test_a_picture_column_that_holds_no_single_picture_is_named(tmp_path, image):
    pl.DataFrame({"key": ["a"], "image": image}).write_parquet(tmp_path / "t.parquet")
    dataset = DataSet.create(tmp_path / "d")
    if isinstance(image[0], list):
        import_pictures(dataset, tmp_path / "t.parquet")
        assert str(len(image[0])) in shards(dataset)["problem"].item()
        return
    with pytest.raises(InputError, match=r"t\.parquet, row 1, column 'image'"):
        import_pictures(dataset, tmp_path / "t.parquet")


def test_bytes_of_further_pictures_are_no_text_in_meta(tmp_path):
    """Columns of pictures as `datasets` writes them, alone and in lists; names and numbers beside the bytes stay."""
    other = {"bytes": jpeg(), "path": "other.jpg"}
    row = {"key": "a", "image": {"bytes": jpeg(), "path": "a.jpg"}, "source": other, "crops": [other, other],
           "raw": [jpeg()], "box": {"at": [1, 2], "of": "cat"}}  # fmt: skip
    pl.DataFrame([row]).write_parquet(tmp_path / "t.parquet")
    meta = json.loads(shards(made(tmp_path / "d", tmp_path / "t.parquet"))["meta"].item())
    path = {"path": "other.jpg"}
    assert meta == {"source": path, "crops": [path, path], "raw": [], "box": row["box"]}


def test_rows_of_json_lines_are_each_their_own(tmp_path):
    """Blank lines, keys that some rows lack, a value of another type in each row: every row arrives once, as written."""
    values = [1, 2.5, "x", True, [1], {"a": 1}, 2**70, {"a": "x"}, None]
    rows = [{"key": f"k{number}", "image": "p.jpg", **({} if number % 3 else {"caption": f"c{number}"}), "value": value}
            for number, value in enumerate(values * 40)]  # fmt: skip
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps({**row, "key": f"{row['key']}-{number}"}) + "\n" * (1 + number % 4)
                              for number, row in enumerate(rows)))  # fmt: skip
    (tmp_path / "p.jpg").write_bytes(jpeg())
    found = shards(made(tmp_path / "d", source, shard_rows=100))
    assert [key.partition("-")[0] for key in found["key"]] == [row["key"] for row in rows]
    assert [(json.loads(meta) if meta else {}).get("value") for meta in found["meta"]] == [row["value"] for row in rows]
    assert found["prompt"].to_list() == [row.get("caption") for row in rows]


CELLS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.sampled_from(
    ["7", "-1.5", "true", "no", "nan", "1e999", [1], {"a": [2]}, "9" * 5000, 2**53 + 1, -(2**53) - 1, f"{2**62 + 1}",
     f"-{2**62 + 1}", 2**63, 2**63 - 1, -(2**63), -(2**63) - 1])  # fmt: skip


@settings(max_examples=60)
@given(st.lists(CELLS, min_size=1, max_size=8), st.sampled_from(["float", "int", "text", "bool"]))
def test_a_field_of_a_row_depends_on_no_other_row_and_is_the_value_or_null_with_a_reason(values, kind):
    made_stage = fields(v=kind)
    texts = [json.dumps({"v": value}) for value in values]
    batch = pl.DataFrame({"key": [str(place) for place in range(len(values))], "meta": texts})
    found = made_stage.function(batch)
    assert found.rows() == [made_stage.function(batch[place]).row(0) for place in range(len(values))]
    for value, (_, read, problem) in zip(values, found.rows(), strict=True):
        assert (read is None) == (value is None or problem == f"v is no {kind}")
        if read is not None and isinstance(value, int | float) and kind in ("int", "float"):
            assert read == (float(value) if kind == "float" else value) and math.isfinite(read)  # the nearest number of 64 bits
        if kind == "int" and type(value) is int:
            assert (read is not None) == (-(2**63) <= value < 2**63)
        if kind == "int" and isinstance(value, str) and read is not None:
            assert Decimal(value.strip()) == read  # to the last digit
        if kind == "text" and value is not None:
            assert read == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def test_damaged_pictures_become_rows_with_a_reason_and_none_passes_as_whole(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    whole = jpeg(128)
    for number in range(20):
        (folder / f"cut{number:02d}.jpg").write_bytes(whole[: len(whole) * (number + 1) // 22])
    (folder / "good.jpg").write_bytes(whole)
    (folder / "text.png").write_text("no picture")
    bomb = bytearray(whole)
    place = bomb.index(b"\xff\xc0")
    bomb[place + 5 : place + 9] = b"\xff\xff\xff\xff"  # says that it has 65,535 × 65,535 pixels
    (folder / "bomb.jpg").write_bytes(bomb)
    (folder / "link.png").symlink_to("/etc/passwd")
    dataset = made(tmp_path / "d", folder)
    assert run(dataset, [look]).problems == 23
    found = read_columns(dataset, [look], ["width", "look_problem"]).collect()
    assert len(found) == 24
    assert found.filter(pl.col("width").is_not_null())["key"].to_list() == ["good.jpg"]
    reasons = dict(found.select("key", "look_problem").iter_rows())
    assert "pixels" in reasons["bomb.jpg"] and "outside" in reasons["link.png"] and "damaged" in reasons["cut05.jpg"]


def test_columns_of_any_name_can_be_given(tmp_path):
    (tmp_path / "p.jpg").write_bytes(jpeg())
    (tmp_path / "t.csv").write_text("name,photo,words\nx,p.jpg,a dot\n")
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, tmp_path / "t.csv", columns=Columns("name", "photo", "words"))
    assert shards(dataset).select("key", "prompt").row(0) == ("x", "a dot")


def released(folder, form):
    """Files of a released format with two pictures; return the source and the keys."""
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.jpg").write_bytes(jpeg(seed=number))
    if form == "r3":
        qa = {"yn_question_list": ["Is the ball red?"], "yn_answer_list": ["yes"]}
        rows = [{"idx": n, "original_prompt": "a red ball", "bad_image": f"{n}.jpg", "answer": False, "explanation": "blue",
                 "category": "color", "generated_qa": qa} for n in range(2)]  # fmt: skip
        (folder / "rows.json").write_text(json.dumps(rows))
        return folder / "rows.json", ["0", "1"]
    if form == "magicdata":
        rows = [{"images": [f"{n}.jpg"], "response": {"Whether Normal": True}} for n in range(2)]
        (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder / "train.jsonl", ["0.jpg", "1.jpg"]
    for name in ("a", "b"):
        write_clip(folder / f"{name}.mp4", "clean", seconds=1.0)
    (folder / "task1_meta.jsonl").write_text(
        json.dumps({"task_type": 1, "sample_id": 1, "video_path": ["a.mp4"], "answer": "yes", "level": "easy"}) + "\n"
    )
    (folder / "task2_meta.jsonl").write_text(
        json.dumps({"task_type": 2, "sample_id": 1, "video_path": ["a.mp4", "b.mp4"], "answer": "<Video B>", "level": "hard"})
    )
    return folder, ["a.mp4", "b.mp4"]


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"any", "cuts"}))
def test_every_released_format_gives_its_pictures_and_keeps_every_value_of_its_rows(tmp_path, form):
    source, keys = released(tmp_path / "in", form)
    dataset = DataSet.create(tmp_path / "d")
    found = import_pictures(dataset, source, layout=form)
    rows = shards(dataset)
    assert (found.rows, found.problems, rows["key"].to_list()) == (2, 0, keys)
    assert run(dataset, [watch if form == "artifact-bench" else look]).problems == 0
    kept = [json.loads(text) for text in rows["meta"]]
    if form == "r3":
        assert rows["prompt"].to_list() == ["a red ball"] * 2 and kept[0]["generated_qa"]["yn_answer_list"] == ["yes"]
    elif form == "magicdata":
        assert kept[1] == {"response": {"Whether Normal": True}}
    else:
        assert kept[0] == {"questions": ["rvac-1", "pvrc-1"], "generated": True}
        (source / "b.mp4").write_bytes(b"cut off")
        again = DataSet.create(tmp_path / "again")
        assert import_pictures(again, source, layout=form).problems == 1
        (source / "task2_meta.jsonl").write_text('{"task_type": 2, "video_path": ["../a.mp4", "b.mp4"]}')
        with pytest.raises(InputError, match="task2_meta"):
            import_pictures(DataSet.create(tmp_path / "wrong"), source, layout=form)


def kinds_of_sources(folder):
    """One source of each kind, with the format, and the arguments that have an effect on it."""
    table = {"key": "key", "image": "image", "prompt": "prompt"}
    rows = drawn(folder / "in", 1)
    frame = pl.DataFrame({"key": ["a"], "image": [jpeg()], "prompt": ["a dot"]})
    frame.write_parquet(folder / "bytes.parquet")
    (folder / "saved").mkdir()
    frame.write_ipc_stream(folder / "saved" / "data-00000-of-00001.arrow")
    yield rows, "any", {**table, "pictures": folder / "in"}
    yield folder / "bytes.parquet", "any", table
    yield folder / "saved", "any", table
    yield folder / "in" / "pictures", "any", {}
    yield archive(folder / "a.tar", [("a.jpg", jpeg()), ("a.txt", b"a dot")]), "any", {}
    for form, own in (("r3", {"key": "idx", "image": "bad_image", "prompt": "original_prompt"}),
                      ("magicdata", {"key": "images", "image": "images"}), ("artifact-bench", {})):  # fmt: skip
        source, _ = released(folder / form, form)
        yield source, form, {**own, "pictures": folder / form}


def test_an_argument_that_has_no_effect_on_a_source_is_refused_and_nothing_is_written(tmp_path):
    refused = 0
    every = {"pictures": tmp_path, "key": "key", "image": "image", "prompt": "prompt"}
    for number, (source, form, used) in enumerate(kinds_of_sources(tmp_path)):
        dataset = DataSet.create(tmp_path / f"d{number}")
        for name, value in every.items():
            if name not in used and not (form == "magicdata" and name == "prompt"):
                chosen = {name: value} if name == "pictures" else {"columns": Columns(**{name: value})}
                with pytest.raises(InputError, match="no effect") as error:
                    import_pictures(dataset, source, layout=form, **chosen)
                assert f"--{name}" in str(error.value)
                refused += 1
        for other in set(FORMATS) - {form, "any", "artifact-bench", "cuts"} if not {"key", "pictures"} & set(used) else ():
            with pytest.raises(InputError, match="a layout of tables"):
                import_pictures(dataset, source, layout=other)
        assert list(dataset.folder.iterdir()) == [dataset.folder / "dataset.json"]
        columns = Columns(*(used.get(name) for name in ("key", "image", "prompt")))
        assert import_pictures(dataset, source, layout=form, pictures=used.get("pictures"), columns=columns).problems == 0
    assert refused == 2 + 2 * 4 + 3


def test_writing_is_told_from_plain_pictures_and_its_share_grows_with_the_letters():
    from PIL import Image, ImageDraw

    def written(size):
        picture = Image.linear_gradient("L").resize((512, 512))
        if size:
            for line in range(3):
                ImageDraw.Draw(picture).text((20, 20 + line * 130), "OPEN 24 h SALE", fill=255, font_size=size)
        return text_share(picture)

    shares = [written(size) for size in (0, 12, 24, 48)]
    assert shares[0] == 0 and shares == sorted(shares) and shares[1] > 0.005 and shares[3] > 0.1
    shape = Image.new("L", (512, 512), 230)
    ImageDraw.Draw(shape).ellipse((100, 100, 400, 400), fill=20)
    assert text_share(shape) == 0 and text_share(Image.new("L", (3, 5))) == 0


def test_a_file_whose_name_cannot_be_a_key_is_left_out_by_name_and_the_others_stay(tmp_path):
    (tmp_path / "p").mkdir()
    good = Image.new("RGB", (9, 9))
    good.save(tmp_path / "p" / "good.png")
    content = (tmp_path / "p" / "good.png").read_bytes()
    for name in (b"bad\xff.png", b"line\nbreak.png", b"x" * 220 + b".png"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/p/" + name)).write_bytes(content)
    DataSet.create(tmp_path / "d")
    done = CliRunner().invoke(curate, ["import", str(tmp_path / "d"), str(tmp_path / "p")])
    assert (done.exit_code, done.stdout) == (0, "1 picture from p (folder), 0 with a problem; 1 in 1 shard\n")
    assert "3 files left out, whose name cannot be a key: 'bad" in done.stderr and "line\\\\nbreak.png'" in done.stderr
    [source] = DataSet.open(tmp_path / "d").sources
    assert (source.rows, len(source.left_out)) == (1, 3)


def test_an_archive_that_lost_any_of_its_end_is_refused_and_one_that_lost_padding_alone_is_whole(tmp_path):
    """Whole: blocks of 512 bytes, of which the last two are empty (POSIX.1-2001, ustar); checked around every block."""
    whole = archive(tmp_path / "whole.tar", [(f"{number}.jpg", jpeg(16, number)) for number in range(3)]).read_bytes()
    samples = len(whole.rstrip(b"\0"))
    lengths = {edge + step for edge in range(512, len(whole) + 1, 512) for step in (-1, 0, 1, 255)}
    for number, length in enumerate(sorted(each for each in lengths if each <= len(whole))):
        (tmp_path / "cut.tar").write_bytes(whole[:length])
        dataset = DataSet.create(tmp_path / f"d{number}")
        if length % 512 == 0 and length - samples >= 1024:
            import_pictures(dataset, tmp_path / "cut.tar")
            assert DataSet.open(dataset.folder).rows == 3, length
        else:
            with pytest.raises(InputError, match=r"cut\.tar"):
                import_pictures(dataset, tmp_path / "cut.tar")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_damaged_table_is_named_in_one_line(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    frame = pl.DataFrame({"key": ["a", "b"], "image": [b"x", b"y"]})
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc_stream(path)
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + b"\xff\xff\xff" + data[place + 3 :])
        try:
            import_pictures(DataSet.create(tmp_path / f"d{place}"), path)
        except InputError as error:
            assert "\n" not in error.problem and "\n" not in str(error), error
            assert error.source == str(path)


def test_a_video_with_a_wrong_name_is_named_by_its_place_among_the_videos(tmp_path):
    rows = [
        {"task_type": 1, "sample_id": number, "video_path": [name], "answer": "yes", "level": "easy"}
        for number, name in enumerate(["a.mp4", "b.mp4", "c\u0007.mp4"])
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "task1_meta.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError) as caught:
        import_pictures(DataSet.create(tmp_path / "d"), tmp_path / "in" / "task1_meta.jsonl", layout="artifact-bench")
    assert caught.value.row == 3, caught.value


@for_each(
    ("value", "text"),
    [("ein Bär", "ein Bär"), (["猫", "é"], '["猫", "é"]'), ({"q": "ü"}, '{"q": "ü"}'), (7, "7"), (True, "True"), ("", None),
     (None, None)],
)  # fmt: skip
def test_a_prompt_that_is_no_text_is_written_as_people_read_it(value, text):
    assert _text(value) == text
