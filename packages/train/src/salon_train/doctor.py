"""Whether this machine can train: what is installed, which devices are there, and one real step on each.

Versions are read from the installed packages' metadata, so a broken library is found by the step and not by the import
of this module; torch itself is imported only when a step is tried.
"""

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_DISTRIBUTION = "salon-train"
_LIBRARIES = ("torch", "transformers", "trl")
_SEED = 0
_BYTES_PER_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Requirement:
    """One library that training needs.

    Attributes:
        name: the distribution's name.
        wanted: the versions that this version of salon-train works with, as in its metadata; empty: any.
        found: the installed version; None when it is missing.
        fits: whether what was found is what is wanted.
    """

    name: str
    wanted: str
    found: str | None
    fits: bool


@dataclass(frozen=True, slots=True)
class TrainStep:
    """One optimizer step (AdamW) of a two-layer network on one device, with a fixed seed.

    Attributes:
        device: as torch names it: ``cpu``, ``cuda:0``, ``mps``.
        name: of the device, for people.
        memory_gib: memory of the accelerator in GiB; None for the CPU and where torch does not say.
        loss_before: on the batch that the step learns from; None when the step did not get so far.
        loss_after: on the same batch after the step; below ``loss_before`` when learning works.
        seconds: wall time of the step, first use of the device included; None when it failed.
        error: what went wrong; None when the step ran and the loss fell.
    """

    device: str
    name: str
    memory_gib: float | None
    loss_before: float | None = None
    loss_after: float | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found on this machine.

    Attributes:
        python: version of the interpreter.
        cpus: processors that this process may use.
        threads: CPU threads that torch would use; None without torch.
        requirements: torch, transformers and trl.
        steps: one for each device, the CPU first; empty when torch cannot be imported.
        missing: what prevents training, each with what to do about it; empty when nothing does.
    """

    python: str
    cpus: int
    threads: int | None
    requirements: tuple[Requirement, ...]
    steps: tuple[TrainStep, ...]
    missing: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is missing: every library fits and every device learns. An accelerator is not demanded."""
        return not self.missing


def diagnose() -> Diagnosis:
    """Look at the libraries and devices of this machine, and run one train step on each device.

    Takes a few seconds, most of them for importing torch. Changes nothing: random generators and thread counts are as
    before.

    Example:
        >>> diagnosis = diagnose()
        >>> diagnosis.steps[0].device, diagnosis.steps[0].loss_after < diagnosis.steps[0].loss_before
        ('cpu', True)
    """
    requirements = tuple(_requirement(name) for name in _LIBRARIES)
    missing = [_advice(requirement) for requirement in requirements if not requirement.fits]
    threads: int | None = None
    steps: tuple[TrainStep, ...] = ()
    if requirements[0].found is not None:
        try:
            import torch
        except (ImportError, OSError) as error:
            missing.append(f"torch is installed and cannot be imported ({_line(error)}): reinstall it for this platform")
        else:
            threads = torch.get_num_threads()
            steps = tuple(train_step(device) for device in _devices(torch.cuda.device_count, torch.backends.mps.is_available))
            missing += [f"no train step on {step.device}: {step.error}" for step in steps if step.error is not None]
    return Diagnosis(platform.python_version(), _cpus(), threads, requirements, steps, tuple(missing))


def train_step(device: str) -> TrainStep:
    """Run one optimizer step of a two-layer network on a device; a failing device is reported, not raised.

    Args:
        device: as torch names it.

    Example:
        >>> train_step("cpu").error is None
        True
    """
    import torch

    try:
        name, memory = _described(device)
        started = time.perf_counter()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_SEED)
            network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 2))
            inputs, targets = torch.randn(32, 8), torch.randint(0, 2, (32,))
        before, after = _losses(network.to(device), inputs.to(device), targets.to(device))
        seconds = time.perf_counter() - started
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
        return TrainStep(device, device, None, error=_line(error))
    learned = math.isfinite(after) and after < before
    problem = None if learned else f"the loss did not fall ({before:.4f} to {after:.4f}): the device computes wrongly"
    return TrainStep(device, name, memory, before, after, seconds, problem)


def _losses(network: "torch.nn.Module", inputs: "torch.Tensor", targets: "torch.Tensor") -> tuple[float, float]:
    """Return the loss on a batch before and after one step on it."""
    import torch

    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    loss = torch.nn.functional.cross_entropy(network(inputs), targets)
    before = loss.item()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    with torch.no_grad():
        return before, torch.nn.functional.cross_entropy(network(inputs), targets).item()


def _devices(cuda_count: Callable[[], int], mps: Callable[[], bool]) -> Sequence[str]:
    return ["cpu", *(f"cuda:{index}" for index in range(cuda_count())), *(["mps"] if mps() else [])]


def _described(device: str) -> tuple[str, float | None]:
    """Return name and memory of a device."""
    import torch

    if not device.startswith("cuda"):
        return platform.processor() or platform.machine(), None
    properties = torch.cuda.get_device_properties(device)
    return properties.name, properties.total_memory / _BYTES_PER_GIB


def _requirement(name: str) -> Requirement:
    """Return one library against what salon-train's own metadata asks for."""
    from packaging.requirements import Requirement as Wanted

    wanted = [Wanted(text) for text in metadata.requires(_DISTRIBUTION) or ()]
    specifier = next((item.specifier for item in wanted if item.name == name), None)
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Requirement(name, str(specifier or ""), None, fits=False)
    fits = specifier is None or specifier.contains(version, prereleases=True)
    return Requirement(name, str(specifier or ""), version, fits)


def _advice(requirement: Requirement) -> str:
    state = "is not installed" if requirement.found is None else f"{requirement.found} does not fit"
    return f"{requirement.name} {state}: pip install '{requirement.name}{requirement.wanted}'"


def _cpus() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _line(error: Exception) -> str:
    """Return the first line of an error's text."""
    return next(iter(str(error).splitlines()), type(error).__name__)
