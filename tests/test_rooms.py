"""The rooms of the house: no import cycle between modules or between rooms, and the direction of bench's rooms.

Imports within functions, the strings ``"salon_x.module:name"`` of lazy commands and the arguments of ``import_module`` count as
imports; imports for type checkers alone do not.
"""

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from traceback import walk_stack
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

import salon_rewards
from salon_bench.runs import checkpoint
from salon_bench.suites.prism.suite import PrismBench
from salon_console import main
from salon_judges.clients import OpenAICompatibleJudge
from salon_judges.testing.mock_server import Script, fixed, serving
from salon_store import ResultStore
from salon_store.journal import Journal

BENCH = (
    "suites.contract",
    "runs",
    "suites",
    "refine",
    "imports",
    "analysis",
    "report",
    "viewer",
    "cli",
)
"""A room of salon-bench imports itself and rooms to its left."""

ALIKE = ("Category", "CountingRules", "Questions")
"""Class names of several modules that mean the same: R³-Bench's categories; the counting rules and the questions of a suite."""

_PLACE = re.compile(r"(salon_\w+(?:\.\w+)+):\w+")


def modules_of(packages: Mapping[str, Path]) -> dict[str, Path]:
    return {
        ".".join((name, *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__"): path
        for name, source in packages.items()
        for path in source.rglob("*.py")
    }


def imports_of(path: Path, modules: Mapping[str, Path]) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_checkers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_checkers:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in modules else node.module), node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := _PLACE.fullmatch(node.value)):
            yield found[1], node.lineno
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            yield from ((str(each.value), node.lineno) for each in node.args if isinstance(each, ast.Constant))


def graph_of(packages: Mapping[str, Path]) -> dict[str, dict[str, int]]:
    """Module to the modules that it imports, each with the line."""
    modules = modules_of(packages)
    return {
        module: {name: line for name, line in imports_of(path, modules) if name in modules and name != module}
        for module, path in modules.items()
    }


