"""The house plan, read from the syntax tree: who imports whom, who touches heavy libraries, how errors speak."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

GROUND = {"salon_taxonomy", "salon_console"}
RESULTS = {*GROUND, "salon_store", "salon_ranking"}
JUDGED = {*RESULTS, "salon_synthetic", "salon_judges"}
ALLOWED = {
    "salon_taxonomy": set(),
    "salon_console": {"salon_taxonomy"},
    "salon_store": GROUND,
    "salon_rewards": {*GROUND, "salon_judges"},
    "salon_ranking": GROUND,
    "salon_synthetic": GROUND,
    "salon_published": RESULTS,
    "salon_judges": {*GROUND, "salon_synthetic"},
    "salon_bench": {*JUDGED, "salon_rewards"},
    "salon_train": {*JUDGED, "salon_rewards", "salon_bench"},
    "salon_arena": JUDGED,
    "salon_curate": JUDGED,
}
ONLY_TRAIN = {"torch", "transformers", "trl", "accelerate", "peft", "datasets"}
LOCAL_MODELS = (
    "salon_judges/clients/local_generation.py:",
    "salon_judges/scorers/clip_models.py:",
    "salon_judges/scorers/lpips.py:",
    "salon_judges/scorers/qwen_rewards.py:",
    "salon_judges/scorers/reward_network.py:",
    "salon_judges/scorers/video_score2.py:",
)
"""Run models on this machine; torch comes with the extra `transformers`, and is imported within functions."""
ONLY_STORE = {"duckdb"}
VOTES = "salon_ranking/files.py"
"""Reads votes from a table of a user's own DuckDB database; the user has duckdb then; it is imported within a function."""


MISSING = re.compile("missing column|column is missing|lacks? the column|has no column")


class Fact(NamedTuple):
    """What one place of a file does: ``import`` (the top-level name), ``import_module``, ``print``, ``environ``, ``allowed``.

    ``for_types`` is true of what runs for type checkers alone.
    """

    does: str
    name: str
    line: int
    for_types: bool


