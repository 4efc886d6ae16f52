"""The ``salon`` command of this package: what goes to which stream, which exit code, and what a mistake is told."""

import errno
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result
from rich.text import Text

from salon_console import COMMANDS, lazy_commands, main
from salon_console import doctor as doctor_module
from salon_console import taxonomy as taxonomy_module
from salon_console.doctor import MachineCheck
from salon_console.file_options import InputPath, OutputPath
from salon_console.options import resumable
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import InputError
from salon_taxonomy.structure import DEEPEST

MINE = 'name = "mine"\ntitle = "Mine [bold]"\n[[label]]\nid = "a"\nname = "A [red]a[/red]"\ndefinition = "An [a]."\n'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    return file


def test_a_disk_that_takes_nothing_and_a_key_that_stops_are_answered_wherever_a_command_meets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[tuple[BaseException, bool, int, str]] = [
        (OSError(errno.EROFS, "Read-only file system", "out/a.csv"), False, 1, "Make out writable, then run the same command"),
        (OSError(errno.ENOSPC, "No space left on device"), True, 1, "Free the disk, then run the same command again."),
        (KeyboardInterrupt(), True, 130, "Stopped. The same command again continues."),
        (KeyboardInterrupt(), False, 130, "Aborted."),
    ]
    for error, continues, code, said in ends:

        def end(error: BaseException = error, **_: object) -> None:
            raise error

        monkeypatch.setattr(main.commands["completion"], "callback", resumable(end) if continues else end)
        done = run("completion", "bash")
        assert (done.exit_code, done.stdout, said in done.stderr) == (code, "", True), done.stderr
    monkeypatch.setattr(main.commands["completion"], "callback", lambda **_: Path("no/such/file").stat())
    with pytest.raises(FileNotFoundError):  # a mistake of our own keeps its traceback
        run("completion", "bash")


def test_list_names_every_taxonomy() -> None:
    assert all(name in run("taxonomy", "list").stdout for name in Taxonomy.names())
    rows = json.loads(run("taxonomy", "list", "--format", "json").stdout)
    assert {row["name"]: row["leaves"] for row in rows}["artifact-bench"] == 30


@pytest.mark.parametrize("name", Taxonomy.names())
def test_show_prints_a_tree_or_json_of_every_label(name: str) -> None:
    shown = run("taxonomy", "show", name)
    assert shown.exit_code == 0
    assert all(label.id in shown.stdout for label in Taxonomy.load(name).labels)
    assert Taxonomy.model_validate_json(run("taxonomy", "show", name, "--format", "json").stdout) == Taxonomy.load(name)


def test_brackets_in_a_users_labels_are_shown_as_they_are(mine: Path) -> None:
    shown = run("taxonomy", "show", str(mine)).stdout
    assert "Mine [bold]" in shown
    assert "A [red]a[/red]" in shown
    assert "An [a]." in shown


def test_the_deepest_tree_is_shown_whole_and_a_deeper_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.toml"
    head = 'name = "deep"\ntitle = "Deep"\n'
    labels = [f'[[label]]\nid = "l{n}"\nname = "Label {n}"\ndefinition = "D"\n' for n in range(3000)]
    labels[1:] = [f'{text}parent = "l{n}"\n' for n, text in enumerate(labels[1:])]
    file.write_text(head + "".join(labels[:DEEPEST]))
    shown = run("taxonomy", "show", str(file)).stdout
    assert all(f"Label {n}  l{n}\n" in shown.replace(" \n", "\n") for n in range(DEEPEST))
    file.write_text(head + "".join(labels))
    for arguments in (["validate"], ["show"], ["show", "--format", "label-studio"], ["show", "--format", "json"]):
        refused = run("taxonomy", *arguments, str(file))
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "a label has at most 31 labels above it" in refused.stderr


def test_schema_is_json_and_takes_options() -> None:
    assert "anyOf" in json.loads(run("taxonomy", "show", "magicmirror", "--format", "json-schema").stdout)
    schema = json.loads(
        run("taxonomy", "show", "artifact-bench", "--format", "json-schema", "--option", "Oversmoothing").stdout
    )
    assert schema["properties"]["answer"]["items"]["enum"] == ["A"]


def test_show_prints_or_writes_the_same(tmp_path: Path) -> None:
    target = tmp_path / "labels.xml"
    printed = run("taxonomy", "show", "mef", "--format", "label-studio").stdout
    written = run("taxonomy", "show", "mef", "--format", "label-studio", "--output", str(target))
    assert target.read_text() == printed
    assert (written.stdout, written.exit_code) == ("", 0)
    assert str(target) in written.stderr
    assert ElementTree.fromstring(printed).tag == "View"
    tree = run("taxonomy", "show", "mef", "--output", str(target))
    assert (tree.exit_code, tree.stdout) == (2, "")


def test_a_file_in_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    refused = run("taxonomy", "show", "r3", "--format", "markdown", "--output", str(tmp_path / "no" / "file.md"))
    assert refused.exit_code == 2
    assert "cannot be written" in refused.stderr


