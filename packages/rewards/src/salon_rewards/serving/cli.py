"""``salon reward serve``: one reward over HTTP."""

import json
import math
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_taxonomy.errors import InputError

_SHORTEST_TOKEN = 16


@click.command("serve")
@click.argument("name", metavar="REWARD")
@click.option(
    "--parameter",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the reward, as JSON or text: scale=[0,1], rubric=…; repeat for several.",
)
@click.option("--judge", metavar="SPEC", help="The judge of a reward that asks one: KIND:MODEL@URL or a TOML file.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; others than this machine need a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8770, show_default=True, help="0 takes a free one.")
@click.option("--token-file", type=InputPath(dir_okay=False), help="Holds the token that every request must bring.")
@click.option(
    "--on-unscored",
    metavar="POLICY",
    help="What is answered for a missing score: mean, nan or a number. Default: null with the reason.",
)
@click.option("--max-body-mb", type=click.IntRange(1, 4096), default=64, show_default=True, help="Largest request.")
@click.option("--max-pictures", type=click.IntRange(1, 65536), default=256, show_default=True, help="Pictures in one request.")
@click.option(
    "--max-frames",
    type=click.IntRange(1, 4096),
    default=128,
    show_default=True,
    help="Frames of one video, or sources of a row.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Batches at work at once; above 1 for rewards that ask a judge.",
)
def serve(
    name: str,
    given: tuple[str, ...],
    judge: str | None,
    host: str,
    port: int,
    token_file: Path | None,
    on_unscored: str | None,
    max_body_mb: int,
    max_pictures: int,
    max_frames: int,
    concurrency: int,
) -> None:
    """Serve REWARD over HTTP: pictures or videos and prompts in, scores out; for trainers in another process.

    POST /score takes JSON {"prompts": […], "images": [base64, …]} or a multipart form and answers {"scores": […]}; "videos"
    in place of "images" are files or lists of frames. GET /health and /metrics say how it goes. Requests that wait are scored
    together. Pickles are never read.

    \b
    Example:
      salon reward serve scorer:./metrics.py:clip_score
      salon reward serve judged_score --judge vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000 --parameter rubric=… \\
          --parameter image=images --parameter prompt=prompts --concurrency 4
      salon reward serve scorer:./metrics.py:clip_score --host 0.0.0.0 --token-file token.txt --on-unscored mean
    """
    import socket

    from salon_rewards.catalog import make_reward

    try:
        from aiohttp import web

        from salon_rewards.serving.app import LOOPBACK, RewardServer, ServingLimits
    except ImportError as error:
        raise InputError(
            f"needs the extra `serve` ({error.name} not found)", hint="uv pip install './packages/rewards[serve]'"
        ) from error
    token = None if token_file is None else _token(token_file)
    if host not in LOOPBACK and token is None:
        hint = "Write a long random text into a file: --token-file token.txt."
        raise InputError("other machines need a token", source="--host", value=host, allowed=LOOPBACK, hint=hint)
    reward = make_reward(name, **reward_parameters(given, judge))
    _refuse_other_columns(reward)
    limits = ServingLimits(max_body_mb << 20, max_pictures, max_frames, concurrency=concurrency)
    server = RewardServer(reward, token=token, limits=limits, on_unscored=_policy(on_unscored))
    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise InputError(f"cannot listen ({error.strerror})", source="--port", value=f"{host}:{port}") from error
    click.echo(f"Serving {reward.__name__} at http://{host}:{listening.getsockname()[1]}/score; Ctrl-C ends it.")
    web.run_app(server.application(), sock=listening, print=None, access_log=None)


def _token(path: Path) -> str:
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(f"a token has at least {_SHORTEST_TOKEN} plain characters", source=path)
    return token


def reward_parameters(settings: tuple[str, ...], judge: str | None) -> dict[str, Any]:
    """Read the parameters of a reward from the options ``--parameter`` and ``--judge``.

    Args:
        settings: ``KEY=VALUE`` each; a value that is not JSON is a text.
        judge: becomes the parameter ``judge``; None: no such parameter.

    Raises:
        InputError: a text is not ``KEY=VALUE``.

    Example:
        >>> reward_parameters(("scale=[0,1]", "rubric=Is it red?"), None)
        {'scale': [0, 1], 'rubric': 'Is it red?'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.isidentifier():
            raise InputError("is not KEY=VALUE", source="--parameter", value=setting)
        try:
            parameters[key] = json.loads(text)
        except ValueError:
            parameters[key] = text
    return parameters if judge is None else parameters | {"judge": judge}


def _refuse_other_columns(reward: object) -> None:
    """Refuse a reward whose pictures are in another column: a text there could name any file."""
    image = getattr(reward, "image", "images")
    if image not in ("images", "videos", None):
        raise InputError(
            "a served reward looks at the column", source="--parameter", key="image", value=image, allowed=["images", "videos"]
        )


def _policy(text: str | None) -> str | float | None:
    if text is None or text in ("mean", "nan"):
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        problem = "must be a finite number or a word that is allowed, not"
        raise InputError(problem, source="--on-unscored", value=text, allowed=("mean", "nan"))
    return number
