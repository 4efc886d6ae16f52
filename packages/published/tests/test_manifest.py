"""A slip in a manifest or a CSV file is an error that names file, key, row and value."""

from itertools import chain, zip_longest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from salon_published import registry
from salon_published.check import check_tables
from salon_published.manifest import Role, read_manifest
from salon_published.patterns import Pattern
from salon_published.tables import PublishedTable, read_tables
from salon_taxonomy.errors import InputError

MANIFEST = """\
paper = "own"
place = 1
title = "A paper"
citation = "Paper"

[[table]]
id = "own:1"
file = "own-1.csv"
caption = "Two models"
keys = ["model"]
rows = "generator"
unit = "percent"
direction = "higher"
column = [{ match = "seen", unit = "count" }, { match = "*.note", unit = "text" }, { match = "mean", role = "overall" }]
"""
CSV = "model,a.x,a.y,mean,seen,b.note\nM1,1.0,2.0,1.5,7,words\nM2,3.0,,4.0,8,\n"
CHECK = """
  [[table.check]]
  rule = "mean"
  target = "mean"
  of = ["a.*"]
"""


@given(st.lists(st.text("ab.", max_size=3), min_size=1, max_size=4), st.data())
def test_a_filled_pattern_is_matched_and_what_it_captures_fills_it_again(parts: list[str], data: st.DataObject) -> None:
    pattern, stars = Pattern("*".join(parts)), len(parts) - 1
    texts = data.draw(st.lists(st.text("ab.*", min_size=1, max_size=3), min_size=stars, max_size=stars))
    name = pattern.fill(tuple(texts))
    assert name == "".join(chain(*zip_longest(parts, texts, fillvalue="")))
    captured = pattern.capture(name)
    assert captured is not None
    assert len(captured) == stars
    assert pattern.fill(captured) == name
    assert pattern.matches(f"{name}!") == (stars > 0 and not parts[-1])
    if texts:
        assert pattern.fill(tuple(texts[:1])) == texts[0].join(parts)


def test_what_manifests_and_the_registry_say_cannot_be_changed(tmp_path: Path) -> None:
    manifest = read_manifest(folder(tmp_path, MANIFEST + CHECK) / "own.toml")
    for entry in (manifest, manifest.table[0], manifest.table[0].column[0], manifest.table[0].check[0], registry.models()[0]):
        name = next(iter(type(entry).model_fields))
        with pytest.raises(ValidationError, match="frozen"):
            setattr(entry, name, getattr(entry, name))


def folder(path: Path, manifest: str = MANIFEST, table: str = CSV) -> Path:
    (path / "own.toml").write_text(manifest, encoding="utf-8")
    (path / "own-1.csv").write_text(table, encoding="utf-8")
    return path


def read(path: Path, manifest: str = MANIFEST, table: str = CSV) -> PublishedTable:
    (found,) = read_tables(folder(path, manifest, table))
    return found


