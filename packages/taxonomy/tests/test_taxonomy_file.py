"""A user's own TOML file: every fault is one typed error with file, line and key, and no file raises anything else."""

from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_taxonomy import Fault, Taxonomy, TaxonomyError, check_taxonomy
from salon_taxonomy.structure import DEEPEST
from salon_taxonomy.taxonomy_file import parse_toml, read_text
from salon_taxonomy.toml_files import LARGEST_FILE, TomlLines

VALID = '''\
name = "mine"
title = "Mine"
tiers = ["kind", "case"]

[[label]]
id = "hands"
name = "Hands"
definition = "A hand is wrong."

[[label]] # with a comment
id = "fingers"
name = "Fingers"
parent = "hands"
tier = "case"
definition = """
There are too many,
or too few. [[label]] id = "no"
"""
counts = { train = 3, test = 1 }

[[label]]
id = "nails"
name = "Nails"
parent = "hands"
definition = "A nail is wrong."
[label.counts]
train = 2
'''


def fault_of(text: str) -> TaxonomyError:
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.parse(text, source="mine.toml")
    assert caught.value.source == "mine.toml"
    return caught.value


def test_a_valid_file_is_read_with_long_texts_on_one_line() -> None:
    mine = Taxonomy.parse(VALID)
    assert [label.id for label in mine.children("hands")] == ["fingers", "nails"]
    assert mine.find("fingers").definition == 'There are too many, or too few. [[label]] id = "no"'
    assert mine.find("nails").counts == {"train": 2}


@pytest.mark.parametrize(
    ("old", "new", "fault", "line", "key"),
    [
        ('id = "nails"', 'id = "fingers"', Fault.DUPLICATE_ID, 22, "id"),
        ('name = "Nails"\nparent = "hands"', 'name = "Nails"\nparent = "feet"', Fault.UNKNOWN_PARENT, 24, "parent"),
        ('definition = "A hand is wrong."', 'definition = "A hand."\nparent = "nails"', Fault.CYCLE, 9, "parent"),
        ('id = "nails"\nname = "Nails"\nparent = "hands"', 'id = "fingers"\nname = "N"', Fault.TWO_PARENTS, 21, "parent"),
        ('name = "Nails"\nparent = "hands"', 'name = "Nails"\nparent = ["hands", "feet"]', Fault.TWO_PARENTS, 24, "parent"),
        ('definition = "A nail is wrong."\n', "", Fault.MISSING, 21, "definition"),
        ('definition = "A nail is wrong."', 'definition = "  "', Fault.MISSING, 25, "definition"),
        ('definition = "A nail is wrong."', "definition = 3", Fault.WRONG_TYPE, 25, "definition"),
        ("train = 3, test = 1", 'train = 3, test = "1"', Fault.WRONG_TYPE, 19, "counts.test"),
        ("train = 2", "train = -2", Fault.BAD_VALUE, 26, "counts.train"),
        ("train = 2", "train = true", Fault.WRONG_TYPE, 26, "counts.train"),
        ('id = "nails"', 'id = "Nails!"', Fault.BAD_VALUE, 22, "id"),
        ('name = "Nails"', 'name = "Fingers"', Fault.SAME_NAME, 23, "name"),
        ('tier = "case"', 'tier = "kind"', Fault.WRONG_TIER, 14, "tier"),
        ('tier = "case"', 'tier = "sort"', Fault.WRONG_TIER, 14, "tier"),
        ('tier = "case"', 'teir = "case"', Fault.UNKNOWN_KEY, 14, "teir"),
        ('"kind", "case"', '"kind", "kind"', Fault.BAD_VALUE, 3, "tiers"),
        ('title = "Mine"', 'answer_tiers = ["sort"]\ntitle = "Mine"', Fault.BAD_VALUE, 2, "answer_tiers"),
        ('title = "Mine"', 'titel = "Mine"', Fault.MISSING, None, "title"),
        ('name = "mine"', "name = 1979-05-27", Fault.WRONG_TYPE, 1, "name"),
        ('name = "Hands"', 'name = "Hands', Fault.BROKEN_TOML, 7, None),
        ("[[label]]", "[label]", Fault.BROKEN_TOML, 10, None),
        ('name = "Hands"', "name = " + "[" * 5000, Fault.BROKEN_TOML, None, None),
        ("train = 2", "train = " + "9" * 5000, Fault.BROKEN_TOML, None, None),
    ],
)
def test_a_fault_is_named_with_its_kind_line_and_key(
    old: str, new: str, fault: Fault, line: int | None, key: str | None
) -> None:
    assert old in VALID
    error = fault_of(VALID.replace(old, new, 1))
    assert (error.fault, error.key) == (fault, key)
    if line is not None:
        assert error.line == line
        assert f"mine.toml, line {line}" in str(error)


