"""Importing a package does nothing: no heavy library comes along, no environment is read, nothing is printed."""

import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "trl", "datasets", "resvg_py", "scipy", "sklearn", "pandas", "pyarrow", "jinja2"}
HEAVY_FOR = {
    "salon_taxonomy": HEAVY | {"polars", "numpy", "duckdb"},
    "salon_rewards": HEAVY | {"polars", "numpy", "duckdb"},
    "salon_store": HEAVY,
    "salon_ranking": HEAVY | {"duckdb"},
    "salon_synthetic": HEAVY | {"polars", "duckdb", "PIL"},
    "salon_published": HEAVY,
    "salon_console": HEAVY | {"polars", "numpy", "duckdb"},
    "salon_judges": HEAVY | {"polars", "numpy", "duckdb", "PIL", "aiohttp"},
    "salon_bench": HEAVY,
    "salon_train": HEAVY,
    "salon_curate": HEAVY | {"polars", "numpy", "duckdb", "PIL", "ray"},
    "salon_arena": HEAVY | {"polars", "numpy", "duckdb", "sqlalchemy", "starlette", "uvicorn"},
}


def loaded_after(statement: str) -> tuple[set[str], str]:
    """The top-level modules in a fresh interpreter after a statement, and what it printed."""
    code = f"{statement}\nimport sys; print('\\n' + ' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *printed, names = done.stdout.rstrip("\n").split("\n")
    return set(names.split()), "".join(printed) + done.stderr


@pytest.mark.parametrize("package", sorted(HEAVY_FOR))
def test_importing_a_package_loads_nothing_heavy_and_prints_nothing(package: str) -> None:
    modules, printed = loaded_after(f"import {package}")
    assert modules & HEAVY_FOR[package] == set()
    assert printed == ""


def test_the_salon_command_loads_nothing_heavy_to_complete_a_word() -> None:
    modules, _ = loaded_after("import salon_console as c; c.main.list_commands(None)")
    assert modules & (HEAVY | {"polars", "duckdb", "numpy"}) == set()
