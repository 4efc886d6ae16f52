"""Files as others released them: each loads as it is, and one bad row costs that row alone, counted and named.

``released/`` holds a small file of each format's shape (columns, kinds of values, oddities); the words in it are ours.
"""

import asyncio
import csv
import json
import shutil
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from for_each import for_each
from salon_bench.refine.items import read_refine_items
from salon_bench.runs.plan import RunPlan, SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites import suite_named
from salon_bench.suites.assessors import read_labels
from salon_bench.suites.r3_bench import read_items
from salon_console.table_rows import UsableRows
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply

RELEASED = Path(__file__).with_name("released")


@dataclass(frozen=True)
class Format:
    """One released format: its file, who reads it, and the columns without which a row says nothing."""

    name: str
    file: str
    suite: str
    needed: tuple[str, ...]
    rows: int = 3

    def copy(self, folder):
        """A copy to change: the file, and what is given as --prompts (the folder, where the format is one)."""
        source = RELEASED / self.file
        if source.parent == RELEASED:
            return Path(shutil.copy(source, folder)), folder / source.name
        shutil.copytree(source.parent, folder / source.parent.name)
        return folder / self.file, folder / source.parent.name

    def read(self, source):
        """Ids and facts of the usable prompts, and the rows left out."""
        found = suite_named(self.suite).prompts(source)
        assert isinstance(found, UsableRows)
        return found


FORMATS = (
    Format("R³-Bench", "r3bench.jsonl", "r3-reflect", ("idx", "original_prompt", "bad_image", "answer", "category"), 4),
    Format("MagicBench", "subject_prompt800.jsonl", "magicbench", ("prompt_t2i", "subject", "class", "detail_class")),
    *(
        Format(f"Artifact-Bench {n}", f"artifact_bench/task{n}_meta.jsonl", "artifact-bench", needed, 9)
        for n, needed in enumerate(
            [("task_type", "sample_id", "video_path", "answer", "level")] * 2
            + [("task_type", "sample_id", "video_path", "option", "answer", "level")],
            1,
        )
    ),
    *(
        Format(f"PRISM-Bench {track}{ending}", f"prism_captions/{track}.jsonl", f"prism{ending}", ("prompt",), 6)
        for track in ("imagination", "text_rendering")
        for ending in ("", "-zh")
    ),
    Format("MagicData340K", "magic_mirror_data_test.jsonl", "magicdata", ("images", "response")),
    Format("MagicData340K CoT", "magic_mirror_data_cot.jsonl", "magicdata", ("images", "response")),
    Format("Magic-Bench-377", "magic_bench_dataset.csv", "magic-bench-377", ("Prompt_text_en", "Application Scenario")),
    Format("Magic-Bench-377 zh", "magic_bench_dataset.csv", "magic-bench-377-zh", ("Prompt_text_cn", "Application Scenario")),
    Format("Magic-Bench-377 battles", "magic_bench_dataset.csv", "magic-bench-377-battles-zh", ("Prompt_text_cn",)),
)
BROKEN = ("", None, [], {"x": 1}, 7.5, "\x00", "x" * 30_000, "\ud800", [None], True)
"""What a cell may hold that it should not."""

each_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def table(path):
    """The rows of a file as dictionaries."""
    if path.suffix == ".csv":
        return list(csv.DictReader(StringIO(path.read_text("utf-8-sig"))))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path, rows):
    if path.suffix == ".csv":
        text = StringIO()
        writer = csv.DictWriter(text, rows[0].keys())
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
        path.write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def facts(found):
    return [(each.prompt, each.facts) for each in found]


@each_format
def test_a_released_file_loads_as_it_is(form):
    source = RELEASED / form.file
    found = form.read(source if source.parent == RELEASED else source.parent)
    assert (len(found), found.left_out, found.remarks()) == (form.rows, (), ())
    assert len({each.prompt.prompt_id for each in found}) == form.rows


@each_format
@for_each("value", [*BROKEN, "missing"])
def test_one_bad_cell_costs_its_row_alone(form, value, tmp_path):
    file, source = form.copy(tmp_path)
    golden, whole = facts(form.read(source)), table(file)
    for column in whole[1]:
        changed = dict(whole[1])
        if value == "missing":
            if file.suffix == ".csv":
                continue  # a CSV file has all of its columns
            del changed[column]
        else:
            changed[column] = value
        write(file, [whole[0], changed, *whole[2:]])
        found = form.read(source)
        assert len(found) + len(found.left_out) == form.rows, column
        others = [each for each in facts(found) if each in golden]
        assert len(others) >= form.rows - 1, column
        if column in form.needed and value in ("", None, "missing"):
            assert len(found.left_out) == 1, column
        for bad in found.left_out:
            assert bad.number == 2, column
            first, second = found.remarks()
            assert first.startswith(f"1 of {form.rows} rows of {source.name} ")
            assert second.startswith("row 2: "), second


@each_format
@for_each("line", [b"{", b"[1]", b'{"a": "\xff"}', b'"text"', b"{}", b"," * 40])
def test_a_line_that_is_no_row_costs_that_line(form, line, tmp_path):
    file, source = form.copy(tmp_path)
    golden = facts(form.read(source))
    lines = file.read_bytes().splitlines()
    last = len(lines) if file.suffix == ".csv" else len(lines) + 1
    file.write_bytes(b"\n".join([*lines, line]) + b"\n")
    found = form.read(source)
    assert (facts(found), [bad.number for bad in found.left_out]) == (golden, [last])