def test_validate_says_what_is_valid_and_lists_every_fault(mine: Path) -> None:
    valid = run("taxonomy", "validate", str(mine))
    assert (valid.exit_code, valid.stdout) == (0, "mine is valid (labels: 1, leaves: 1)\n")
    mine.write_text(MINE.replace('id = "a"', 'id = "A"').replace("definition", "definitoin"))
    invalid = run("taxonomy", "validate", str(mine))
    assert (invalid.exit_code, invalid.stdout) == (2, "")
    assert f"{mine}, line 4, key 'id'" in invalid.stderr
    assert f"{mine}, line 6, key 'definitoin'" in invalid.stderr
    assert "3 faults" in invalid.stderr


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"= 1"])
def test_validate_refuses_what_is_no_taxonomy_at_all(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.toml"
    file.write_bytes(content)
    refused = run("taxonomy", "validate", str(file))
    assert refused.exit_code == 2
    assert "odd.toml" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "magicmiror"], "allowed: artifact-bench, magicmirror, mef, prism, r3"),
        (["show", "none.toml"], "there is no such file"),
        (["show", ""], "no such taxonomy"),
        (["show", "r3", "--format", "json-schema", "--option", "color"], "options belong to the grammar 'letters'"),
        (["show", "r3", "--option", "color"], "--option needs --format json-schema"),
        (["show", "r3", "--format", "yaml"], "yaml"),
        (["lsit"], "lsit"),
    ],
)
def test_a_mistake_exits_2_with_a_message_on_standard_error(arguments: list[str], message: str) -> None:
    refused = run("taxonomy", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str) -> None:
    done = run("completion", shell)
    assert done.exit_code == 0
    assert "_SALON_COMPLETE" in done.stdout


def test_completion_of_a_word_offers_the_subcommands() -> None:
    environment = {**os.environ, "_SALON_COMPLETE": "bash_complete", "COMP_WORDS": "salon taxonomy s", "COMP_CWORD": "2"}
    code = "import sys; sys.argv = ['salon']; from salon_console import main; main(prog_name='salon')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert sorted(line.split(",")[1] for line in done.stdout.split()) == ["show"]


def test_a_package_that_cannot_be_imported_does_not_take_the_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint(name="broken", value="no_such_module:command", group="salon.commands")
    monkeypatch.setattr(lazy_commands, "entry_points", lambda group: [broken])
    assert "Cannot be loaded" in run("--help").stdout
    called = run("broken", "anything", "--at-all")
    assert called.exit_code == 2
    assert "No module named 'no_such_module'" in called.stderr
    assert run("no-such-command").exit_code == 2


def test_a_command_whose_package_is_absent_is_answered_with_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_commands, "entry_points", lambda group: [])
    refused = run("train", "sft")
    assert (refused.exit_code, refused.stdout) == (2, "")
    said = " ".join(refused.stderr.replace("│", " ").split())
    assert "uv pip install ./packages/train" in said
    assert "uv run --all-packages salon train" in said


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("taxonmy", "Did you mean taxonomy?"), ("qickstart", "Did you mean quickstart?"), ("zzz", "There are: ")],
)
def test_a_misspelt_command_is_answered_with_the_nearest_names(typed: str, hint: str) -> None:
    refused = run(typed, "--any")
    assert refused.exit_code == 2
    assert f"No such command '{typed}'. {hint}" in " ".join(refused.stderr.replace("│", " ").split())


