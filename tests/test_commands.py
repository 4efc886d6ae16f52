"""Every command teaches: it has help, its options say what they do, and it is in the list. None replaces its input.

After a change of a command: ``python tests/test_commands.py`` writes ``tests/commands.txt`` again.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_console.file_options import InputPath, OutputPath, RunOrFile, refuse_overwriting
from salon_console.lazy_commands import LazyGroup
from salon_console.options import FiniteRange
from salon_taxonomy.errors import InputError

TREE = Path(__file__).with_name("commands.txt")


def commands(command: click.Command, words: tuple[str, ...] = ("salon",)) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and everything beneath it, with the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from commands(found, (*words, name))


ALL = list(commands(main))
LISTED = [(words, command) for words, command in ALL if isinstance(command, LazyGroup)]
HEAVY = {
    "PIL",
    "av",
    "duckdb",
    "jinja2",
    "numpy",
    "polars",
    "scipy",
    "sqlalchemy",
    "starlette",
    "torch",
    "transformers",
    "trl",
    "uvicorn",
}


def test_no_path_may_be_empty() -> None:
    """An unset variable of a shell would otherwise name the current folder."""
    paths = [each for _, command in ALL for each in command.params if isinstance(each.type, InputPath | OutputPath)]
    assert len(paths) > 100
    for each in paths:
        if not isinstance(each.type, RunOrFile):
            with pytest.raises(InputError, match="an empty name"):
                each.type.convert("", each, None)


def test_every_range_of_numbers_refuses_nan() -> None:
    ranges = [(words, each) for words, command in ALL for each in command.params if isinstance(each.type, click.FloatRange)]
    assert len(ranges) > 5
    assert [(words, each.name) for words, each in ranges if not isinstance(each.type, FiniteRange)] == []


def listed() -> str:
    """Every command with its arguments and options, one command a line."""
    lines = []
    for words, command in ALL:
        if isinstance(command, click.Group):
            continue
        parameters = [each.make_metavar(click.Context(command)) if isinstance(each, click.Argument) else max(each.opts, key=len)
                      for each in command.params]  # fmt: skip
        lines.append(" ".join([*words, *parameters]))
    return "".join(f"{line}\n" for line in sorted(lines))


@for_each(("words", "command"), ALL)
def test_every_command_and_option_has_help(words: tuple[str, ...], command: click.Command) -> None:
    assert (command.help or "").strip(), words
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), (*words, parameter.name)


@for_each("words", [words for words, _ in ALL])
def test_every_command_answers_help_and_refuses_an_unknown_option(words: tuple[str, ...]) -> None:
    runner = CliRunner()
    shown = runner.invoke(main, [*words[1:], "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.output
    refused = runner.invoke(main, [*words[1:], "--no-such-option"])
    assert refused.exit_code == 2
    assert "--no-such-option" in refused.output


@pytest.mark.parametrize(("words", "group"), LISTED, ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_the_list_of_a_group_says_what_each_command_says_of_itself(words: tuple[str, ...], group: LazyGroup) -> None:
    context = click.Context(group)
    named = {name: said for name in group.list_commands(context) if (said := group.short_help_of(name)) is not None}
    loaded = {name: group.load(context, name) for name in named}
    assert named, words
    assert named == {name: command.get_short_help_str(1000) for name, command in loaded.items() if command is not None}


@pytest.mark.parametrize("words", [words for words, _ in LISTED], ids=" ".join)
def test_the_list_of_a_group_imports_no_heavy_library(words: tuple[str, ...]) -> None:
    call = f"main({[*words[1:], '--help']}, standalone_mode=False)"
    code = f"import sys; from salon_console import main; {call}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert "salon_taxonomy" in imported
    assert not HEAVY & imported


def help_examples() -> Iterator[tuple[click.Command, tuple[str, ...], str]]:
    """Every line of every help that calls salon, with the command that it calls and the words behind it."""
    for words, command in ALL:
        for line in re.sub(r"\s*\\\n\s*", " ", command.help or "").splitlines():
            for part in re.split(r" && | \| ", line.strip()):
                if part.startswith("salon "):
                    given = shlex.split(re.split(r" > |  +", part)[0])[1:]
                    called = max(
                        (each for each in ALL if tuple(given[: len(each[0]) - 1]) == each[0][1:]), key=lambda each: len(each[0])
                    )
                    yield called[1], tuple(given[len(called[0]) - 1 :]), " ".join(words)


def test_every_example_of_a_help_has_options_and_values_that_the_command_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(InputPath, "_check", lambda *_: None)
    monkeypatch.setattr(click.core, "prompt", lambda *_, **__: "a password")
    for name in ("published", "space"):
        (tmp_path / name).mkdir()
    examples, wrong = list(help_examples()), []
    assert len(examples) > 220
    for command, words, where in examples:
        if not isinstance(command, click.Group):
            try:
                with command.make_context("salon", list(words)):
                    pass
            except (click.UsageError, InputError) as error:
                wrong.append(f"help of {where}: {shlex.join(words)}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_tree_of_commands_changes_by_intention_only() -> None:
    assert TREE.read_text(encoding="utf-8") == listed()


CONTENT = b"model_a,model_b,winner\nx,y,tie\n"


def spellings(path: Path) -> list[Path]:
    """Other names of one file or folder: itself, longer, relative, by a symbolic link and, of a file, by a hard link."""
    soft, hard = path.with_name(f"soft{path.suffix}"), path.with_name(f"hard{path.suffix}")
    soft.symlink_to(path)
    if path.is_file():
        hard.hardlink_to(path)
    found = [path, path.parent / "elsewhere" / ".." / path.name, Path(os.path.relpath(path)), soft, hard]
    return [name for name in found if name.exists()]


def pairs() -> Iterator[tuple[tuple[str, ...], click.Parameter, click.Parameter]]:
    """Every output of every command, with each other path of that command that may be the same file or folder."""
    for words, command in ALL:
        paths = [parameter for parameter in command.params if isinstance(parameter.type, InputPath | OutputPath)]
        for output in paths:
            if isinstance(output.type, OutputPath):
                same_kind = "file_okay" if output.type.file_okay else "dir_okay"
                yield from ((words, output, other) for other in paths if other is not output and getattr(other.type, same_kind))


PAIRS = list(pairs())


def given(parameter: click.Parameter, value: Path) -> list[str]:
    return [str(value)] if isinstance(parameter, click.Argument) else [parameter.opts[0], str(value)]


def _before(words: tuple[str, ...], argument: click.Parameter, folder: Path) -> list[str]:
    """Return a file or folder for each argument of a command that comes before this one."""
    if not isinstance(argument, click.Argument):
        return []
    file = folder / "file.csv"
    file.write_bytes(CONTENT)
    arguments = [each for each in dict(ALL)[words].params if isinstance(each, click.Argument)]
    return [str(file if getattr(each.type, "file_okay", True) else folder) for each in arguments[: arguments.index(argument)]]


def _ending(output: click.Parameter, wanted: str) -> str:
    """The wanted ending of a table, or another that the output may have."""
    allowed = getattr(output.type, "endings", None) or (wanted,)
    return next(ending for ending in (wanted, ".csv", ".json", ".jsonl", *allowed) if ending in allowed)


def test_every_path_of_every_command_is_declared_as_input_or_output() -> None:
    undeclared = [
        (*words, parameter.name)
        for words, command in ALL
        for parameter in command.params
        if isinstance(parameter.type, click.Path | click.File) and not isinstance(parameter.type, InputPath | OutputPath)
    ]
    assert undeclared == []
    assert len(PAIRS) > 40


@for_each(("words", "output", "other"), PAIRS)
def test_no_command_overwrites_its_input_or_its_other_output(
    words: tuple[str, ...], output: click.Parameter, other: click.Parameter, tmp_path: Path
) -> None:
    path = tmp_path / f"mine{_ending(output, '.csv')}"
    (tmp_path / "elsewhere").mkdir()
    if output.type.file_okay:  # type: ignore[attr-defined]
        path.write_bytes(CONTENT)
    else:
        path.mkdir()
    for name in spellings(path):
        for order in (1, -1):
            both = [[*_before(words, other, path.parent / "elsewhere"), *given(other, path)], given(output, name)][::order]
            done = CliRunner().invoke(main, [*words[1:], *both[0], *both[1]])
            assert (done.exit_code, "would overwrite" in done.stderr) == (2, True), done.stderr
            assert path.is_dir() or path.read_bytes() == CONTENT


def test_names_of_files_that_are_still_to_be_made_are_compared_as_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    for one, other in (("a.csv", "./a.csv"), ("a.csv", "link/a.csv"), ("caf\u00e9.csv", "cafe\u0301.csv")):
        with pytest.raises(InputError, match="would overwrite --output"):
            refuse_overwriting({"--output": Path(one), "--records": Path(other)}, {})
    refuse_overwriting({"--output": Path("a.csv"), "--records": Path("b.csv")}, {"INPUT": Path("c.csv")})


@pytest.mark.parametrize(
    "read",
    [lambda folder: folder, lambda folder: folder / "*.csv", lambda folder: folder / "vo**.csv"],
    ids=["folder", "pattern", "two stars"],
)
def test_a_file_of_a_folder_or_pattern_that_is_read_is_an_input(tmp_path: Path, read: Callable[[Path], Path]) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(CONTENT)
    done = CliRunner().invoke(main, ["votes", "rank", str(read(tmp_path)), "--output", str(path)])
    assert (done.exit_code, path.read_bytes()) == (2, CONTENT)
    assert "would overwrite INPUT" in done.stderr


FOLDERS = [
    (words, output, other)
    for words, output, other in PAIRS
    if output.type.file_okay and getattr(other.type, "tables", False)  # type: ignore[attr-defined]
]


@for_each(("words", "output", "other"), FOLDERS)
def test_no_command_writes_a_new_table_into_a_folder_that_it_reads(
    words: tuple[str, ...], output: click.Parameter, other: click.Parameter, tmp_path: Path
) -> None:
    deep = tmp_path / "deep"
    for folder, name in ((tmp_path / "flat", "new.csv"), (deep, "june/new.parquet")):
        name = str(Path(name).with_suffix(_ending(output, Path(name).suffix)))
        (folder / name).parent.mkdir(parents=True)
        table = (folder / name).with_name("votes.csv")
        table.write_bytes(CONTENT)
        for order in (1, -1):
            both = [given(other, folder), given(output, folder / name)][::order]
            done = CliRunner().invoke(main, [*words[1:], *both[0], *both[1]])
            assert (done.exit_code, "would become a file of" in done.stderr) == (2, True), done.stderr
            assert [path for path in folder.rglob("*") if path.is_file()] == [table]


def known_sets() -> dict[str, Iterable[str]]:
    """Command lines with a wrong name in place of ``{}``, and all names that would have been right there."""
    from salon_curate.presets import PRESETS
    from salon_curate.ray_engine import ENGINES
    from salon_judges.clients.specification import judge_kinds
    from salon_taxonomy import Taxonomy
    from salon_taxonomy.plugins import EDITORS, SCORERS, installed
    from salon_taxonomy.records import TABLES

    suites, tables, taxonomies = installed("salon.suites"), list(TABLES), Taxonomy.names()
    pictures = "--model a --generations ."
    return {
        f"bench run {{}} {pictures} --judge pixels:": suites,
        f"bench run prism {pictures} --judge {{}}": judge_kinds(),
        f"bench run scorer {pictures} --scorer {{}}": installed(SCORERS),
        "bench generate --suite {} --generator draw: --output o": suites,
        "results leaderboard {}": suites,
        "refine --prompt a --image votes.csv --judge pixels: --editor {}": installed(EDITORS),
        "curate init d --preset {}": PRESETS,
        "curate run set --engine {}": ENGINES,
        "curate yield set --selection {}": ("default", "sharp"),
        "taxonomy show {}": taxonomies,
        "store schema {}": tables,
        "store sql results 'SELECT * FROM {}'": tables,
        "reward score votes.csv --reward {}": ("l1", "l2", "l3", "magicmirror"),
    }


def test_a_name_of_a_known_set_is_answered_with_all_of_the_set_and_the_nearest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_bytes(CONTENT)
    Path("p.csv").write_text("prompt\na\n")
    for made in ("store init results", "curate init set"):
        assert CliRunner().invoke(main, shlex.split(made)).exit_code == 0
    conditions = '[[stage]]\nuse = "look"\n[selection.default]\na = "sharpness > 1"\n[selection.sharp]\na = "sharpness > 2"\n'
    Path("set/pipeline.toml").write_text(conditions)
    for line, names in known_sets().items():
        near = next(iter(names))
        done = CliRunner().invoke(main, shlex.split(line.format(f"{near}x")))
        assert done.exit_code == 2, (line, done.output)
        assert [name for name in names if name not in done.stderr] == [], (line, done.stderr)
        assert re.search(rf"Did you mean ['\"]{near}", done.stderr), (line, done.stderr)


READ = [
    (words, parameter)
    for words, command in ALL
    for parameter in command.params
    if isinstance(parameter.type, InputPath) and not parameter.type.made
]
"""Every path of every command that must be there."""


def filled(parameter: click.Parameter, hostile: Path) -> str:
    """A value that a required parameter takes; each input is the hostile file, or an empty folder."""
    kind, folder = parameter.type, hostile.parent
    if isinstance(kind, OutputPath):
        return str(folder / f"out{_ending(parameter, '.csv')}")
    if isinstance(kind, InputPath):
        return str(folder / "made" if kind.made else hostile if kind.file_okay else folder / "empty")
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    words = {
        "judge": "pixels:",
        "judges": "pixels:",
        "policy": "pixels:",
        "editor": "draw",
        "suite_name": "prism",
        "name": "l1",
    }
    return words.get(parameter.name or "", "1")


@for_each(("words", "parameter"), READ)
def test_a_path_that_is_missing_or_of_the_wrong_kind_is_named_with_what_is_there(
    words: tuple[str, ...], parameter: click.Parameter, tmp_path: Path
) -> None:
    kind = parameter.type
    assert isinstance(kind, InputPath)
    (tmp_path / "empty").mkdir()
    (tmp_path / "votes.june.csv").write_bytes(CONTENT)
    near, far, nowhere = tmp_path / "vote.june.csv", tmp_path / "pictures.csv", tmp_path / "none" / "votes.csv"
    hints = {near: "Did you mean 'votes.june.csv'?", far: "votes.june.csv", nowhere: "There is no folder"}
    said = {path: f"{path}: there is no such f" for path in hints}
    wrong = [
        (kind.dir_okay, tmp_path, "is a folder, not a file"),
        (kind.file_okay, tmp_path / "votes.june.csv", "is a file, not"),
    ]
    said |= {path: f"{path}: {problem}" for allowed, path, problem in wrong if not allowed}
    for path, problem in said.items():
        arguments = [each for each in dict(ALL)[words].params if isinstance(each, click.Argument)]
        before = arguments[: arguments.index(parameter)] if parameter in arguments else []
        texts = [text for each in before for text in given(each, Path(filled(each, tmp_path / "votes.june.csv")))]
        done = CliRunner().invoke(main, [*words[1:], *texts, *given(parameter, path)])
        assert (done.exit_code, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(f"Error: {problem}"), done.stderr
        assert hints.get(path, "") in done.stderr
        assert not isinstance(parameter, click.Option) or parameter.opts[0] in done.stderr
    assert len(READ) > 80


@for_each(
    ("word", "command"),
    [
        ("rank", "salon votes rank"),
        ("serve", "salon arena serve"),
        ("report", "salon results report"),
        ("compare", "salon results compare"),
        ("judge", "salon bench run"),
        ("label", "salon arena serve --task labels"),
        ("push", "salon results card"),
    ],
)
def test_a_word_that_is_a_command_of_a_group_is_answered_with_it(word: str, command: str) -> None:
    refused = CliRunner().invoke(main, [word, "file"])
    assert refused.exit_code == 2
    assert f"`{command}`" in " ".join(refused.stderr.replace("│", " ").split())
    group, name = command.split()[1:3]
    shown = CliRunner().invoke(main, [group, name, "--help"])
    assert shown.exit_code == 0, shown.output


HOSTILE = {"empty": b"", "binary": bytes(range(256)) * 40, "damaged gzip": b"\x1f\x8b\x08\x00no", "prose": b"what is this?\n"}
SERVING = {"serve", "mock-server", "demo"}


@pytest.mark.slow
@for_each(("words", "parameter"), [each for each in READ if each[1].type.file_okay and not SERVING & {*each[0]}])  # type: ignore[attr-defined]
def test_a_file_of_anything_else_is_refused_in_words(
    words: tuple[str, ...], parameter: click.Parameter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    command = dict(ALL)[words]
    for content in HOSTILE.values():
        for ending in (".csv", ".jsonl", ".toml"):
            hostile = tmp_path / f"hostile{ending}"
            hostile.write_bytes(content)
            required = [each for each in command.params if each.required and each is not parameter]
            others = [text for each in required for text in given(each, Path(filled(each, hostile)))]
            done = CliRunner().invoke(main, [*words[1:], *given(parameter, hostile), *others])
            assert (type(done.exception), done.exit_code in (1, 2)) == (SystemExit, True), (ending, content, done.output)
            assert "Error" in done.stderr


if __name__ == "__main__":
    TREE.write_text(listed(), encoding="utf-8")
