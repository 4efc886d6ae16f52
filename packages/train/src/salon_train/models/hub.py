"""Check once, with a short timeout, whether the model hub answers, before a library retries for long.

transformers tries each of a model's files several times with growing pauses: without a network a name on the hub costs minutes
before the error. A hub that does not answer is left alone here, and the model is looked for in its cache, by the same loading.
"""

from pathlib import Path
from typing import Final

from salon_taxonomy.errors import InputError

PATIENCE_S: Final = 5.0
"""For one answer of the hub, whatever it is; in seconds, to connect and to answer each."""
HINT: Final = (
    "Name a folder, or download the model where there is a network (hf download MODEL) and set HF_HUB_OFFLINE=1; a proxy is "
    "set by HTTPS_PROXY, a mirror by HF_ENDPOINT."
)


def hub_problem(name: str) -> str | None:
    """Return why the hub cannot be asked for a model; None where it can, or need not be.

    A folder needs no hub, and with ``HF_HUB_OFFLINE`` it is not asked. Any answer counts, also one that refuses.

    Args:
        name: of a model on the hub, or a folder.

    Example:
        >>> hub_problem(".")
    """
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE or Path(name).is_dir():
        return None
    try:
        get_session().head(constants.ENDPOINT, timeout=PATIENCE_S)
    except Exception as error:  # noqa: BLE001 - whatever the client raises, it has no answer
        return f"the hub at {constants.ENDPOINT} does not answer: {type(error).__name__}"
    return None


def not_found(problem: str, name: str, hub: str | None, *, key: str = "model.name") -> InputError:
    """Return the error for a model that is neither on the hub nor here; ``hub`` is :func:`hub_problem`'s word."""
    if hub is not None:
        return InputError(f"{problem} ({hub}; it is not in the cache):", key=key, value=name, hint=HINT)
    return InputError(f"{problem}:", key=key, value=name, hint="Name a folder, or download the model: hf download MODEL.")