def test_every_command_of_the_workspace_is_known_with_its_package() -> None:
    found: dict[str, tuple[str, ...]] = {}
    for file in Path(__file__).resolve().parents[2].glob("*/pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        found[project["name"]] = tuple(project.get("entry-points", {}).get("salon.commands", {}))
    found["salon-console"] += ("completion", "doctor")
    assert {name: sorted(commands) for name, commands in COMMANDS.items()} == {n: sorted(c) for n, c in found.items()}


def test_doctor_lists_packages_and_extras_and_fails_only_for_what_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name, value = "broken", "no_such_module:check"

        def load(self) -> None:
            raise ImportError("No module named 'no_such_module'")

    working = SimpleNamespace(name="works", load=lambda: lambda: MachineCheck("count", [(["a"], [["1"]])], {"one": 1}))
    monkeypatch.setattr(doctor_module, "entry_points", lambda group: [working])
    found = json.loads(run("doctor", "--format", "json").stdout)
    assert found["checks"] == {"works": {"ready": True, "one": 1}}
    versions = {each["name"]: each["version"] for each in found["packages"]}
    assert versions["salon-taxonomy"] == metadata.version("salon-taxonomy") and versions.keys() == COMMANDS.keys()
    assert "ready to count" in run("doctor").stdout
    monkeypatch.setattr(doctor_module, "entry_points", lambda group: [working, Broken()])
    failed = run("doctor")
    assert (failed.exit_code, failed.stderr.splitlines()[0].split(" (")[0]) == (
        1,
        "missing: no_such_module:check cannot be loaded",
    )
    monkeypatch.setattr(doctor_module, "_installed", lambda name: False)
    monkeypatch.setattr(
        doctor_module, "distribution", lambda name: SimpleNamespace(version="1", requires=["a>=2 ; extra == 'x'"])
    )
    assert "./packages/bench[x]" in run("doctor").stdout


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    context = click.Context(main)
    installed = {name: main.get_command(context, name) for name in main.list_commands(context)}
    own = {name: words for commands in COMMANDS.values() for name, words in commands.items() if name in installed}
    assert own == {name: command.get_short_help_str(1000) for name, command in installed.items() if command and name in own}


@pytest.mark.parametrize("call", ["main(['--help'], standalone_mode=False)", "main.shell_complete(click.Context(main), 'ra')"])
def test_commands_are_listed_without_being_imported(call: str) -> None:
    code = f"import click, sys; from salon_console import main; print({call}); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "taxonomy" in done.stdout
    assert not {"salon_store.cli", "salon_ranking.cli", "salon_published.cli"} & set(done.stdout.split("'"))


@pytest.mark.parametrize("name", [os.fsdecode(b"bad\xffname"), "x" * 300, f"folder/{'é' * 128}"])
@pytest.mark.parametrize(
    "command", [("taxonomy", "validate"), ("taxonomy", "show", "magicmirror", "--format", "json", "--output")]
)
def test_a_name_that_no_file_can_have_is_one_message(command: tuple[str, ...], name: str) -> None:
    refused = run(*command, name)
    assert (refused.exit_code, refused.stdout) == (2, "") and refused.stderr.count("Error") == 1
    assert "no UTF-8" in refused.stderr or "at most 255 bytes" in refused.stderr


def test_a_device_is_no_input_but_for_nothing_and_standard_input(tmp_path: Path) -> None:
    (tmp_path / "linked.toml").symlink_to("/dev/zero")
    for name in ("/dev/zero", "/dev/urandom", str(tmp_path / "linked.toml")):
        refused = run("taxonomy", "validate", name)
        assert (refused.exit_code, refused.stdout) == (2, "") and "is a device" in refused.stderr
    assert "is a device" not in run("taxonomy", "validate", "/dev/null").stderr


@pytest.mark.parametrize("linked", [False, True])
def test_a_named_pipe_is_no_input_and_nothing_waits_for_its_writer(tmp_path: Path, linked: bool) -> None:
    named = tmp_path / "pipe.toml"
    os.mkfifo(named)
    if linked:
        named = tmp_path / "linked.toml"
        named.symlink_to("pipe.toml")
    refused = run("taxonomy", "validate", str(named))
    assert (refused.exit_code, refused.stdout) == (2, "") and "is a named pipe" in refused.stderr


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm on this machine; Linux has one and makes this run")
def test_a_named_pipe_among_devices_is_no_input_either() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.mkfifo(Path(folder, "pipe.toml"))
        assert "is a named pipe" in run("taxonomy", "validate", str(Path(folder, "pipe.toml"))).stderr


def test_a_pipe_that_is_open_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert "named pipe" not in run("taxonomy", "validate", f"/dev/fd/{reading}").stderr
    os.close(reading)


def test_only_what_is_not_installed_is_missing_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [("a", "pytest"), ("b", "no-such-distribution"), ("a", "neither-this-one"), ("b", "click")]
    monkeypatch.setattr(doctor_module, "_needs", lambda found: iter(needs))
    found = doctor_module._package("salon-console")
    assert dict(found.missing) == {"a": ("neither-this-one",), "b": ("no-such-distribution",)}
    assert found.version is not None and doctor_module._package("no-such-distribution").version is None


@pytest.mark.parametrize("terminal", [True, False])
def test_long_lines_are_wrapped_to_the_terminal_and_to_160_characters_elsewhere(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    taxonomy_module._show(Text("word " * 80))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == (60 if terminal else 160)


def test_a_path_that_cannot_be_looked_at_is_named_with_what_the_option_means(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be read") as raised:
        InputPath()._check(tmp_path / "loop" / "x", "--plan: The plan.")
    assert (raised.value.hint, raised.value.source) == ("--plan: The plan.", str(tmp_path / "loop" / "x"))
    with pytest.raises(InputError, match="is a folder, not a file") as raised:
        InputPath(dir_okay=False)._check(tmp_path, "--plan: The plan.")
    assert raised.value.hint == "Name one of its files. --plan: The plan."
    with pytest.raises(InputError, match="is a file, not a folder") as raised:
        InputPath(file_okay=False)._check(tmp_path / "file", "")
    assert raised.value.hint == f"Its folder is {tmp_path}."


def test_an_output_that_is_the_input_is_refused_and_standard_input_is_compared_with_nothing(tmp_path: Path) -> None:
    @click.command()
    @click.argument("read", type=InputPath(allow_dash=True))
    @click.option("--output", type=OutputPath())
    def command(read: Path, output: Path) -> None:
        click.echo("written")

    (tmp_path / "a.csv").touch()
    same = CliRunner().invoke(command, [str(tmp_path / "a.csv"), "--output", str(tmp_path / "a.csv")])
    assert isinstance(same.exception, InputError) and "would overwrite" in str(same.exception)
    assert CliRunner().invoke(command, ["-", "--output", str(tmp_path / "a.csv")]).output == "written\n"