@each_format
def test_a_file_without_a_usable_row_says_what_is_wrong_with_the_first(form, tmp_path):
    file, source = form.copy(tmp_path)
    if source.is_dir():
        for other in source.iterdir():
            other.unlink() if other != file else None
    write(file, [dict.fromkeys(row, "") for row in table(file)])
    with pytest.raises(InputError) as caught:
        form.read(source)
    assert caught.value.row == 1


@each_format
def test_the_plan_of_a_run_keeps_what_was_left_out(form, tmp_path):
    file, source = form.copy(tmp_path)
    with file.open("ab") as more:
        more.write(b"{\n")
    suite = suite_named(form.suite)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    subjects = [SubjectModel("one", pictures)]
    if "artifact" not in form.suite:
        ids = [each.prompt.prompt_id for each in suite.prompts(source)]
        listed = "".join(f"{prompt_id},x{n}.png\n" for n, prompt_id in enumerate(ids))
        for name in ("one", "two"):
            (pictures / f"{name}.csv").write_text("prompt_id,path\n" + listed)
        subjects = [SubjectModel(name, pictures / f"{name}.csv") for name in ("one", "two")]
    plan = planned(suite, subjects, Silent(), prompts=source).plan
    assert plan.left_out == suite.prompts(source).remarks()
    assert len(plan.left_out) == 2
    assert RunPlan.from_settings(plan.run_id, plan.settings()).left_out == plan.left_out


class Silent:
    """A judge that gives every picture the same marks."""

    name, version = "silent", "1"

    async def ask(self, question):
        return Reply('{"justification": "Fine.", "score": 5}', version=self.version)


def test_the_summary_of_a_run_names_the_rows_that_were_left_out(tmp_path):
    file, source = FORMATS[5].copy(tmp_path)
    with file.open("a") as more:
        more.write('{"prompt": ""}\n{"caption": "no prompt"}\n{"prompt": ""}\n')
    suite = suite_named("prism")
    (tmp_path / "pictures.csv").write_text("prompt_id,path\nimagination-0,none.png\n")
    plan = planned(suite, [SubjectModel("ours", tmp_path / "pictures.csv")], Silent(), prompts=source)
    asyncio.run(execute(plan, Silent(), tmp_path / "store", keep_lost=True))
    [found] = RunView(tmp_path / "store", plan.plan.run_id).summaries(suite)
    assert found.summary.notes[-3:] == (
        "3 of 9 rows of prism_captions cannot be used and are left out:",
        "rows 4, 6: column 'prompt': must hold text, not ''",
        "row 5: column 'prompt': the column is missing",
    )


def test_numbers_of_pictures_do_not_move_when_a_row_is_bad(tmp_path):
    file, source = FORMATS[5].copy(tmp_path)
    golden = facts(FORMATS[5].read(source))
    lines = file.read_text().splitlines()
    for broken in ("{", '{"prompt": " "}'):
        file.write_text("\n".join([lines[0], broken, lines[2]]) + "\n")
        assert facts(FORMATS[5].read(source)) == [golden[0], *golden[2:]]


def test_items_to_refine_and_labels_of_assessors_lose_only_their_bad_rows(tmp_path):
    items, labels = tmp_path / "r3bench.jsonl", tmp_path / "magic_mirror_data_test.jsonl"
    for path in (items, labels):
        shutil.copy(RELEASED / path.name, path)
        with path.open("a") as more:
            more.write('{"images": "images/000009.jpg", "response": "?"}\n')
    for found in (read_refine_items(items), read_items(items)):
        assert (len(found), [bad.number for bad in found.left_out]) == (4, [5])
    truth = read_labels(labels, truth=True)
    assert (len(truth.outcomes), truth.unreadable) == (3, {"images/000009.jpg"})
    assert truth.remarks()[0] == "1 of 4 rows of magic_mirror_data_test.jsonl cannot be used and is left out:"


def test_labels_of_the_released_columns_are_merged_in_both_languages():
    source = RELEASED / "magic_bench_dataset.csv"
    english, chinese = (suite_named(f"magic-bench-377{ending}").prompts(source) for ending in ("", "-zh"))
    assert [each.prompt.labels for each in english] == [
        ("Negation", "Quantity", "Style"),
        ("Layout & Typography", "Aesthetic"),
        ("Anti-Realism", "Action / State", "Atmosphere"),
    ]
    assert [each.prompt.scenario for each in english] == ["Art", "Functional Design", "Film"]
    assert [each.prompt.labels for each in chinese] == [each.prompt.labels for each in english]
    assert [each.facts for each in chinese] == [each.facts for each in english]
    assert [each.prompt.prompt_id for each in chinese] == ["mb377-001-zh", "mb377-002-zh", "mb377-003-zh"]
    assert {each.prompt.language for each in english} | {each.prompt.language for each in chinese} == {"en", "zh"}
    assert all(("一" <= each.prompt.text[-1] <= "鿿") for each in chinese)
