"""What docstrings, comments and messages name exists: parameters, attributes, files and commands."""

import ast
import importlib.util
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from salon_console import main

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:[ \t]+.*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\*{0,2}\w+(?:(?:, | / )\*{0,2}\w+)*):(?:\s|$)", re.MULTILINE)
_FILE = re.compile(r"(?<![\w./{}<*~-])((?:\w+/)*[a-z_]\w*\.py)\b")
_YOURS = "plugin.py"  # the user's own, in the command of another tool
_COMMAND = re.compile(r"(?<![\w.])salon ((?:[a-z0-9][a-z0-9-]* ?)+)")
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@pytest.fixture(scope="module")
def trees(packages: Mapping[str, Path]) -> dict[Path, ast.Module]:
    """Every source file, parsed once."""
    return {path: ast.parse(path.read_text("utf-8")) for source in packages.values() for path in sorted(source.rglob("*.py"))}


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    return {each.arg for each in every if each is not None}


def names_in(node: ast.ClassDef, classes: Mapping[str, list[ast.ClassDef]], seen: frozenset[str] = frozenset()) -> set[str]:
    """Names that a class or one of its bases has as a field, an attribute, a method or a parameter of a method."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id if isinstance(inner, ast.Name) else inner.attr)
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {inner.name} | parameters(inner)
    for base in node.bases:
        name = ast.unparse(base).split("[")[0].split(".")[-1]
        if name not in seen:
            found |= {each for one in classes.get(name, ()) for each in names_in(one, classes, seen | {name})}
    return found


def documented(node: _NAMED) -> Iterator[str]:
    for section in _SECTION.findall((ast.get_docstring(node) or "") + "\n"):
        for entry in _ENTRY.findall(section):
            yield from (name.strip("* ") for name in re.split(r",|/", entry))


def test_documented_parameters_exist(trees: dict[Path, ast.Module]) -> None:
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, _NAMED)]
    classes: dict[str, list[ast.ClassDef]] = {}
    for _, node in nodes:
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, []).append(node)
    unknown, known = [], 0
    for path, node in nodes:
        if names := set(documented(node)):
            there = names_in(node, classes) if isinstance(node, ast.ClassDef) else parameters(node)
            known += len(names & there)
            unknown += [f"{path}:{node.lineno}: {node.name} documents {name}" for name in sorted(names - there)]
    assert known > 1000  # the patterns above find what is documented
    assert not unknown, "\n".join(unknown)


def stands_near(name: str, path: Path, root: Path) -> bool:
    """Whether a file of that name is in the folder of the file that names it, or below one of the folders around it."""
    return any((folder / name).is_file() for folder in path.parents if folder.is_relative_to(root))


def test_files_named_in_sources_stand_where_a_reader_looks_for_them(root: Path, trees: dict[Path, ast.Module]) -> None:
    named = [
        (path, number, name)
        for path in trees
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for name in _FILE.findall(line)
        if name != _YOURS
    ]
    missing = [f"{path}:{number}: {name}" for path, number, name in named if not stands_near(name, path, root)]
    assert len(named) > 50 and not missing, "\n".join(missing)


def test_a_file_of_the_same_name_elsewhere_is_not_the_one_that_is_named(tmp_path: Path) -> None:
    for name in ("a/one.py", "b/two.py", "a/deep/three.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for path, name, there in [("a/one.py", "one.py", True), ("a/one.py", "two.py", False), ("a/one.py", "b/two.py", True),
                              ("a/one.py", "deep/three.py", True), ("a/deep/three.py", "one.py", True)]:  # fmt: skip
        assert stands_near(name, tmp_path / path, tmp_path) is there


def test_commands_named_in_sources_exist(trees: dict[Path, ast.Module]) -> None:
    top = click.Context(main)
    missing = []
    for path in trees:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for words in _COMMAND.findall(line):
                command, context = main, top
                for word in words.split():
                    if not isinstance(command, click.Group):
                        break
                    found = command.get_command(context, word)
                    if found is None:
                        missing.append(f"{path}:{number}: salon {words}")
                        break
                    command, context = found, click.Context(found, parent=context)
    assert not missing, "\n".join(missing)


def texts_of(root: Path) -> list[Path]:
    pages = [path for folder in ("packages", "docs", "examples") for path in (root / folder).rglob("*.*")]
    return [path for path in [*pages, root / "README.md", root / "CONTRIBUTING.md"] if path.suffix in (".py", ".md", ".toml")]


def test_no_text_installs_a_package_of_salon_by_its_name_from_an_index(root: Path) -> None:
    """None is on one: the command would fail, or fetch a stranger's package of that name."""
    pattern = re.compile(r"pip install [^`\n]*\bsalon[-_]\w+")
    texts = texts_of(root)
    assert len(texts) > 500
    found = [f"{path}: {match[0]}" for path in texts for match in pattern.finditer(path.read_text("utf-8"))]
    assert [each for each in found if "/packages/" not in each.partition(": ")[2]] == []


def test_every_extra_that_a_text_installs_from_the_clone_is_one_of_that_package(root: Path) -> None:
    pattern = re.compile(r"packages/([a-z]+)\[([a-z0-9,-]+)\]")
    named = {
        (package, extra)
        for path in texts_of(root)
        if "tests" not in path.parts
        for package, extras in pattern.findall(path.read_text("utf-8"))
        for extra in extras.split(",")
    }
    there = {
        (path.parent.name, extra)
        for path in (root / "packages").glob("*/pyproject.toml")
        for extra in tomllib.loads(path.read_text("utf-8"))["project"].get("optional-dependencies", {})
    }
    assert len(named) > 15 and named <= there, sorted(named - there)


def test_what_benchmarks_import_exists_also_in_the_programs_that_they_start(root: Path) -> None:
    """No other test runs them; their programs are texts."""
    statement = re.compile(r"^\s*from (salon_[\w.]+) import \(?([\w, ]+)", re.MULTILINE)
    missing, seen = [], 0
    for path in sorted((root / "benchmarks").glob("*.py")):
        for module, names in statement.findall(path.read_text("utf-8")):
            for name in (each.split(" as ")[0].strip() for each in names.split(",") if each.strip()):
                seen += 1
                if not hasattr(importlib.import_module(module), name) and importlib.util.find_spec(f"{module}.{name}") is None:
                    missing.append(f"{path.name}: {module} has no {name}")
    assert missing == [] and seen > 50
