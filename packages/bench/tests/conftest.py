"""What the tests of benchmarks share: runs that fold their journals without a second process."""

import pytest

from salon_bench.runs import checkpoint


@pytest.fixture(autouse=True)
def folded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process for each fold costs more than these runs; ``run_child.py`` and the examples of the docs fold apart."""
    monkeypatch.setattr(checkpoint, "fold_apart", checkpoint.fold_here)
