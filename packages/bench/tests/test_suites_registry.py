"""Suites of any package are found by entry point, and a broken one costs nobody but itself."""

from pathlib import Path

import pytest

from salon_bench.suites import suite_named, suite_names, suites
from salon_taxonomy.errors import InputError

GOOD = """
'''A good suite: one line about it.

And more.
'''
from salon_bench.suites import SuiteBase

class Good(SuiteBase):
    name = "good"
    version = "7"
    def prompts(self, source): return []
    def cases(self, prompts, generations): return []
    def examine(self, case): yield
    def aggregate(self, scores, assessments): return None

suite = Good()
half = type("Half", (), {"name": "half"})()
other = type("Other", (Good,), {"name": "another"})()
"""


def installed(folder: Path, package: str, entries: dict[str, str], **modules: str) -> None:
    """Put a package into a folder as an installer would."""
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[salon.suites]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()))
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_suite_of_another_package_is_found_by_name(site: Path) -> None:
    installed(site, "good_suites", {"good": "good_module_a:suite"}, good_module_a=GOOD)
    assert "good" in suite_names()
    assert suite_named("good").version == "7"
    (line,) = (line for line in suites() if line.name == "good")
    assert (line.package, line.version, line.summary, line.problem) == (
        "good_suites 1.0",
        "7",
        "A good suite: one line about it.",
        None,
    )


def test_a_name_that_nobody_brings_is_answered_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no installed package brings the suite 'no such' \(allowed: .*magicbench") as caught:
        suite_named("no such")
    assert "name a file of your own with its ending" in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("broken_syntax:suite", "SyntaxError"),
        ("broken_import:suite", "needs the module 'no_such_module'"),
        ("broken_zero:suite", "ZeroDivisionError"),
        ("broken_own:suite", r"cannot be imported \(Odd: gone\)"),
        ("no_such_file:suite", "ModuleNotFoundError"),
        ("good_module_b:nothing", "AttributeError"),
        ("good_module_b:half", "no Suite; it lacks.*version.*pictures.*aggregate"),
        ("good_module_b:Good.name", "no Suite; it lacks"),
        ("good_module_b:other", r"calls itself 'another' \(allowed: mine\)"),
    ],
)
def test_a_broken_suite_is_a_typed_error_that_names_its_package(site: Path, entry: str, problem: str) -> None:
    installed(
        site,
        "their_suites",
        {"mine": entry},
        broken_syntax="def",
        broken_import="import no_such_module",
        broken_zero="1 / 0",
        broken_own="class Odd(Exception): pass\nraise Odd('gone')",
        good_module_b=GOOD,
    )
    with pytest.raises(InputError, match=f"(?s){problem}") as caught:
        suite_named("mine")
    assert "their_suites 1.0" in str(caught.value)


def test_a_broken_suite_stands_in_the_list_with_its_reason_and_the_others_beside_it(site: Path) -> None:
    installed(site, "mixed", {"bad": "broken_two:suite", "good": "good_module_c:suite"}, broken_two="1 / 0", good_module_c=GOOD)
    lines = {line.name: line for line in suites()}
    assert lines["good"].problem is None
    assert lines["bad"].version is None
    assert "ZeroDivisionError" in (lines["bad"].problem or "")
    assert "\n" not in (lines["bad"].problem or "")


def test_two_packages_with_one_name_are_told_apart_by_nobody(site: Path) -> None:
    installed(site, "first_ones", {"good": "good_module_d:suite"}, good_module_d=GOOD)
    installed(site, "second_ones", {"good": "good_module_d:half"})
    with pytest.raises(InputError, match="several packages") as caught:
        suite_named("good")
    assert set(caught.value.allowed or ()) == {"first_ones 1.0", "second_ones 1.0"}