@cache
def facts(path: Path) -> tuple[Fact, ...]:
    """The facts of a file, at any depth of nesting; every file is parsed once for all tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {id(inner) for node in typed for statement in node.body for inner in ast.walk(statement)}
    return tuple(
        Fact(does, name, node.lineno, id(node) in skipped)  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        for does, name in _done_by(node)
    )


def _done_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from (("import", alias.name.split(".")[0]) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        yield "import", node.module.split(".")[0]
    elif isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
        yield "environ", node.attr
    elif isinstance(node, ast.Call):
        first = str(node.args[0].value) if node.args and isinstance(node.args[0], ast.Constant) else ""
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            yield "print", "print"
        if first and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            yield "import_module", first.split(".")[0]
        if MISSING.search(first) and any(option.arg == "allowed" for option in node.keywords):
            yield "allowed", first


def every_import(packages: dict[str, Path]) -> Iterator[tuple[str, str, str]]:
    for package, source in packages.items():
        for path in sorted(source.rglob("*.py")):
            for fact in facts(path):
                if fact.does == "import":
                    yield package, fact.name, f"{path.relative_to(source.parent)}:{fact.line} imports {fact.name}"


def test_every_package_has_its_place_in_the_plan(packages: dict[str, Path]) -> None:
    assert set(packages) == set(ALLOWED)


def test_packages_import_only_what_the_plan_allows(packages: dict[str, Path]) -> None:
    wrong = [
        where
        for package, name, where in every_import(packages)
        if name.startswith("salon_") and name != package and name not in ALLOWED[package]
    ]
    assert wrong == []


def test_torch_and_its_kin_are_imported_by_train_and_one_file_of_bench_alone(packages: dict[str, Path]) -> None:
    wrong = [where for package, name, where in every_import(packages) if name in ONLY_TRAIN and package != "salon_train"]
    assert [where for where in wrong if not where.startswith(LOCAL_MODELS)] == []


def test_sql_engines_are_imported_by_the_store_alone(packages: dict[str, Path]) -> None:
    wrong = [where for package, name, where in every_import(packages) if name in ONLY_STORE and package != "salon_store"]
    assert [where for where in wrong if not where.startswith(f"{VOTES}:")] == []


USES_ENVIRONMENT = ("clients/specification.py", "ray_engine.py", "output.py", "salon.py")
"""Tables are as wide as ``COLUMNS`` says. ``open_judge`` finds secrets in the environment where a caller gives it none:
``make_reward(…, judge="openai:…")``. Ray is told only by the environment that its workers must not start through ``uv run``;
numpy, before it is loaded, how many threads it has (``salon.py``, of two commands).
"""


def test_only_command_lines_print_or_read_the_environment(packages: dict[str, Path]) -> None:
    wrong = []
    for source in packages.values():
        for path in sorted(source.rglob("*.py")):
            if path.name == "cli.py" or path.parent.name == "cli" or str(path.relative_to(source)) in USES_ENVIRONMENT:
                continue
            does = (fact for fact in facts(path) if fact.does in ("print", "environ"))
            wrong += [f"{path.relative_to(source.parent)}:{fact.line}" for fact in does]
    assert wrong == []


def test_declared_dependencies_are_the_arrows_of_the_plan(root: Path, packages: dict[str, Path]) -> None:
    import tomllib

    for package in packages:
        project = tomllib.loads((root / "packages" / package.removeprefix("salon_") / "pyproject.toml").read_text())["project"]
        named = {item.split(">")[0].split("[")[0].strip().replace("-", "_") for item in project["dependencies"]}
        assert {name for name in named if name.startswith("salon_")} <= ALLOWED[package], package


USERS_CHOICE = {"ray", "flow_factory", "hpsv3", "ImageReward", "vllm"}
"""Cluster engines, imported when a user names them: as extras they would hold back pyarrow for everybody; a trainer that
imports Salon, not the other way round; released scorers; and an engine that pins its own torch."""


def distribution(requirement: str) -> str:
    """The normalised name of a requirement: ``salon-ranking[report]>=0.1`` is ``salon-ranking``."""
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()  # type: ignore[index]


def test_every_distribution_that_a_package_imports_is_declared_by_it(root: Path, packages: dict[str, Path]) -> None:
    """Among its dependencies or extras: what only comes with another package is missing as soon as that one drops it."""
    import sys
    import tomllib
    from importlib.metadata import packages_distributions

    of = packages_distributions()
    undeclared = set()
    for package, source in packages.items():
        project = tomllib.loads((root / "packages" / package.removeprefix("salon_") / "pyproject.toml").read_text())["project"]
        extras = project.get("optional-dependencies", {})
        declared = {distribution(each) for part in (project["dependencies"], *extras.values()) for each in part}
        declared.add(distribution(project["name"]))
        for path in sorted(source.rglob("*.py")):
            imports = (fact for fact in facts(path) if fact.does.startswith("import") and not fact.for_types)
            for name, line in ((fact.name, fact.line) for fact in imports):
                needed = {distribution(each) for each in of.get(name, [name])}
                if name not in sys.stdlib_module_names | USERS_CHOICE and not needed & declared:
                    undeclared.add(f"{package}: {name} ({path.relative_to(source.parent)}:{line})")
    assert sorted(undeclared) == []


def test_an_error_about_a_missing_column_does_not_call_the_others_allowed(packages: dict[str, Path]) -> None:
    wrong = [
        f"{path.name}:{fact.line}"
        for source in packages.values()
        for path in sorted(source.rglob("*.py"))
        for fact in facts(path)
        if fact.does == "allowed"
    ]
    assert wrong == []


def test_the_workspace_root_installs_the_quickstart_without_torch(root: Path) -> None:
    import tomllib

    locked = {each["name"]: each for each in tomllib.loads((root / "uv.lock").read_text())["package"]}
    groups = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["uv"]["default-groups"]
    workspace = locked["salon-workspace"]
    waiting = [*workspace["dependencies"], *(each for group in groups for each in workspace["dev-dependencies"][group])]
    reached: set[tuple[str, str]] = set()
    while waiting:
        each = waiting.pop()
        for extra in ("", *each.get("extra", ())):
            if (each["name"], extra) not in reached:
                reached.add((each["name"], extra))
                found = locked[each["name"]]
                waiting += found.get("optional-dependencies", {}).get(extra, ()) if extra else found.get("dependencies", ())
    names = {name for name, _ in reached}
    assert "salon-published" in names
    assert names & (ONLY_TRAIN | {"salon-train", "salon-bench", "aiohttp", "pillow"}) == set()


LOADED_BY_OTHERS = {
    "accelerate": "transformers, to place a model on devices",
    "dlib-bin": "the scorer face, as dlib, a name that its metadata leave out",
    "httptools": "uvicorn",
    "onnxruntime": "rapidocr",
    "psycopg": "SQLAlchemy, by the address of a database",
    "torchvision": "transformers, for the processors of the Qwen models",
    "uvloop": "uvicorn",
}
"""Distributions that no package imports itself, and who does."""


def test_every_distribution_that_a_package_declares_is_imported_by_it(root: Path, packages: dict[str, Path]) -> None:
    """In its dependencies and in each extra: what nothing imports is installed for nobody."""
    import tomllib
    from importlib.metadata import packages_distributions

    of = packages_distributions()
    unused = []
    for package, source in packages.items():
        project = tomllib.loads((root / "packages" / package.removeprefix("salon_") / "pyproject.toml").read_text())["project"]
        names = {fact.name for path in source.rglob("*.py") for fact in facts(path) if fact.does.startswith("import")}
        names |= {text for path in source.rglob("*.py") for text in re.findall(r'"(\w+)(?:\.\w+)*"', path.read_text("utf-8"))}
        imported = {distribution(each) for name in names for each in of.get(name, ())} | {distribution(project["name"])}
        parts = {"dependencies": project["dependencies"], **project.get("optional-dependencies", {})}
        unused += [
            f"{package} ({part}): {name}"
            for part, declared in parts.items()
            for name in map(distribution, declared)
            if name in map(distribution, all_installed(of)) and name not in imported | LOADED_BY_OTHERS.keys()
        ]
    assert unused == []


def all_installed(of: dict[str, list[str]]) -> set[str]:
    return {name for names in of.values() for name in names}
