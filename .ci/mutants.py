"""Change the code at random, one place at a time, and run the tests that touch the changed line.

    just mutants store --count 60                 60 changes of salon-store
    just mutants --since main                     of the files that differ from main
    just mutants ranking --files '*/sandwich.py'  of some files
    just mutants store --measured touched.db      measure once, and again only when that file is gone
    just mutants train --slow                     with the tests that CI runs after the others, which take many minutes

A change is a comparison, a sign, `and`/`or`, a `not`, a number or a boolean turned into another; it is made in a copy of the
package. What tests of all packages touch a line is measured first, in one run of all. A change that a test fails or does
not finish is killed; what survives is printed as a difference: either a test is missing, or the change is equivalent. Rust is
left to cargo-mutants.
"""

import argparse
import ast
import difflib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import partial
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOW = ["-m", "not study and not browser"]
MOST_TESTS = 240
"""Tests that are run for one change: of those that touch its line, one case of each first, then a second one of each."""
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
             ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
_COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
             ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip


def changes(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Every expression that can be changed, and what it becomes; annotations and docstrings stay."""
    still = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None), *getattr(node, "decorator_list", ()))
        if part is not None
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if id(node) in still:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
            yield node, ast.Compare(node.left, [_COMPARED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
        elif (
            isinstance(node, ast.BinOp)
            and type(node.op) in _COMPUTED
            and not isinstance(node.left, ast.Constant | ast.JoinedStr)
        ):
            yield node, ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right)
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield node, node.operand
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, ast.Constant(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield node, ast.Constant(node.value + 1)


def changed_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line of every change of a file, and the file's text with it."""
    text = path.read_text("utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in changes(ast.parse(text)):
        begin, end = (
            starts[row - 1] + column for row, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        )  # type: ignore[operator]
        data = text.encode()
        source = data[:begin] + f"({ast.unparse(ast.fix_missing_locations(new))})".encode() + data[end:]
        yield node.lineno, source.decode()


def measure(data: Path, more: list[str]) -> None:
    """Note in the file ``data`` which tests touch each line of all packages; ``more``: further options of pytest."""
    sources = [f"--cov={path}" for path in sorted((ROOT / "packages").glob("*/src"))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sources, "--cov-context=test", "--cov-report="]
    if subprocess.run([*command, *more], cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(data)}, check=False).returncode:
        print("Some tests fail without any change; a change that only they could tell counts as killed.")


def touching(package: str, data: Path) -> dict[tuple[str, int], list[str]]:
    """Which tests touch each line of a package, by ``(file, line)``; those that touch the fewest lines come first."""
    source = ROOT / "packages" / package / "src"
    lines: dict[tuple[str, int], list[str]] = defaultdict(list)
    query = """
        SELECT file.path, context.context, numbits
        FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"""
    touched: Counter[str] = Counter()
    imported: list[tuple[str, int]] = []
    with sqlite3.connect(data) as connection:
        for path, context, bits in connection.execute(query):
            name = context.partition("|")[0]
            touched[name] += sum(byte.bit_count() for byte in bits)
            if not Path(path).is_relative_to(source):
                continue
            file = str(Path(path).relative_to(source))
            rows = [8 * place + bit for place, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1]
            imported += [(file, row) for row in rows if not name]
            for row in rows if name else ():
                lines[file, row].append(name)
    of_file: dict[str, set[str]] = defaultdict(set)
    for (file, _), names in lines.items():
        of_file[file] |= set(names)
    for file, names in of_file.items():  # what is run when a file is imported may matter to any test that touches the file
        if not file.endswith(".py"):  # a template
            continue
        within = in_functions((source / file).read_text("utf-8"))
        for key in [key for key in {*imported, *lines} if key[0] == file and key[1] not in within]:
            lines[key] = list(names)
    return {line: list(in_turn(names, touched)) for line, names in lines.items()}


def in_functions(text: str) -> set[int]:
    """Return the lines of the bodies of functions: those that are not run when the file is imported."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {row for node in functions for row in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def in_turn(names: Iterable[str], touched: Mapping[str, int]) -> Iterator[str]:
    """Yield one case of every test function in turn, those that touch the fewest lines first."""
    cases: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names), key=lambda name: (touched[name], name)):
        cases[name.partition("[")[0]].append(name)
    yield from (name for turn in zip_longest(*cases.values()) for name in turn if name is not None)


def survives(package: str, more: list[str], change: tuple[Path, int, str, list[str]]) -> bool:
    """Whether all tests pass on a copy of the package with a file changed."""
    file, _, text, tests = change
    source = ROOT / "packages" / package / "src"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / file).write_text(text, "utf-8")
        paths = os.pathsep.join([str(copy), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        # An example in the package's own file would import that file, unchanged, for all tests after it.
        chosen = [name.replace(f"packages/{package}/src/", f"{copy}/") for name in tests[:MOST_TESTS]]
        command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", f"--rootdir={ROOT}", "-n", "0", "-x", "-q",
                   "-p", "no:cacheprovider", "--timeout=120", *more, *chosen]  # fmt: skip
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in (0, 5)  # 5: none of them is run without --slow


def main() -> None:
    """Print every change that survives, and how many were killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="names of packages; default: those with files that changed")
    parser.add_argument("--since", default="HEAD~1", help="a commit: files that differ from it (default HEAD~1)")
    parser.add_argument("--files", default="*", help="a pattern of paths")
    parser.add_argument("--count", type=int, default=60, help="changes of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measured", type=Path, help="a file that keeps which tests touch which line, for the next call")
    parser.add_argument("--slow", action="store_true", help="with the tests marked slow")
    options = parser.parse_args()
    more = SLOW if options.slow else []
    git = ["git", "diff", "--name-only", options.since, "--", "packages/*/src/*.py"]
    differing = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    data = options.measured or Path(tempfile.mkdtemp()) / "coverage"
    if not data.exists():
        measure(data, more)
    for package in options.packages or sorted({name.split("/")[1] for name in differing}):
        source = ROOT / "packages" / package / "src"
        paths = [path for path in sorted(source.rglob("*.py")) if fnmatch(str(path), options.files)]
        if not options.packages:
            paths = [path for path in paths if str(path.relative_to(ROOT)) in differing]
        every = [(path.relative_to(source), line, text) for path in paths for line, text in changed_texts(path)]
        chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
        tests = touching(package, data)
        run = [(file, line, text, tests[str(file), line]) for file, line, text in chosen if tests.get((str(file), line))]
        with ThreadPoolExecutor(2) as pool:
            alive = list(pool.map(partial(survives, package, more), run))
        left = [("survived", *each[:3]) for each, lives in zip(run, alive, strict=True) if lives]
        never = [("never run", *each) for each in chosen if not tests.get((str(each[0]), each[1]))]
        for kind, file, line, text in [*never, *left]:
            before = (source / file).read_text("utf-8").splitlines()
            rows = difflib.unified_diff(before, text.splitlines(), lineterm="", n=0)
            print(
                f"\n{kind}: {package}, {file}:{line}", *[row for row in rows if row[:3] not in ("---", "+++", "@@ ")], sep="\n"
            )
        killed = len(chosen) - len(never) - len(left)
        print(
            f"\n{package}: {killed} of {len(chosen)} changes killed, {len(left)} survived, {len(never)} never run", flush=True
        )


if __name__ == "__main__":
    main()
