"""Which judge a text or a file means: ``vllm:MODEL@localhost:8000``, ``openai:MODEL@https://host/v1``, ``judge.toml``.

Judges around a judge are named with the one within: ``cache:FOLDER=JUDGE``, ``batch:FOLDER=JUDGE``.

Every kind of judge is one :class:`~salon_taxonomy.plugins.JudgeKind`: the kinds here, and those that installed packages bring
as entry points of the group ``salon.judges``.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from salon_judges.clients.local_settings import ReplaySettings, TransformersSettings, VllmOfflineSettings
from salon_judges.clients.routing import ELSE, RoutedJudge, RoutedSettings, step_and_judge
from salon_judges.clients.scorer import KIND as SCORER
from salon_judges.clients.settings import ChatSettings, without_credentials
from salon_judges.clients.wrapping import WrappedSettings, path_and_judge, within
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import JUDGES, JudgeKind, JudgeSettings, ManagedJudge, installed, own_file_hint, plugin
from salon_taxonomy.toml_files import TomlLines, parse_toml, read_text

OTHER_KEY = "SALON_JUDGE_API_KEY"
"""Holds the key for a server that is named on the command line and is not the provider's own; need not be set."""
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_URL = "https://api.openai.com/v1"
_WITH_URL = re.compile(r"(?P<model>.*?)@(?P<url>[A-Za-z][A-Za-z0-9+.-]*://.*)", re.DOTALL)
_HINT = "Write KIND:MODEL@URL (vllm:qwen2.5-vl@localhost:8000) or name a TOML file."
_HINT_OPENAI = "Write openai:MODEL@http://HOST:PORT/v1, or vllm:MODEL@HOST:PORT for any server with OpenAI's interface."


def judge_kinds() -> list[str]:
    """Return the names of all kinds of judge: those of this package, then those of installed packages.

    Example:
        >>> [name for name in judge_kinds() if name in ("vllm", "pixels")]
        ['vllm', 'pixels']
    """
    return [*_KINDS, *(name for name in installed(JUDGES) if name not in _KINDS)]


def judge_kind(name: str) -> JudgeKind:
    """Return the kind of judge with this name.

    Raises:
        InputError: no installed package brings it, or its package cannot be imported.
    """
    return _KINDS[name] if name in _KINDS else plugin(JUDGES, name, JudgeKind)


def read_settings(specification: str) -> JudgeSettings:
    """Return the settings of a text or a TOML file (a name that ends in ``.toml``); nothing is opened.

    Raises:
        InputError: for an unknown kind, a wrong address, or a file with a wrong key or value, which is named with its line.

    Example:
        >>> settings = read_settings("vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000")
        >>> settings.title, settings.base_url, settings.api_key_required
        ('Qwen/Qwen2.5-VL-7B-Instruct', 'http://localhost:8000/v1', False)
    """
    name, colon, rest = specification.partition(":")
    if not colon or name not in judge_kinds():
        if specification.endswith(".toml"):
            return _from_file(Path(specification))
        hint = own_file_hint(specification) or _HINT
        raise InputError("no such kind of judge", value=without_credentials(name), allowed=judge_kinds(), hint=hint)
    kind = judge_kind(name)
    return _validated(kind, kind.from_text(rest), source=specification)


def restore_settings(document: Mapping[str, Any]) -> JudgeSettings:
    """Return the settings from their own ``model_dump(mode="json")``, as runs keep them.

    Raises:
        InputError: they are not settings of a judge.
    """
    return _validated(_kind(document.get("kind"), None, None), dict(document), source="stored settings of a judge")


def read_judges(specifications: Sequence[str]) -> list[JudgeSettings]:
    """Return the settings of several texts: those of the form ``STEP=JUDGE`` make one judge, each other text makes one.

    Beside judges with steps, one without a step is asked at all other steps.

    Raises:
        InputError: as :func:`read_settings`, for a step that is named twice, and for several judges without a step beside
            judges with steps.

    Example:
        >>> read_judges(["subject=vllm:small", "vllm:large"])[0].title
        '*=large+subject=small'
        >>> [settings.title for settings in read_judges(["vllm:small", "vllm:large"])]
        ['small', 'large']
    """
    routed = [step_and_judge(text) for text in specifications]
    if all(step is None for step, _ in routed):
        return [read_settings(text) for text in specifications]
    routes: dict[str, JudgeSettings] = {}
    for step, text in routed:
        if (step or ELSE) in routes:
            hint = "Name one judge for each step; a panel of routed judges is several runs."
            raise InputError("two judges for one step", value=step or "all other steps", hint=hint)
        routes[step or ELSE] = read_settings(text)
    return [RoutedSettings(kind="routed", routes=routes)]


def with_concurrency(settings: JudgeSettings, concurrency: int) -> JudgeSettings:
    """Return the settings with another number of concurrent requests, also in the judges within."""
    if isinstance(settings, ChatSettings):
        limits = settings.limits.model_copy(update={"concurrency": concurrency})
        return settings.model_copy(update={"limits": limits})
    if isinstance(settings, WrappedSettings):
        return settings.model_copy(update={"judge": with_concurrency(settings.judge, concurrency)})
    if isinstance(settings, RoutedSettings):
        routes = {step: with_concurrency(route, concurrency) for step, route in settings.routes.items()}
        return settings.model_copy(update={"routes": routes})
    return settings