def test_an_unknown_key_is_answered_with_the_keys_that_there_are() -> None:
    error = fault_of(VALID.replace("tier = ", "teir = ", 1))
    assert error.allowed is not None
    assert "tier" in error.allowed


def test_a_cycle_is_shown_once_and_in_full() -> None:
    labels = "".join(
        f'[[label]]\nid = "{a}"\nname = "{a}"\nparent = "{b}"\ndefinition = "x"\n' for a, b in ("ab", "bc", "ca", "da")
    )
    error = fault_of(f'name = "mine"\ntitle = "Mine"\n{labels}')
    assert "a → b → c → a" in str(error)
    assert error.line == 6
    assert error.hint is None


def test_labels_written_inline_are_found_on_the_line_of_their_list() -> None:
    error = fault_of('name = "mine"\ntitle = "Mine"\nlabel = [\n  { id = "a", name = "A" },\n]\n')
    assert (error.fault, error.line, error.key) == (Fault.MISSING, 3, "definition")


@pytest.mark.parametrize("labels", ["", "label = []", "label = 3", "label = [3]", "[label]\nid = 'a'"])
def test_a_file_without_label_tables_is_refused(labels: str) -> None:
    assert fault_of(f'name = "mine"\ntitle = "Mine"\n{labels}').fault in {Fault.MISSING, Fault.WRONG_TYPE}


def test_all_faults_of_a_file_are_listed_in_the_order_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(VALID.replace('title = "Mine"', "title = 3").replace('"A nail is wrong."', "4").replace('"Hands"', '""'))
    assert [(fault.line, fault.key) for fault in check_taxonomy(file)] == [(2, "title"), (7, "name"), (25, "definition")]
    with pytest.raises(TaxonomyError, match="2 more; `salon taxonomy validate` lists all"):
        Taxonomy.read(file)


def label(id_: str, *lines: str) -> str:
    return "\n".join(("[[label]]", f'id = "{id_}"', f'name = "N {id_}"', f'definition = "D {id_}"', *lines, ""))


def faults_of(text: str, folder: Path) -> list[tuple[Fault, str | None]]:
    file = folder / "mine.toml"
    file.write_text(text)
    return [(fault.fault, fault.key) for fault in check_taxonomy(file)]


def test_faults_of_values_and_of_the_tree_are_listed_together(tmp_path: Path) -> None:
    text = 'name = "Mine!"\ntiers = ["kind", "case"]\n'  # no title
    text += label("a", 'tier = "sort"') + label("b", 'parent = "nowhere"', "counts = 3")
    text += label("a") + label("c", 'parent = "d"') + label("d", 'parent = "c"', "aliases = 4") + label("E")
    assert faults_of(text, tmp_path) == [
        (Fault.MISSING, "title"),
        (Fault.BAD_VALUE, "name"),
        (Fault.WRONG_TIER, "tier"),
        (Fault.UNKNOWN_PARENT, "parent"),
        (Fault.WRONG_TYPE, "counts"),
        (Fault.DUPLICATE_ID, "id"),
        (Fault.CYCLE, "parent"),
        (Fault.WRONG_TYPE, "aliases"),
        (Fault.BAD_VALUE, "id"),
    ]


def test_a_faulty_name_answer_or_parent_brings_no_further_faults_with_it(tmp_path: Path) -> None:
    head = 'name = "mine"\ntitle = "Mine"\ntiers = ["kind", "kind"]\n'
    text = head + label("a", 'tier = "sort"') + label("b", "parent = 3") + label("c", 'parent = "b"')
    text += label("d", "answer = 3") + '[[label]]\nid = "e"\nname = 4\ndefinition = "E"\n'
    text += '[[label]]\nid = "f"\nname = "N a"\ndefinition = "F"\nparent = 5\n'
    found = faults_of(text, tmp_path)
    assert found == [
        (Fault.BAD_VALUE, "tiers"),
        (Fault.WRONG_TYPE, "parent"),
        (Fault.WRONG_TYPE, "answer"),
        (Fault.WRONG_TYPE, "name"),
        (Fault.WRONG_TYPE, "parent"),
    ]


def test_labels_in_and_below_a_cycle_have_no_wrong_tier_besides(tmp_path: Path) -> None:
    text = 'name = "mine"\ntitle = "Mine"\ntiers = ["kind", "case"]\n'
    below = 'tier = "kind"'
    text += label("a", 'parent = "b"') + label("b", 'parent = "a"')
    text += label("c", 'parent = "a"', below) + label("d", 'parent = "b"', below)
    text += label("e", 'parent = "e"') + label("f", 'parent = "e"') + label("g", 'parent = "f"', below)
    assert {fault for fault, _ in faults_of(text, tmp_path)} == {Fault.CYCLE}


def chain(length: int) -> str:
    labels = (label(f"l{n}", *([f'parent = "l{n - 1}"'] if n else [])) for n in range(length))
    return 'name = "deep"\ntitle = "Deep"\n' + "".join(labels)


