"""Every TOML file that a user writes is read alike: a file that is none names itself and, where there is one, the line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from salon_bench.suites.contract.declared import DeclaredSuite
from salon_curate.construction.magicbench_prompts.library import Library
from salon_curate.pipeline import read_pipeline
from salon_judges.clients import open_judge
from salon_published.manifest import read_manifest
from salon_published.registry import Registry
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import InputError
from salon_train.configuration.reading import read_configuration

READERS: dict[str, Callable[[Path], Any]] = {
    "suite": DeclaredSuite.read,
    "library": Library.read,
    "pipeline": partial(read_pipeline, environment={}),
    "judge": lambda path: open_judge(str(path), {}),
    "manifest": read_manifest,
    "registry": Registry.read,
    "taxonomy": Taxonomy.read,
    "training": read_configuration,
}
HOSTILE = {
    "unclosed": (b"a = 1\nb = [1,\n", 3),
    "no value": (b"a = 1\r\nb = \r\n", 2),
    "no text": (b"a = 1\nb = '\xff'\n", 2),
    "too deep": (b"a = " + b"[" * 5000, None),
    "too many digits": (b"a = " + b"9" * 5000, None),
    "twice": (b"a = 1\na = 2\n", 2),
    "too large": (b"#" * (8 * 1024 * 1024 + 1), None),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_that_is_no_toml_is_refused_with_its_line(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    for name, (content, line) in HOSTILE.items():
        path = tmp_path / f"{name}.toml"
        path.write_bytes(content)
        with pytest.raises(InputError) as raised:
            reader(path)
        assert (raised.value.source, raised.value.line) == (str(path), line), name
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    for path in (tmp_path / "none.toml", tmp_path / "folder.toml", tmp_path / "device.toml"):
        with pytest.raises(InputError, match=r"there is no|not a file|is a device|cannot be read") as raised:
            reader(path)
        assert raised.value.source == str(path)
