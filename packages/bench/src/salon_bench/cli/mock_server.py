"""``salon bench mock-server``: the mock server as a command."""

from contextlib import suppress
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath


@click.command("mock-server", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 takes a free one.")
@click.option(
    "--script",
    "script_file",
    type=InputPath(),
    help="JSON Lines: who gets which reply.",
)
@click.option("--reply", "replies", multiple=True, help="The reply to all other requests; given twice or more, one is drawn.")
@click.option("--echo", "echoes", is_flag=True, help="Answer all other requests with their own text.")
@click.option("--latency", default="0", show_default=True, help="Milliseconds: 5, 2-10 (evenly between), or exp:5 (mean).")
@click.option("--fault", "faults", multiple=True, metavar="NAME=RATE", help="A share of requests that fails: 429=0.05.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
def mock_server(
    host: str,
    port: int,
    script_file: Path | None,
    replies: tuple[str, ...],
    echoes: bool,
    latency: str,
    faults: tuple[str, ...],
    seed: int,
) -> None:
    """Serve scripted replies as an OpenAI-compatible server would, to try out judges and runs without a model.

    Prints its URL when it is ready and serves until Ctrl-C or SIGTERM. GET /stats tells what was asked, answered and paid.

    Drawn faults (--fault) also meet lines of a script, but those with times, fault or body.

    Faults: 429, 500, 503, hang, slow_loris, cut, cut_reply, truncated_json, wrong_type, empty, malformed, refusal, length.

    \b
    Example:
      salon bench mock-server --reply '{"score": 7, "justification": "fine"}' --latency 5
      salon bench mock-server --script replies.jsonl --fault 429=0.05 --fault cut=0.05
    \b
    A script (the first line that fits and is not used up answers):
      {"contains": "subject", "reply": "yes"}
      {"fault": "429", "retry_after_s": 2, "times": 3}
      {"image_sha256": "9f86d0…", "reply": "no"}
    """
    import asyncio
    import signal

    from salon_judges.testing.mock_server import FaultRates, Latency, MockServer, Script, drawn, echo, fixed, read_lines

    if echoes and replies:
        raise click.UsageError("--echo and --reply exclude each other")
    rule = echo if echoes else drawn(replies, seed=seed) if len(replies) > 1 else fixed(replies[0] if replies else "ok")
    script = Script(
        lines=read_lines(script_file) if script_file else (),
        rule=rule,
        latency=Latency.parse(latency),
        faults=FaultRates.parse(faults),
        seed=seed,
    )

    async def serve() -> None:
        end = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
        async with MockServer(script, host=host, port=port) as server:
            click.echo(server.url)
            await end.wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())
    click.echo("Stopped.", err=True)