def open_settings(settings: JudgeSettings, environment: Mapping[str, str]) -> ManagedJudge:
    """Return the judge that has these settings.

    Raises:
        InputError: when the environment lacks a secret that they name.
    """
    return judge_kind(settings.kind).open(settings, environment)


def open_judge(specification: str, environment: Mapping[str, str] | None = None) -> ManagedJudge:
    """Open the judge that a text or a TOML file names. Nothing is sent before its first question.

    Args:
        specification: ``KIND:MODEL@URL`` or the name of a TOML file.
        environment: where secrets are found; None: ``os.environ``.

    Raises:
        InputError: as :func:`read_settings`, and when the environment lacks a secret that the settings name.

    Example:
        >>> open_judge("llama.cpp:smollm@localhost:8080").name
        'smollm'
    """
    return open_settings(read_settings(specification), os.environ if environment is None else environment)


# ------------------------------------------------------------------------------------------------------ chat completions


def _chat_text(text: str, *, bare_host: bool) -> dict[str, Any]:
    """Parse ``MODEL``, ``MODEL@http://…`` or, with ``bare_host``, ``MODEL@host:port``; models may contain colons."""
    match = _WITH_URL.fullmatch(text)
    if match:
        model, url = match["model"], match["url"]
    elif bare_host:
        model, at, host = text.partition("@")
        url = f"http://{host}" if at else ""
    else:
        model, url = text, ""
        host = text.rpartition("@")[2] if "@" in text else ""
        if ":" in host or "/" in host:
            raise InputError("the address needs http:// or https://", value=without_credentials(host), hint=_HINT_OPENAI)
    if not model or "://" in model:  # neither is shown: an address may hold a password
        raise InputError("no model is named before the address", hint=_HINT)
    if not url:
        return {"model": model}
    pathless = "/" not in url.partition("://")[2].rstrip("/")
    return {"model": model, "base_url": f"{url.rstrip('/')}/v1" if pathless else url}


def _chat_completed(document: dict[str, Any], *, base_url: str) -> dict[str, Any]:
    """Return the document with the kind's address, and the variable of the key for that address."""
    whole = {"base_url": base_url, **document}
    if "api_key_env" not in whole:
        own = whole["base_url"] == _OPENAI_URL
        whole |= {"api_key_env": _OPENAI_KEY if own else OTHER_KEY, "api_key_required": own}
    return whole


def _chat_kind(name: str, base_url: str, *, bare_host: bool) -> JudgeKind:
    return JudgeKind(
        name,
        ChatSettings,
        partial(_chat_completed, base_url=base_url),
        partial(_chat_text, bare_host=bare_host),
        _open_chat,
    )