def test_a_table_is_read_with_its_units_gaps_and_words(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.names == ("M1", "M2")
    assert found.printed["a.y"] == ("2.0", None)
    assert found.frame().rows() == [("M1", 1.0, 2.0, 1.5, 7.0, "words"), ("M2", 3.0, None, 4.0, 8.0, None)]
    assert found.quantity(0, "seen") is not None and found.quantity(0, "seen").half == 0  # type: ignore[union-attr]
    assert (found.describe("a.x").track, found.describe("a.x").dimension) == ("a", "x")
    assert found.describe("mean").role is Role.OVERALL


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (folder(tmp_path) / "notes.md").write_text("not = [", encoding="utf-8")
    assert len(read_tables(tmp_path)) == 1


@pytest.mark.parametrize(
    ("slip", "named"),
    [
        (("rows = ", "row = "), "table.0.row"),
        (('rows = "generator"', 'rows = "picture"'), "table.0.rows"),
        (('direction = "higher"', 'direction = "up"'), "table.0.direction"),
        (('id = "own:1"', 'id = "other:1"'), "table.0.id"),
        (('id = "own:1"', 'id = "one"'), "table.0.id"),
        (('file = "own-1.csv"', 'file = "../x.csv"'), "table.0.file"),
        (('role = "overall"', 'role = "best"'), "table.0.column.2.role"),
        (('title = "A paper"\n', ""), "title"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(tmp_path: Path, slip: tuple[str, str], named: str) -> None:
    folder(tmp_path, MANIFEST.replace(*slip))
    with pytest.raises(InputError) as caught:
        read_manifest(tmp_path / "own.toml")
    assert (caught.value.source, caught.value.column) == (str(tmp_path / "own.toml"), named)


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf"])
def test_a_weight_is_a_finite_number(tmp_path: Path, weight: str) -> None:
    check = CHECK.replace('rule = "mean"', 'rule = "weighted_mean"')
    assert read_manifest(folder(tmp_path, f"{MANIFEST}{check}  weights = [2.5]\n") / "own.toml").table[0].check[0].weights == (
        2.5,
    )
    with pytest.raises(InputError, match=r"table\.0\.check\.0\.weights\.0") as caught:
        read_manifest(folder(tmp_path, f"{MANIFEST}{check}  weights = [{weight}]\n") / "own.toml")
    assert caught.value.source == str(tmp_path / "own.toml")


@pytest.mark.parametrize("content", [b"paper = ", b"\xff\xfe", b""])
def test_a_manifest_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own.toml").write_bytes(content)
    with pytest.raises(InputError, match=r"own\.toml"):
        read_tables(tmp_path)


def test_an_unknown_rule_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    folder(tmp_path, MANIFEST + CHECK.replace('"mean"', '"median"', 1))
    with pytest.raises(InputError, match=r"unknown rule 'median' \(allowed: at_most"):
        read_manifest(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("table", "message", "row", "column"),
    [
        ("model,a.x\nM1,1.0\nM2,1O.0\n", "not a number", 2, "a.x"),
        ("model,a.x\nM1,1.0,2\n", "3 cells where the header has 2", 1, None),
        ("model,a.x\nM1,1\nM1,2\n", "a row needs a name of its own", 2, None),
        ("model,a.x,a.x\nM1,1,1\n", "name each further column once", None, None),
        ("name,a.x\nM1,1\n", "the header must start with the keys", None, None),
        ("model,a.x\n", "followed by rows", None, None),
        ("", "the header must start with the keys", None, None),
        ('model,a.x\n"M1,1\n', "no valid CSV", None, None),
    ],
)
def test_a_wrong_csv_is_refused_with_row_and_column(
    tmp_path: Path, table: str, message: str, row: int | None, column: str | None
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, table=table)
    assert (caught.value.source, caught.value.row, caught.value.column) == (str(tmp_path / "own-1.csv"), row, column)


def test_a_missing_csv_is_named(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "own-1.csv").unlink()
    with pytest.raises(InputError, match=r"own-1\.csv: the table cannot be read"):
        read_tables(tmp_path)


def test_empty_targets_and_inputs_are_left_out_of_a_check(tmp_path: Path) -> None:
    found = read(tmp_path, MANIFEST + CHECK)
    report = check_tables([found], {found.id: found})
    assert [(result.key, result.agreement.value) for result in report.results] == [("M1", "exact")]
    assert report.frame().row(0, named=True)["inputs"] == "a.*"


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        (('target = "mean"', 'target = "median"'), "covers no cell 'median'"),
        (('of = ["a.*"]', 'of = ["c.*"]'), "a reference names no column 'c.\\*'"),
        (('of = ["a.*"]', 'of = ["own:7!a.x"]'), "a reference names no table 'own:7'"),
        (('of = ["a.*"]', 'of = ["a.x@M3"]'), "no such row 'M3'"),
        (('of = ["a.*"]', 'of = ["b.note"]'), "no such numeric column 'b.note'"),
        (('rule = "mean"', 'rule = "weighted_mean"'), "'weighted_mean' cannot be applied to these inputs"),
        (('rule = "mean"\n  target = "mean"\n  of = ["a.*"]', 'rule = "f1"\n  target = "mean"\n  of = ["a.x"]'), "'f1' cannot"),
        (('rule = "mean"', 'rule = "pearson_r"'), "'pearson_r' cannot be applied"),
    ],
)
def test_a_check_that_points_nowhere_is_an_error_and_not_an_agreement(
    tmp_path: Path, slip: tuple[str, str], message: str
) -> None:
    found = read(tmp_path, MANIFEST + CHECK.replace(*slip))
    with pytest.raises(InputError, match=message):
        check_tables([found], {found.id: found})


def test_a_finding_keeps_its_own_reason_and_others_take_that_of_the_check(tmp_path: Path) -> None:
    check = CHECK + '  reason = "general"\n  finding = [{ row = "M2", column = "mean", reason = "own" }]\n'
    found = read(tmp_path, MANIFEST + check, CSV.replace("1.5", "1.9").replace("3.0,,", "3.0,3.0,"))
    report = check_tables([found], {found.id: found})
    assert [(result.key, result.reason) for result in report.findings] == [("M1", "general"), ("M2", "own")]
