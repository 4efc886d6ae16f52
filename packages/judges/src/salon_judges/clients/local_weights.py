"""Digests of local models: of the bytes of their files, or of their commit on the hub."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from salon_taxonomy.digest import Digestible, digest, file_sha256
from salon_taxonomy.errors import InputError

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_SHAPING = (*_WEIGHTS, ".json", ".jinja", ".model", ".txt", ".py")


def weights_digest(model: str, revision: str | None = None) -> str:
    """Return a digest of a model's files, which is the same wherever they lie.

    A folder is read to its end (some seconds for tens of gigabytes). A name means a model of the Hugging Face hub: what is
    on this machine already tells its commit, else the hub is asked.

    Args:
        model: a folder, or a name on the hub.
        revision: branch, tag or commit on the hub.

    Raises:
        InputError: for a folder without weights, or a name that neither this machine nor the hub knows.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "model.safetensors").write_bytes(b"weights")
        >>> weights_digest(str(folder)) == weights_digest(f"{folder}/")
        True
    """
    folder = Path(model)
    if folder.is_dir():
        return _of_folder(folder)
    if model.startswith((".", "/", "~")) or model.count("/") > 1 or "\\" in model:
        raise InputError("there is no such folder, and no such name on a hub", value=model)
    return digest("weights", {"model": model, "commit": _commit(model, revision)})


def pipeline_digest(folder: Path) -> str:
    """Return a digest of a diffusers pipeline: its index and the folders that the index names.

    Raises:
        InputError: for a folder without ``model_index.json``, a damaged one, or parts without any weights.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "model_index.json").write_text('{"unet": ["diffusers", "UNet2DConditionModel"]}')
        >>> (folder / "unet").mkdir()
        >>> _ = (folder / "unet" / "model.safetensors").write_bytes(b"weights")
        >>> len(pipeline_digest(folder))
        24
    """
    index = folder / "model_index.json"
    hint = "Name a folder that `save_pretrained` of a pipeline wrote."
    try:
        parts = sorted(name for name, made_by in json.loads(index.read_bytes()).items() if isinstance(made_by, list))
    except OSError as error:
        raise InputError("the folder holds no pipeline (model_index.json)", source=folder, hint=hint) from error
    except (ValueError, AttributeError) as error:
        raise InputError("is no index of a pipeline", source=index, hint=hint) from error
    folders = [folder, *(folder / name for name in parts if (folder / name).is_dir())]
    files = [path for each in folders for path in sorted(each.iterdir()) if path.suffix in _SHAPING and path.is_file()]
    if not any(path.suffix in _WEIGHTS for path in files):
        raise InputError("the folder holds no weights", source=folder, allowed=_WEIGHTS, hint=hint)
    return digest("pipeline", _contents(files, folder))


def _of_folder(folder: Path) -> str:
    files = [path for path in sorted(folder.iterdir()) if path.suffix in _SHAPING and path.is_file()]
    if not any(path.suffix in _WEIGHTS for path in files):
        hint = "Name a folder that `save_pretrained` wrote, of model and processor."
        raise InputError("the folder holds no weights", source=folder, allowed=_WEIGHTS, hint=hint)
    return digest("weights", _contents(files, folder))


def _contents(files: Sequence[Path], folder: Path) -> dict[str, Digestible]:
    try:
        return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}
    except OSError as error:
        raise InputError(f"the model cannot be read ({error.strerror})", source=folder) from error


def _commit(model: str, revision: str | None) -> str:
    hub = import_module("huggingface_hub")  # comes with transformers
    for only_here in (True, False):
        try:
            path = hub.hf_hub_download(model, "config.json", revision=revision, local_files_only=only_here)
        except (OSError, ValueError) as error:  # the hub's own errors derive from these two
            problem = error
        else:
            return Path(path).parent.name  # …/snapshots/<commit>/config.json
    first = str(problem).strip().splitlines()[:1]
    hint = "Name a folder, or download the model first: hf download MODEL."
    raise InputError(f"the model cannot be found ({''.join(first)[:200]})", value=model, hint=hint)