def _open_chat(settings: ChatSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.openai_compatible import OpenAICompatibleJudge  # brings the HTTP client

    return OpenAICompatibleJudge(settings, environment)


# ------------------------------------------------------------------------------------------------- judges around a judge


def _wrapped_text(text: str, *, kind: str) -> dict[str, Any]:
    path, judge = path_and_judge(kind, text)
    return {"path": path, "judge": read_settings(judge).model_dump(mode="json")}


def _wrapped_completed(document: dict[str, Any], *, kind: str) -> dict[str, Any]:
    return {**_with_path(document), "judge": _unrouted(within(document, kind))}


def _unrouted(document: dict[str, Any]) -> JudgeSettings:
    """Return the settings of a judge within. Routes are outermost, because only the run knows a suite's steps."""
    settings = restore_settings(document)
    if isinstance(settings, RoutedSettings):
        raise InputError(
            "routes cannot stand within another judge", key="kind", value="routed", hint="Put it around each route."
        )
    return settings


def _wrapped_kind(name: str, opened: Callable[[WrappedSettings, Mapping[str, str]], ManagedJudge]) -> JudgeKind:
    return JudgeKind(name, WrappedSettings, partial(_wrapped_completed, kind=name), partial(_wrapped_text, kind=name), opened)


def _open_cache(settings: WrappedSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.cache import CachedJudge, ResponseCache

    return CachedJudge(open_settings(settings.judge, environment), ResponseCache(settings.path), settings.name)


def _open_batch(settings: WrappedSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.collecting import CollectingJudge

    if not isinstance(settings.judge, ChatSettings):
        raise InputError("batch files are for judges behind a server", key="judge.kind", value=settings.judge.kind)
    return CollectingJudge(settings.judge, settings.path, settings.name)


def _routed_completed(document: dict[str, Any]) -> dict[str, Any]:
    routes = document.get("routes")
    if not isinstance(routes, dict) or not all(isinstance(route, dict) for route in routes.values()):
        hint = "Write a table for each step: [routes.subject]."
        raise InputError("routed needs the settings of a judge for each step", key="routes", hint=hint)
    return {**document, "routes": {step: _unrouted(route) for step, route in routes.items()}}


def _routed_text(text: str) -> dict[str, Any]:
    raise InputError("routes are named one by one: --judge STEP=JUDGE --judge STEP=JUDGE", value=without_credentials(text))


def _open_routed(settings: RoutedSettings, environment: Mapping[str, str]) -> ManagedJudge:
    routes = {step: open_settings(route, environment) for step, route in settings.routes.items()}
    return RoutedJudge(routes, settings.name)


# --------------------------------------------------------------------------------------------------- replay, local models


def _with_path(document: dict[str, Any]) -> dict[str, Any]:
    path = document.get("path")
    if path == "":
        hint = "Write replay:FOLDER, of the folder that cache:FOLDER=JUDGE wrote."
        raise InputError("names no folder", source="--judge", value="replay:", hint=hint)
    return {**document, "path": str(Path(path).absolute())} if isinstance(path, str) and path else document


def _open_replay(settings: ReplaySettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.cache import CachedJudge

    return CachedJudge.replay(settings.path, settings.judge, settings.judge_version, settings.name)


def _model_completed(document: dict[str, Any]) -> dict[str, Any]:
    model = document.get("model")
    folder = isinstance(model, str) and model != "" and Path(model).is_dir()
    return {**document, "model": str(Path(str(model)).absolute())} if folder else document


def _open_transformers(settings: TransformersSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.local_transformers import TransformersJudge

    return TransformersJudge(settings)


def _open_vllm(settings: VllmOfflineSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_judges.clients.local_vllm import VllmOfflineJudge

    return VllmOfflineJudge(settings)


_KINDS: dict[str, JudgeKind] = {
    kind.name: kind
    for kind in (
        _chat_kind("openai", _OPENAI_URL, bare_host=False),
        _chat_kind("vllm", "http://127.0.0.1:8000/v1", bare_host=True),
        _chat_kind("sglang", "http://127.0.0.1:30000/v1", bare_host=True),
        _chat_kind("llama.cpp", "http://127.0.0.1:8080/v1", bare_host=True),
        JudgeKind("transformers", TransformersSettings, _model_completed, lambda text: {"model": text}, _open_transformers),
        JudgeKind("vllm-offline", VllmOfflineSettings, _model_completed, lambda text: {"model": text}, _open_vllm),
        JudgeKind("replay", ReplaySettings, _with_path, lambda text: {"path": text}, _open_replay),
        _wrapped_kind("cache", _open_cache),
        _wrapped_kind("batch", _open_batch),
        JudgeKind("routed", RoutedSettings, _routed_completed, _routed_text, _open_routed),
        SCORER,
    )
}
"""The kinds of this package, by name."""


# ----------------------------------------------------------------------------------------------------------------- files


def _from_file(path: Path) -> JudgeSettings:
    try:
        text = read_text(path, "file of a judge's settings")
        document = parse_toml(text, source=path)
    except InputError as error:
        raise error.at(source=_shown(path)) from error
    lines = TomlLines.scan(text)
    return _validated(_kind(document.get("kind", "openai"), path, lines), document, source=path, lines=lines)


def _kind(name: object, source: Path | None, lines: TomlLines | None) -> JudgeKind:
    if not isinstance(name, str) or name not in judge_kinds():
        line = None if lines is None else lines.of(None, 0, "kind")
        source = None if source is None else Path(_shown(source))
        raise InputError("no such kind of judge", source=source, line=line, key="kind", value=name, allowed=judge_kinds())
    return judge_kind(name)


def _validated(
    kind: JudgeKind, document: dict[str, Any], *, source: str | Path, lines: TomlLines | None = None
) -> JudgeSettings:
    """Return the settings, with the kind's defaults and the key that belongs to the place."""
    try:
        return kind.settings.model_validate(kind.completed({"kind": kind.name, **document}))
    except ValidationError as error:
        raise _explained(error, source, lines) from error


def _explained(error: ValidationError, source: str | Path, lines: TomlLines | None) -> InputError:
    """Return the first fault, by key and line. Only numbers and choices are shown: other values may be misplaced secrets."""
    fault = error.errors(include_url=False)[0]
    path = [str(item) for item in fault["loc"]]
    line = _line(path, lines)
    problem, value, hint = fault["msg"].removeprefix("Value error, "), None, None
    if fault["type"] == "extra_forbidden":
        problem = "unknown key"
        hint = "Secrets stay out of files: api_key_env names the environment variable." if "key" in path[-1] else None
    elif fault["type"] == "string_pattern_mismatch":
        problem = "must be the NAME of an environment variable; the secret itself stays out of files"
    elif fault["type"] in ("enum", "literal_error") or isinstance(fault["input"], int | float):
        value = fault["input"]
    return InputError(problem, source=_shown(source), line=line, key=".".join(path) or None, value=value, hint=hint)


def _line(path: list[str], lines: TomlLines | None) -> int | None:
    if lines is None or not path:
        return None
    number = lines.of(path[0], 0, path[1]) if len(path) > 1 else lines.of(None, 0, path[0])
    return number or lines.of(path[0])


def _shown(source: str | Path) -> str:
    return without_credentials(str(source))
