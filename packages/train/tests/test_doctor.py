"""The doctor runs a real step with real torch, and says what is missing where something is."""

import json
import subprocess
import sys
from importlib import metadata

import pytest
import torch
from click.testing import CliRunner

from salon_console import main
from salon_train import Diagnosis, diagnose, doctor
from salon_train.doctor import train_step


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """More threads than free processors make torch spin."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    return diagnose()


def test_this_machine_can_train_because_the_test_environment_can(diagnosis):
    assert diagnosis.ready
    assert diagnosis.missing == ()
    assert diagnosis.cpus >= 1
    assert diagnosis.threads == 1


def test_versions_are_the_installed_ones(diagnosis):
    found = {requirement.name: requirement.found for requirement in diagnosis.requirements}
    assert found == {name: metadata.version(name) for name in ("torch", "transformers", "trl")}
    assert all(requirement.fits and requirement.wanted for requirement in diagnosis.requirements)


def test_the_cpu_comes_first_and_learns(diagnosis):
    step = diagnosis.steps[0]
    assert step.device == "cpu"
    assert 0 < step.loss_after < step.loss_before < 2
    assert step.seconds > 0
    assert step.memory_gib is None
    assert len(diagnosis.steps) == 1 + torch.cuda.device_count() + torch.backends.mps.is_available()


def test_a_step_is_the_same_every_time_and_leaves_the_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first, second = train_step("cpu"), train_step("cpu")
    assert torch.equal(torch.rand(3), expected)
    assert (first.loss_before, first.loss_after) == (second.loss_before, second.loss_after)


@pytest.mark.parametrize("device", ["cuda:99", "no-such-device"])
def test_a_device_that_is_not_there_is_an_outcome_with_its_reason(device):
    step = train_step(device)
    assert step.error
    assert "\n" not in step.error
    assert (step.loss_after, step.seconds) == (None, None)


@pytest.mark.parametrize("after", [0.5, 0.6, float("nan"), float("inf")])
def test_a_device_that_computes_wrongly_is_found_out(monkeypatch, after):
    monkeypatch.setattr(doctor, "_losses", lambda *_: (0.5, after))
    found = diagnose()
    assert not found.ready
    assert found.missing[0].startswith("no train step on cpu: the loss did not fall (0.5000 to ")


def test_a_library_that_is_not_installed_comes_with_the_command_that_installs_it(monkeypatch):
    real = metadata.version

    def version(name: str) -> str:
        if name == "trl":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    found = diagnose()
    assert found.missing == ("trl is not installed: pip install 'trl<1.17,>=1.16'",)
    assert found.requirements[2].found is None


def test_a_version_that_does_not_fit_is_named(monkeypatch):
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "4.57.0" if name == "transformers" else real(name))
    assert diagnose().missing == ("transformers 4.57.0 does not fit: pip install 'transformers<6,>=5'",)


def test_a_torch_that_cannot_be_imported_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = diagnose()
    assert found.steps == ()
    assert found.threads is None
    assert found.missing[0].startswith("torch is installed and cannot be imported")


def test_the_command_prints_what_the_function_found():
    result = CliRunner().invoke(main, ["doctor", "--format", "json"])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    printed = printed["checks"]["training"]
    assert printed["ready"] is True
    assert [item["name"] for item in printed["requirements"]] == ["torch", "transformers", "trl"]
    assert printed["steps"][0]["loss_after"] < printed["steps"][0]["loss_before"]


def test_the_command_shows_a_table_and_a_last_word():
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0
    assert result.stdout.endswith("ready to train\n")
    assert "transformers" in result.stdout


def test_the_command_fails_when_something_is_missing_and_says_what(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for words in (["doctor"], ["doctor", "--format", "json"]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"]
    shown = CliRunner().invoke(main, ["doctor"])
    assert "missing: torch is installed and cannot be imported" in shown.stderr
    assert shown.stdout.endswith("not ready to train\n")


def test_importing_the_package_does_not_import_torch():
    code = "import salon_train, salon_train.cli, sys; print(sorted({'torch', 'transformers', 'trl'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