def cycles(graph: Mapping[str, set[str]]) -> list[str]:
    """Every import that closes a circle, with the way round it."""
    found, done = [], set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            found.append(" → ".join((*way[way.index(name) :], name)))
        elif name not in done:
            for each in sorted(graph.get(name, ())):
                visit(each, (*way, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return found


def room_of(module: str) -> str:
    package, _, inner = module.partition(".")
    if package == "salon_bench" and inner.startswith("suites.contract"):
        return f"{package}.suites.contract"
    return f"{package}.{inner.partition('.')[0]}"


@pytest.fixture(scope="module")
def graph(packages: dict[str, Path]) -> dict[str, dict[str, int]]:
    return graph_of(packages)


def test_no_module_imports_itself_in_a_circle(graph: dict[str, dict[str, int]]) -> None:
    found = cycles({name: set(imported) for name, imported in graph.items()})
    assert found == []


def test_no_room_imports_itself_in_a_circle(graph: dict[str, dict[str, int]]) -> None:
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, imported in graph.items():
        for other in imported:
            same_package = module.partition(".")[0] == other.partition(".")[0]
            if same_package and "." in module and "." in other and room_of(module) != room_of(other):
                rooms[room_of(module)].add(room_of(other))
    assert cycles(rooms) == []


def test_the_rooms_of_bench_import_in_one_direction(graph: dict[str, dict[str, int]]) -> None:
    place = {f"salon_bench.{name}": number for number, name in enumerate(BENCH)}
    wrong = []
    for module, imported in graph.items():
        for other, line in imported.items():
            here, there = room_of(module), room_of(other)
            if here == there or not (module.startswith("salon_bench.") and other.startswith("salon_bench.")):
                continue
            if place[there] >= place[here]:
                wrong.append(f"{module}:{line} imports {other}")
    assert wrong == []


def test_the_scripted_server_is_imported_by_its_command_alone(graph: dict[str, dict[str, int]]) -> None:
    users = {module for module, imported in graph.items() for other in imported if room_of(other) == "salon_judges.testing"}
    assert {room_of(module) for module in users} == {"salon_judges.testing", "salon_bench.cli"}


def test_the_check_sees_imports_within_functions_and_in_strings(tmp_path: Path) -> None:
    texts = {
        "a": "def f():\n    from salon_x import b\n",
        "b": "LAZY = 'salon_x.c:command'\n",
        "c": "from typing import TYPE_CHECKING\nimport salon_x.a\nif TYPE_CHECKING:\n    import salon_x.b\n",
    }
    (tmp_path / "salon_x").mkdir()
    for name, text in texts.items():
        (tmp_path / "salon_x" / f"{name}.py").write_text(text, encoding="utf-8")
    graph = graph_of({"salon_x": tmp_path / "salon_x"})
    edges = list(pairwise(("salon_x.a", "salon_x.b", "salon_x.c", "salon_x.a")))
    assert [set(graph[one]) for one, _ in edges] == [{other} for _, other in edges]
    assert len(cycles({name: set(imported) for name, imported in graph.items()})) == 1


def test_a_public_class_name_has_one_meaning_in_all_packages(packages: dict[str, Path]) -> None:
    found = defaultdict(list)
    for name, path in modules_of(packages).items():
        for word in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[word].append(name)
    assert {word: names for word, names in found.items() if len(names) > 1 and word not in ALIKE} == {}


def test_a_kind_of_reward_means_one_thing_in_the_whole_tree(root: Path) -> None:
    kinds = "|".join(name for name in salon_rewards.__all__ if "Reward" in name and name[0].isupper())
    taken = []
    for path in [*(root / "packages").glob("*/src/**/*.py"), *(root / "studies").rglob("*.py")]:
        if "salon_rewards" not in path.parts:
            words = re.findall(rf"^(?:class )?({kinds})(?: =|[:(])", path.read_text(encoding="utf-8"), re.MULTILINE)
            taken += [f"{path.name}: {word}" for word in words]
    assert "|RewardFunction" in kinds and taken == []


def rooms_named(page: str) -> dict[str, set[str]]:
    """Files and folders that the page's tables name, by the package whose rows they stand in."""
    named: dict[str, set[str]] = defaultdict(set)
    package, others = "", False
    for line in page.splitlines():
        if line.startswith("## "):
            title = re.fullmatch(r"## Rooms of salon-(\w+)", line)
            package, others = f"salon_{title[1]}" if title else "", line == "## Rooms of the other packages"
        elif line.startswith("| ") and (package or others):
            first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            if others and first not in ("", "package", "---"):
                package = f"salon_{first}"
            for path in re.findall(r"`([\w/]+)(?:\.py)?`", " ".join(rest if others else (first, *rest))):
                named[package] |= set(path.split("/"))
    return named


def test_every_room_is_in_the_architecture_page_among_those_of_its_package(root: Path, packages: dict[str, Path]) -> None:
    """Every folder and file at the top of a package; the page says of all packages at once what ``cli`` and ``errors`` are."""
    named = rooms_named((root / "docs/architecture.md").read_text(encoding="utf-8"))
    missing = [
        f"{package}/{path.name}"
        for package, source in packages.items()
        for path in sorted(source.iterdir())
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        and path.stem not in named[package] | {"__init__", "cli", "errors"}
    ]
    assert missing == []


def test_a_room_that_another_package_has_under_the_same_name_is_still_missing() -> None:
    page = "## Rooms of salon-a\n| `one`, `two.py` | … |\n## Rooms of the other packages\n| b | `three` | `four.py` |\n"
    assert rooms_named(page) == {"salon_a": {"one", "two"}, "salon_b": {"three", "four"}}


def test_modules_in_the_tables_of_readmes_exist(packages: dict[str, Path]) -> None:
    a_table = re.compile(r"^\| (?:module|room|file) \|.*\n\|[ |-]+\n((?:\|.*\n)+)", re.MULTILINE)
    missing, seen = [], 0
    for source in packages.values():
        readmes = [(source.parents[1] / "README.md", source), *((path, path.parent) for path in source.rglob("README.md"))]
        for readme, folder in readmes:
            for table in a_table.findall(readme.read_text("utf-8")):
                first_column = " ".join(row.split(" | ")[0] for row in table.splitlines())
                names = re.findall(r"`(\w+)(?:\.py)?`", first_column)
                seen += len(names)
                missing += [
                    f"{readme}: {name}" for name in names if not list(folder.glob(name)) + list(folder.glob(f"{name}.py"))
                ]
    assert seen > 50 and missing == []


def test_every_file_of_the_architecture_page_exists_and_the_walk_has_at_most_nine_hops(root: Path) -> None:
    page = (root / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]+/src/[\w/]+\.py)`", page)
    assert [name for name in named if not (root / "packages" / name).is_file()] == []
    inside = re.findall(r"`([a-z]+/[\w/.-]+\.(?:py|rs))` \(((?:`[\w:.]+`(?:, )?)+)\)", page)
    texts = {name: (root / (name if name.startswith("rust/") else f"packages/{name}")).read_text("utf-8") for name, _ in inside}
    words = [(name, word) for name, many in inside for word in re.findall(r"\w+", many)]
    assert len(words) > 25 and [(name, word) for name, word in words if not re.search(rf"\b{word}\b", texts[name])] == []
    hops = re.findall(r"^\| (\d+) \| `([^`]+)`", page, re.MULTILINE)
    assert [int(number) for number, _ in hops] == list(range(1, len(hops) + 1))
    assert 1 < len(hops) <= 9


def test_a_call_passes_the_files_of_the_walk(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced: what is on the stack when the judge is asked and when rows are written, and where these methods are."""
    passed: set[str] = set()

    def watch(owner: type, name: str, *tables: str) -> None:
        method = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:
            if not tables or args[1] in tables:
                passed.update(
                    str(inspect.getfile(frame)) for frame, _ in walk_stack(sys._getframe(1)) if tables or name == "ask"
                )
                passed.add(inspect.getfile(method))
            return method(*args, **options)

        monkeypatch.setattr(owner, name, watched)

    watch(PrismBench, "examine")
    watch(OpenAICompatibleJudge, "ask")
    watch(Journal, "add", "judge_calls", "scores")
    watch(ResultStore, "recover")
    monkeypatch.setattr(checkpoint, "fold_apart", checkpoint.fold_here)
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()
    Image.new("RGB", (8, 8)).save("pictures/one.png")
    Path("prompts.jsonl").write_text('{"prompt_id": "one", "prompt": "a cat", "track": "entity"}')
    with serving(Script(rule=fixed('{"justification": "fine", "score": 7}'))) as server:
        line = f"bench run prism --model m --generations pictures --prompts prompts.jsonl --judge vllm:m@{server.url}"
        assert CliRunner().invoke(main, line.split()).exit_code == 0
    walk = re.findall(r"^\| \d+ \| `([^`]+)`", (root / "docs/architecture.md").read_text(encoding="utf-8"), re.MULTILINE)
    packages = f"{root / 'packages'}/"
    assert {name.removeprefix(packages) for name in passed if name.startswith(packages)} == set(walk)


def test_every_file_that_a_suite_names_in_its_readme_exists(root: Path) -> None:
    missing = [
        f"{page.parent.name}: {name}"
        for page in (root / "packages/bench/src/salon_bench/suites").glob("*/README.md")
        for row in page.read_text(encoding="utf-8").splitlines()
        for name in re.findall(
            r"`([\w/*.]+(?:\.(?:py|jinja|toml|json)|/))`", row.split("|")[1] if row.startswith("| `") else ""
        )
        if not any(page.parent.glob(name))
    ]
    assert missing == []