def test_a_branch_longer_than_a_tree_may_be_is_named_once_at_its_first_label_too_many() -> None:
    assert len(Taxonomy.parse(chain(DEEPEST))) == DEEPEST
    error = fault_of(chain(3000))
    assert (error.fault, error.key, error.value, error.hint) == (Fault.TOO_DEEP, "parent", f"l{DEEPEST - 1}", None)
    assert error.line == 3 + DEEPEST * 5 + 3


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes('name = "mine"\ntitle = "Müll"'.encode("latin-1"))
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * LARGEST_FILE)
    assert len(read_text(large)) == LARGEST_FILE
    large.write_bytes(b"#" * (LARGEST_FILE + 1))
    for path, line in ((latin, 2), (large, None), (tmp_path, None), (tmp_path / "none.toml", None), (Path("/dev/zero"), None)):
        with pytest.raises(TaxonomyError) as caught:
            Taxonomy.read(path)
        assert (caught.value.fault, caught.value.line) == (Fault.UNREADABLE, line)
        assert [fault.fault for fault in check_taxonomy(path)] == [Fault.UNREADABLE]
    with pytest.raises(TaxonomyError):
        Taxonomy.read("nul\0byte.toml")


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode())
    assert len(Taxonomy.read(file)) == 3


def test_a_hostile_value_is_shown_without_its_control_characters() -> None:
    error = fault_of(VALID.replace('name = "Nails"', r'name = "\u001b[31mNails"'))
    assert error.fault is Fault.BAD_VALUE
    assert "\x1b" not in str(error)


SHIPPED = [(resources.files("salon_taxonomy") / "taxonomies" / f"{name}.toml").read_text() for name in ("r3", "prism")]
SCRAPS = ['"', "'", '"""', "[", "]]", "[[label]]", "{", "=", "#", "\n", "\\", "id = 1", 'parent = "a"', "nan", "\ud800", "\0"]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid file with a few places cut out, doubled or written over."""
    text = draw(st.sampled_from([VALID, *SHIPPED]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        patch = draw(st.one_of(st.just(""), st.just(text[start:end] * 2), st.sampled_from(SCRAPS), st.text(max_size=8)))
        text = text[:start] + patch + text[end:]
    return text


@settings(max_examples=60, deadline=None)
@given(mutated())
def test_a_mutated_file_is_a_taxonomy_or_a_typed_error(text: str) -> None:
    try:
        taxonomy = Taxonomy.parse(text, source="mine.toml")
    except TaxonomyError as error:
        assert error.source == "mine.toml"
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
    else:
        assert set(taxonomy.walk()) == set(taxonomy.labels)


IDS = st.sampled_from(["a", "b", "c", "d", "e"])
ENTRIES = st.lists(st.tuples(IDS, st.none() | IDS), min_size=1, max_size=6)


@settings(deadline=None)
@given(ENTRIES)
def test_labels_are_accepted_exactly_when_they_are_a_tree(entries: list[tuple[str, str | None]]) -> None:
    text = 'name = "mine"\ntitle = "Mine"\n'
    for number, (id_, parent) in enumerate(entries):
        above = f'parent = "{parent}"\n' if parent else ""
        text += f'[[label]]\nid = "{id_}"\nname = "N{number}"\ndefinition = "D{number}."\n{above}'
    parents = dict(entries)
    is_tree = len(parents) == len(entries) and all(ends_at_a_root(id_, parents) for id_ in parents)
    if is_tree:
        assert len(Taxonomy.parse(text)) == len(entries)
    else:
        assert fault_of(text).line is not None


def ends_at_a_root(id_: str, parents: dict[str, str | None]) -> bool:
    for _ in range(len(parents)):
        above = parents[id_]
        if above is None:
            return True
        if above not in parents:
            return False
        id_ = above
    return False


@given(st.lists(st.sampled_from([*"[]{}=\"'#\n\\,. ab1", '"""', "'''"]), max_size=80).map("".join))
def test_the_line_scanner_never_fails_on_any_text(text: str) -> None:
    lines = TomlLines.scan(text)
    assert all(1 <= line <= text.count("\n") + 1 for line in (*lines.tables.values(), *lines.keys.values()))


@given(st.integers(0, 6), st.integers(0, 3))
def test_text_that_is_no_toml_is_named_by_its_line_and_by_the_last_one_where_it_ends_too_soon(before: int, after: int) -> None:
    lines = [f"key{number} = {number}" for number in range(before + after)]
    broken = [*lines[:before], "key = = 1", *lines[before:]]
    with pytest.raises(TaxonomyError) as caught:
        parse_toml("\n".join(broken), source="x.toml")
    assert caught.value.line == before + 1 and "at line" not in caught.value.problem
    with pytest.raises(TaxonomyError) as caught:
        parse_toml("\n".join([*lines, "list = ["]), source="x.toml")
    assert caught.value.line == len(lines) + 1
