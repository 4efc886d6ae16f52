"""``salon arena``: serve an arena, draw a demonstration, export its votes, look after its raters."""

import re
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath, StorePath
from salon_console.numbers import counted
from salon_console.options import FORMAT, OUTPUT, FiniteRange, output_option
from salon_console.output import as_json, deliver, number_text, print_parts
from salon_console.table_files import Table
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.store_address import StoreAddress, is_url
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from salon_arena.board import LiveBoard
    from salon_arena.database import ArenaDatabase
    from salon_arena.material import Material
    from salon_arena.service import WorkService
    from salon_arena.signin import OidcSettings
    from salon_arena.tasks import Task

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_FILE = InputPath(dir_okay=False)
_FOLDER = InputPath(file_okay=False)


class _Place(InputPath):
    """A file, or the address of a database on Postgres."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the address as it is; anything else as a path."""
        from salon_arena.database import is_address

        if is_address(value):
            return value
        if is_url(value):  # not repeated: it may hold a password
            raise InputError(
                "is no address of a database", value=f"{value.split(':')[0]}://…", hint="postgresql://user@host/name"
            )
        return super().convert(value, parameter, context)


_PLACE = _Place(dir_okay=False, made=True)
_DATABASE = click.option(
    "--database", default="arena.db", show_default=True, type=_PLACE, help="SQLite file, or postgresql://…"
)
_NEW_DATABASE = click.option(
    "--database", default="arena.db", show_default=True, type=_PLACE, help="SQLite file, made if missing; or postgresql://…"
)
_TASKS_OF = {
    "--reference": ("battles", "mos", "realism"),
    "--hidden-reference": ("mos",),
    "--anchors": ("battles",),
    "--only": ("battles", "mos", "rankings", "checks", "labels"),
    "--qualification": ("battles",),
    "--raters": ("mos", "rankings", "checks"),
}
_ONE_BY_ONE = ("labels", "checks", "mos")
"""Kinds of work that need no second model."""

_PORT = click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0: any free one.")


def _serving(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the options of a command that serves pages."""
    return click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")(_PORT(command))


_PUBLIC_SEED = click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Plan from this seed, in public: anyone who knows it can compute which model made what is shown, and pages say so. "
    "Default: a secret plan.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def arena() -> None:
    """Let people compare pictures or videos in a browser: blind, one key per vote, every vote kept once.

    \b
    salon arena demo                                      five drawn models, in the browser at once
    salon arena serve pictures/ --prompts prompts.jsonl   your own: one sub-folder for each model
    salon arena export --store results && salon votes rank results
    """


@arena.command()
@click.argument("folder", metavar="FOLDER", type=_FOLDER)
@click.option(
    "--prompts",
    required=True,
    type=InputPath(),
    help="Table (.jsonl, .json, .csv, .parquet) with prompt_id and prompt; with --task verdicts or questions: its rows.",
)
@_NEW_DATABASE
@click.option(
    "--mode",
    type=click.Choice(["public", "expert"]),
    help="Who votes. Default: as the database says, public for a new one. One database holds one mode.",
)
@click.option(
    "--task",
    type=click.Choice(["battles", "mos", "rankings", "checks", "labels", "verdicts", "questions", "realism"]),
    default="battles",
    show_default=True,
    help="Compare two; rate all models side by side; put three or four in order; check test points; label faults; "
    "verify rows of R³-Bench; answer questions of Artifact-Bench; or say which of two looks more real.",
)
@click.option(
    "--reference",
    metavar="MODEL|COLUMN",
    help="With --task battles: show this model's files, such as the sources of edits, beside the two; or those that "
    "this column of the prompts names. "
    "With --task mos: show them first, unrated (DCR). With --task realism: the folder of recorded files.",
)
@click.option("--hidden-reference", metavar="MODEL", help="With --task mos: rate this model's files among the others (ACR-HR).")
@click.option("--taxonomy", default="magicmirror", show_default=True, help="With --task labels: a name, or a TOML file.")
@click.option(
    "--raters", type=click.IntRange(min=1), show_default="2", help="With --task mos, rankings or checks: people per item."
)
@click.option(
    "--only",
    "only_file",
    type=_FILE,
    help="Deal only these pairs (prompt_id, model_a, model_b), as `salon votes draw` writes them; with another --task these "
    "pictures (prompt_id, model), as `salon results draw`.",
)
@click.option("--anchors", type=_FILE, help="Pairs whose winner is known (prompt_id, model_a, model_b, winner): 5% of tasks.")
@click.option(
    "--qualification", type=_FILE, help="Pairs that experts must judge like the panel before they vote; as --anchors."
)
@click.option(
    "--certified-days", type=FiniteRange(min=0, min_open=True), default=180.0, show_default=True, help="Then a new test."
)
@click.option("--consent", type=_FILE, help="Text that raters agree to, one paragraph per line.")
@click.option("--invite-only", is_flag=True, help="Only who has an invite may join; always so for experts.")
@click.option("--reveal/--no-reveal", default=True, show_default=True, help="Name the models of a pair once its vote is final.")
@click.option(
    "--sound", is_flag=True, help="Let raters hear the videos, one at a time and equally loud (EBU R128). Default: silent."
)
@click.option("--beside", type=_PLACE, help="Database of another arena whose board is shown beside this one's.")
@click.option("--passwords", is_flag=True, help="People sign in with accounts that `salon arena account` makes.")
@click.option("--oidc-issuer", metavar="URL", help="People sign in through this OpenID Connect provider.")
@click.option("--oidc-client", metavar="ID", help="The arena's client id there.")
@click.option("--oidc-secret-file", type=_FILE, help="File with the client's secret.")
@click.option(
    "--log",
    "log_file",
    type=InputPath(dir_okay=False, made=True),
    help="Append a line of JSON per request to this file; - is standard error.",
)
@click.option(
    "--trusted-proxy",
    metavar="NAME",
    help="Public host name under which a proxy serves this arena over HTTPS; needed to listen beyond this machine.",
)
@click.option(
    "--proxy-address",
    "proxies",
    metavar="IP",
    multiple=True,
    help="With --trusted-proxy: address or network of the proxy, whose X-Forwarded-For is believed; may be repeated. "
    "Default: this machine.",
)
@_PUBLIC_SEED
@_serving
def serve(
    folder: Path,
    prompts: Path,
    database: Path | str,
    mode: str | None,
    task: str,
    reference: str | None,
    hidden_reference: str | None,
    taxonomy: str,
    raters: int | None,
    only_file: Path | None,
    anchors: Path | None,
    qualification: Path | None,
    certified_days: float,
    consent: Path | None,
    invite_only: bool,
    reveal: bool,
    sound: bool,
    beside: Path | str | None,
    passwords: bool,
    oidc_issuer: str | None,
    oidc_client: str | None,
    oidc_secret_file: Path | None,
    log_file: Path | None,
    trusted_proxy: str | None,
    proxies: tuple[str, ...],
    seed: int | None,
    host: str,
    port: int,
) -> None:
    """Serve a folder of pictures or videos as an arena.

    FOLDER has one sub-folder for each model. Files are matched to prompts by name: cat.png, cat.1.png or cat/1.png for
    prompt_id cat.

    \b
    Example:
      salon arena serve pictures/ --prompts prompts.jsonl
      salon arena serve pictures/ --prompts prompts.csv --database experts.db --mode expert --qualification test.csv
      salon arena serve pictures/ --prompts prompts.jsonl --task mos --mode expert --database mos.db
      salon arena serve pictures/ --prompts prompts.jsonl --task rankings --database rankings.db
      salon arena serve pictures/ --prompts rows.jsonl --task verdicts --mode expert --database r3.db
      salon arena serve videos/ --prompts prompts.jsonl --sound --database videos.db
      salon arena serve videos/ --prompts task2_meta.jsonl --task questions --mode expert --database questions.db
      salon arena serve pictures/ --prompts prompts.jsonl --host 0.0.0.0 --trusted-proxy arena.example.org
    """
    from salon_arena.app import LOOPBACK
    from salon_arena.battles import BattleRules
    from salon_arena.blind import is_video
    from salon_arena.database import ArenaDatabase
    from salon_arena.log import open_log
    from salon_arena.material import read_known_pairs, read_pairs
    from salon_arena.people import CONSENT
    from salon_arena.service import WorkService, vote_service

    if host not in LOOPBACK and trusted_proxy is None:
        hint = "Put a proxy with HTTPS in front of it, and name its host: --trusted-proxy arena.example.org."
        raise InputError("votes would cross the network unprotected", source="--host", value=host, allowed=LOOPBACK, hint=hint)
    proxies = _proxies(proxies, trusted_proxy)
    options = {
        "--reference": reference,
        "--hidden-reference": hidden_reference,
        "--only": only_file,
        "--anchors": anchors,
        "--qualification": qualification,
        "--raters": raters,
    }
    for option, value in options.items():
        if value is not None and task not in _TASKS_OF[option]:
            raise InputError("is not for this --task:", source=option, value=task, allowed=_TASKS_OF[option])
    of_pictures = None if task == "battles" else only_file
    material, work, what = _work(task, folder, prompts, reference, hidden_reference, taxonomy, raters, of_pictures)
    rules = BattleRules(
        anchors=() if anchors is None else read_known_pairs(anchors, material),
        qualification=() if qualification is None else read_known_pairs(qualification, material),
        certified_days=certified_days,
    )
    only = () if only_file is None or task != "battles" else read_pairs(only_file, material)
    if sound and not any(map(is_video, material.files)):
        raise InputError("has no effect on pictures", source="--sound", hint="Leave it out.")
    text = CONSENT if consent is None else _text(consent)
    with ExitStack() as stack:  # the database last: what is wrong before it leaves none behind
        listening = stack.enter_context(_listening(host, port))
        address = f"https://{trusted_proxy}/" if trusted_proxy else f"http://{host}:{listening.getsockname()[1]}/"
        provider = _provider(oidc_issuer, oidc_client, oidc_secret_file, address)
        other = None if beside is None else _board_of(stack.enter_context(_existing(beside)))
        log = {} if log_file is None else {"log": stack.enter_context(open_log(log_file))}
        opened = stack.enter_context(ArenaDatabase.open(database, mode=mode))
        settings: dict[str, Any] = {"consent": text, "invited": invite_only, "reveal": reveal, "seed": seed, "sound": sound}
        if work is None:
            service = vote_service(opened, material, rules=rules, pairs=only, **settings)
        else:
            service = WorkService(opened, work, **settings)
        settings = {**_sign_in(service, passwords, provider), **log}
        _serve(service, what, listening, address=address, proxy=trusted_proxy, proxies=proxies, beside=other, **settings)


def _work(
    task: str,
    folder: Path,
    prompts: Path,
    reference: str | None,
    hidden: str | None,
    taxonomy: str,
    raters: int | None,
    only: Path | None,
) -> "tuple[Material, Task | None, str]":
    """Read what is shown, and print what is left out.

    Returns:
        The files; the work, None for battles, which need the database; and how much there is, in words.
    """
    from salon_arena.forms import RATERS_PER_ITEM, check_task, panel_task, ranking_task
    from salon_arena.labels import LabelTask
    from salon_arena.material import Material, read_files, read_material, shown_beside
    from salon_arena.questions import BenchQuestionTask, read_questions, realism_questions
    from salon_arena.verdicts import VerdictTask, material_of, read_verdict_rows
    from salon_taxonomy.taxonomy import Taxonomy

    raters = raters or RATERS_PER_ITEM
    if task == "verdicts":
        rows, remarks = read_verdict_rows(prompts, folder)
        _print_remarks(remarks)
        return material_of(rows), VerdictTask(rows), f"{len(rows):,} rows"
    if task == "questions":
        questions, remarks = read_questions(prompts, folder)
        _print_remarks(remarks)
        material = Material({}, tuple(file for question in questions for file in question.files))
        return material, BenchQuestionTask(questions), f"{len(questions):,} questions"
    material = read_material(folder, prompts, compared=task not in _ONE_BY_ONE)
    if task == "mos" and len(material.models) > 1:
        material = read_material(folder, prompts)
    if task == "battles" and reference is not None:
        material = shown_beside(material, reference, prompts)
    if only is not None:
        material = replace(material, files=read_files(only, material))
    _print_remarks(material.remarks)
    work: Task | None = None
    what = f"{counted(len(material.models), 'model')}, {counted(len(material.files), material.kind)}"
    if task == "mos":
        work = panel_task(material, reference=reference, hidden=hidden, raters=raters, alone=only is not None)
    elif task == "rankings":
        work = ranking_task(material, raters=raters)
        _print_remarks(work.remarks)
    elif task == "checks":
        work = check_task(material, raters=raters)
    elif task == "labels":
        work = LabelTask(material, Taxonomy.open(taxonomy))
    elif task == "realism":
        drawn_questions = realism_questions(material, real=reference)
        work, what = BenchQuestionTask(drawn_questions), f"{len(drawn_questions):,} questions"
    return material, work, what


def _print_remarks(remarks: Sequence[str]) -> None:
    for remark in remarks:
        click.echo(visible(remark), err=True)


@arena.command()
@click.argument("folder", metavar="[FOLDER]", default="arena-demo", type=InputPath(file_okay=False, made=True))
@click.option("--votes", type=click.IntRange(min=0), default=0, show_default=True, help="Simulated votes to begin with.")
@click.option("--no-serve", is_flag=True, help="Only draw and vote.")
@_PORT
def demo(folder: Path, votes: int, no_serve: bool, port: int) -> None:
    """Draw pictures of five models of known strength and serve them as an arena.

    The pictures, the prompts and the database are in FOLDER (arena-demo).

    \b
    Example:
      salon arena demo
      salon arena demo --votes 400 --no-serve && salon arena export --database arena-demo/arena.db --store results
    """
    with ExitStack() as stack:
        listening = None if no_serve else stack.enter_context(_listening("127.0.0.1", port))
        _demonstrate(folder, votes, listening)


def _demonstrate(folder: Path, votes: int, listening: socket.socket | None) -> None:
    """Draw, vote, and serve where there is a socket."""
    extra("salon_synthetic", "demo", "salon-arena")
    from salon_arena.database import ArenaDatabase
    from salon_arena.demo import STRENGTHS, draw_demo, simulate_votes
    from salon_arena.material import read_material
    from salon_arena.service import vote_service

    material = read_material(*draw_demo(folder))
    planted = ", ".join(f"{model} {strength:,.0f}" for model, strength in STRENGTHS.items())
    click.echo(f"{len(material.files):,} pictures of {len(material.prompts):,} prompts in {folder}; strengths: {planted}.")
    with ArenaDatabase.open(folder / "arena.db") as opened:
        service = vote_service(opened, material, seed=0)
        if votes:
            click.echo(f"{simulate_votes(service, votes):,} simulated votes.")
        if listening is not None:
            _serve(service, f"{len(material.models)} models", listening)


@arena.command()
@_DATABASE
@click.option(
    "--store",
    required=True,
    type=StorePath(file_okay=False),
    help="Result store to add the votes to, a directory or a URL; made if missing.",
)
def export(database: Path | str, store: StoreAddress) -> None:
    """Add every settled vote to a result store, each exactly once.

    A vote is settled 10 seconds after it was given, or with the rater's next one. The command may run while the arena is
    served, and again at any time.

    \b
    Example:
      salon arena export --store results && salon votes rank results
    """
    from salon_arena.export import export_answers

    with _existing(database) as opened:
        done = export_answers(opened, store)
    counts = {"battles": done.added, "ratings": done.rated, "checks": done.checked, "labels": done.labelled}
    added = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "battles")
    waiting = f"{counted(done.waiting, 'task')} {'waits' if done.waiting == 1 else 'wait'} for an answer"
    if done.undoable:
        waiting += f"; {counted(done.undoable, 'answer')} can still be undone: export again in 10 seconds"
    click.echo(f"{added} added to {store}; {done.present:,} were there; {waiting}.")
    if done.ranked:
        click.echo(
            f"{done.ranked:,} rankings: the store has no table of them; `salon arena release rankings FOLDER` writes them."
        )
    for paths in done.unreadable:
        click.echo(visible(f"not shown, because one of these cannot be read: {', '.join(paths)}"), err=True)


_ROLE = click.option(
    "--role",
    type=click.Choice(["rater", "auditor", "adjudicator", "admin"]),
    default="rater",
    show_default=True,
    help="What they may do.",
)


@arena.command()
@_DATABASE
@click.option("--count", type=click.IntRange(1, 10_000), default=1, show_default=True, help="How many.")
@_ROLE
@click.option("--address", metavar="URL", help="Print whole links to this arena.")
def invite(database: Path | str, count: int, role: str, address: str | None) -> None:
    """Print invites, each for one person.

    An auditor judges a quarter of the experts' battles again, verifies labels, or inspects prompts. An adjudicator decides
    where raters of labels or verdicts end in dispute. An admin sees /admin, and may suspend, certify again and forget people.

    An invite works once. Only its SHA-256 is kept, so it cannot be printed again.

    \b
    Example:
      salon arena invite --database experts.db --count 12 --address https://arena.example.org
    """
    from salon_arena.people import make_invites

    with _existing(database) as opened:
        codes = opened.write(lambda connection: make_invites(connection, count, role, time.time_ns() // 1000)).result()
    for code in codes:
        click.echo(code if address is None else f"{visible(address.rstrip('/'))}/#{code}")


@arena.command()
@click.argument("name")
@_DATABASE
@_ROLE
@click.password_option(help="Asked for if not given; 12 characters or more.")
def account(name: str, database: Path | str, role: str, password: str) -> None:
    """Make an account with a NAME and a password, for an arena served with --passwords.

    The name is kept as an HMAC, the password as an Argon2id hash.

    \b
    Example:
      salon arena account ann --role admin --database arena.db
    """
    from salon_arena.signin import add_account

    with _existing(database) as opened:
        click.echo(add_account(opened, name, password, role, time.time_ns() // 1000))


@arena.command()
@_DATABASE
@click.option("--suspend", "suspended", multiple=True, metavar="RATER", help="Give this rater no tasks; may be repeated.")
@click.option("--days", type=FiniteRange(min=0, max=3650), default=7.0, show_default=True, help="How long; 0: at once again.")
@click.option("--forget", "forgotten", multiple=True, metavar="RATER", help="Erase what is kept of this person.")
@OUTPUT
@FORMAT
def people(
    database: Path | str,
    suspended: tuple[str, ...],
    days: float,
    forgotten: tuple[str, ...],
    output: Path | None,
    form: str,
) -> None:
    """List raters with votes, tests, audits and flags; suspend or forget some of them.

    \b
    Example:
      salon arena people --database experts.db
      salon arena people --suspend rater-0a1b2c3d4e5f6071 --days 30
    """
    from salon_arena.people import forget, suspend
    from salon_arena.quality import DAY, overview

    now = time.time_ns() // 1000
    until = now + int(days * DAY) if days else 0
    with _existing(database) as opened:

        def work(connection: "Connection") -> None:
            unknown = [rater for rater in (*suspended, *forgotten) if without_surrogates(rater) != rater]
            unknown = unknown or [rater for rater in suspended if not suspend(connection, [rater], until)]
            unknown = unknown or [rater for rater in forgotten if not forget(connection, rater)]
            if unknown:
                raise InputError("there is no such rater", source=opened.place, value=unknown[0])

        opened.write(work).result()  # all or none
        if forgotten:
            opened.empty_log()
        known = opened.read(lambda connection: overview(connection, now))
    rows = [
        (each.rater_id, each.role, f"{each.settled:,}", each.test, f"{each.met} of {each.audited}", each.suspended,
         ", ".join(each.flags))
        for each in known
    ]  # fmt: skip
    values = [{**asdict(each), "flags": list(each.flags)} for each in known]
    deliver(
        Table(("rater", "role", "settled", "test", "audits that agree", "suspended until", "flags"), rows),
        values,
        form=form,
        output=output,
        show=lambda: print_parts(*(visible(each.line) for each in known)),
        json=lambda: as_json(values),
    )


@arena.command()
@_DATABASE
@output_option(what="Also write the table of agreement to this file")
@FORMAT
def progress(database: Path | str, output: Path | None, form: str) -> None:
    """Show how many files, rows or prompts are open, disputed, agreed and accepted, and how well raters agree.

    \b
    Example:
      salon arena progress --database labels.db
    """
    from salon_arena.agreement import progress, progress_facts

    with _existing(database) as opened:
        lines, facts = opened.read(progress), opened.read(progress_facts)
    agreed = facts["agreement"]
    rows = [
        (each["what"], each["statistic"], number_text(each["value"], ".3f"), f"{each['items']:,}", f"{each['answers']:,}")
        for each in agreed
    ]
    deliver(
        Table(("what", "statistic", "value", "items", "answers"), rows, frozenset({"value", "items", "answers"})),
        agreed,
        form=form,
        output=output,
        show=lambda: print_parts(*lines),
        json=lambda: as_json(facts),
    )


@arena.command()
@click.argument("form", metavar="FORM")
@click.argument("folder", metavar="FOLDER", type=InputPath(file_okay=False, made=True))
@_DATABASE
@click.option("--real", metavar="MODEL", help="With artifact-bench: the folder of videos that were recorded, not generated.")
@click.option("--taxonomy", type=_FILE, help="With label-studio: the TOML file that `salon arena serve` was given.")
@click.option("--unaudited", is_flag=True, help="With magicmirror: labels of one rater, too, without auditors.")
@click.option("--media-key", default="media", show_default=True, help="With label-studio: the tasks' field with the address.")
@click.option("--media-prefix", default="", help="With label-studio: before each path, as '/data/local-files/?d=release/'.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="With artifact-bench: of wrong options.")
def release(
    form: str,
    folder: Path,
    database: Path | str,
    real: str | None,
    taxonomy: Path | None,
    unaudited: bool,
    media_key: str,
    media_prefix: str,
    seed: int,
) -> None:
    """Write settled answers into a new FOLDER, in the FORM of a released benchmark, with copies of the files.

    FORM is magicmirror, artifact-bench, r3, mef-checks, mef-ratings, mef-prompts, label-studio, votes or rankings (for
    `salon votes rank`), or datasets (Hugging Face).

    \b
    Example:
      salon arena release magicmirror release/ --database labels.db
      salon arena release votes votes/ && salon votes rank votes/battles.parquet --interval anytime
      salon arena release rankings ranked/ --database rankings.db && salon votes rank ranked/rankings.parquet
      salon arena release datasets answers/ && python -c "import datasets; print(datasets.load_dataset('answers'))"
    """
    from salon_arena.label_studio import MediaField
    from salon_arena.release import PUBLIC_PLAN, release

    media = MediaField(media_key, media_prefix)
    with _existing(database) as opened:
        done = release(opened, form, folder, real=real, taxonomy=taxonomy, media=media, seed=seed, unaudited=unaudited)
    for line in done.left_out:
        click.echo(visible(f"left out: {line}"), err=True)
    click.echo(f"{done.rows:,} rows in {done.path}.")
    if done.public_plan:
        click.echo(PUBLIC_PLAN)


@arena.command("import-labels")
@click.argument("annotations", metavar="FILE", type=_FILE)
@click.argument("folder", metavar="FOLDER", type=_FOLDER)
@click.option("--prompts", required=True, type=_FILE, help="As for `salon arena serve`.")
@_NEW_DATABASE
@click.option("--taxonomy", default="magicmirror", show_default=True, help="A name, or a TOML file.")
@click.option("--media-key", help="The field of data with a file's address. Default: media, image or video.")
def import_labels(
    annotations: Path, folder: Path, prompts: Path, database: Path | str, taxonomy: str, media_key: str | None
) -> None:
    """Add annotations that people made in Label Studio to an arena of labels; FILE is its JSON export.

    FOLDER has one sub-folder for each model. A task names its file by prompt_id and model, or by the address of an upload, a
    local file or an object of a bucket; tasks that cannot be read are named and left out. People become raters under new
    numbers; `salon arena serve --task labels` then continues from what they said. Annotations added before are left out.

    \b
    Example:
      salon arena import-labels export.json pictures/ --prompts prompts.jsonl --database labels.db
    """
    from salon_arena.database import ArenaDatabase
    from salon_arena.label_studio import import_annotations, read_annotations
    from salon_arena.labels import LabelTask
    from salon_arena.material import read_material
    from salon_taxonomy.taxonomy import Taxonomy

    material = read_material(folder, prompts, compared=False)
    task = LabelTask(material, Taxonomy.open(taxonomy))
    read_annotations(annotations, material, task, media_key=media_key)  # what is wrong with the file leaves no database behind
    with ArenaDatabase.open(database) as opened:
        done = import_annotations(opened, annotations, material, task, now=time.time_ns() // 1000, media_key=media_key)
    for line in done.remarks:
        click.echo(visible(line), err=True)
    click.echo(f"{done.added:,} annotations added; {done.present:,} were there; {done.cancelled:,} were cancelled.")


@arena.command()
@click.option("--count", type=click.IntRange(min=1), default=377, show_default=True, help="Prompts that are wanted.")
@click.option(
    "--database", default="prompts.db", show_default=True, type=_PLACE, help="SQLite file, made if missing; or postgresql://…"
)
@click.option("--mode", type=click.Choice(["public", "expert"]), help="Who writes; expert: with an invite.")
@_serving
def prompts(count: int, database: Path | str, mode: str | None, host: str, port: int) -> None:
    """Let people write prompts for a benchmark, and inspectors accept, refine or reject them.

    Scenarios and capabilities are asked for in the shares of MEF's Table 2. Inspectors join as auditors.

    \b
    Example:
      salon arena prompts --count 377
      salon arena release mef-prompts prompts/ --database prompts.db
    """
    from salon_arena.app import LOOPBACK
    from salon_arena.database import ArenaDatabase
    from salon_arena.prompt_tasks import PromptTask
    from salon_arena.service import WorkService

    if host not in LOOPBACK:
        raise InputError("prompts are written on this machine alone", source="--host", value=host, allowed=LOOPBACK)
    with _listening(host, port) as listening, ArenaDatabase.open(database, mode=mode) as opened:
        _serve(WorkService(opened, PromptTask(count)), f"{count:,} prompts wanted", listening)


@arena.command()
@_DATABASE
@click.option("--head", help="A head that was printed before: it must still be in the chain.")
def verify(database: Path | str, head: str | None) -> None:
    """Check that no answer was changed or taken out, and that every settled vote is what was answered.

    Prints the head of the chain. Publish it: from then on, a changed answer shows.

    \b
    Example:
      salon arena verify --database arena.db
    """
    from salon_arena.verify import verify_answers
    from salon_taxonomy.errors import IncompleteError

    with _existing(database) as opened:
        verification = verify_answers(opened, head=head)
    click.echo(f"{verification.answers:,} answers; head {verification.head or '(none)'}")
    for problem in verification.problems[:20]:
        click.echo(problem, err=True)
    if verification.problems:
        raise IncompleteError(f"{len(verification.problems):,} rows do not fit")


@arena.command()
@_DATABASE
def end(database: Path | str) -> None:
    """End the study: deal no further tasks, take no further answers, and show every vote on all boards.

    Raters then see their own boards also where names of models are hidden. This cannot be taken back.

    \b
    Example:
      salon arena end --database arena.db
    """
    from salon_arena.settling import end_study

    with _existing(database) as opened:
        settled = end_study(opened, time.time_ns() // 1000).result()
    click.echo(f"The study has ended; {settled:,} last answer{'' if settled == 1 else 's'} became final.")


@arena.command()
@_DATABASE
@click.argument("copy", type=InputPath(dir_okay=False, made=True))
def backup(database: Path | str, copy: Path) -> None:
    """Copy the database to COPY while the arena is served; the copy is whole and can be served itself.

    \b
    Example:
      salon arena backup --database arena.db monday.db
    """
    if copy.exists():
        raise InputError("is there already", source=copy, hint="Name a new file.")
    with _existing(database) as opened:
        opened.backup(copy)
    click.echo(f"{copy.stat().st_size:,} bytes in {copy}.")


def _existing(path: Path | str) -> "ArenaDatabase":
    """Return the database at ``path``, which must be there."""
    from salon_arena.database import ArenaDatabase

    if isinstance(path, Path) and not path.exists():
        raise InputError("there is no such file", source=path, hint="`salon arena serve` makes one; name it with --database.")
    return ArenaDatabase.open(path, make=False)


def _proxies(addresses: Sequence[str], host: str | None) -> tuple[str, ...]:
    """Return whose ``X-Forwarded-For`` is believed: the addresses given, else this machine; none without a proxy."""
    from ipaddress import ip_network

    if host is None:
        if addresses:
            raise InputError("needs --trusted-proxy with the public host name", source="--proxy-address", value=addresses[0])
        return ()
    if not _HOST_NAME.fullmatch(host):
        hint = "Name the host alone: arena.example.org."
        raise InputError("is no host name", source="--trusted-proxy", value=host, hint=hint)
    for value in addresses:
        try:
            network = ip_network(value, strict=False)
        except ValueError as error:
            raise InputError("is no address or network", source="--proxy-address", value=value, hint="172.18.0.0/16") from error
        if network.prefixlen == 0:
            hint = "Everybody could then choose the address that limits are kept by."
            raise InputError("trusts every address:", source="--proxy-address", value=value, hint=hint)
    return tuple(addresses) or ("127.0.0.1", "::1")


def _board_of(database: "ArenaDatabase") -> "LiveBoard":
    """Return the board of another arena, which leaves out the raters that the arena itself leaves out."""
    from salon_arena.board import LiveBoard, anchors_wanted

    return LiveBoard(database, anchors_first=database.read(lambda connection: anchors_wanted(connection, database.mode)))


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as UTF-8 text ({error})", source=path) from error
    if not text:
        raise InputError("has no text", source=path)
    return text


def _provider(issuer: str | None, client: str | None, secret: Path | None, address: str) -> "OidcSettings | None":
    """Return where people sign in; None where they do not."""
    from salon_arena.signin import OidcSettings

    options = {"--oidc-issuer": issuer, "--oidc-client": client, "--oidc-secret-file": secret}
    missing = [name for name, value in options.items() if value is None]
    if len(missing) == len(options):
        return None
    if issuer is None or client is None or secret is None:
        raise InputError("sign-in through a provider needs all three options; missing:", value=missing)
    return OidcSettings(issuer, client, _text(secret), f"{address}oidc/callback")


def _sign_in(service: "WorkService", passwords: bool, provider: "OidcSettings | None") -> dict[str, Any]:
    """Return how people sign in, as options of ``create_app``."""
    from salon_arena.signin import Oidc, Passwords

    ways: dict[str, Any] = {"passwords": Passwords(service.database)} if passwords else {}
    if provider is None:
        return ways
    return {**ways, "oidc": Oidc(service.database, provider, invited=service.people.invited)}


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; closed at the end of a ``with`` block."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        hint = "Choose another one: --port 0 takes any that is free."
        raise InputError(f"cannot listen ({error.strerror})", source="--port", value=f"{host}:{port}", hint=hint) from error


def _serve(
    service: "WorkService",
    what: str,
    listening: socket.socket,
    *,
    address: str | None = None,
    proxy: str | None = None,
    proxies: Sequence[str] = (),
    beside: "LiveBoard | None" = None,
    **settings: Any,
) -> None:
    """Serve until Ctrl-C; ``address`` is the one to print, else that of the socket."""
    import uvicorn

    from salon_arena.app import LOOPBACK, create_app
    from salon_arena.connections import LimitedProtocol

    host, port = listening.getsockname()[:2]
    address = address or f"http://{host}:{port}/"
    hosts = [*LOOPBACK, proxy] if proxy else LOOPBACK
    application = create_app(service, beside=beside, hosts=hosts, secure=proxy is not None, proxies=proxies, **settings)
    config = uvicorn.Config(
        application,
        http=LimitedProtocol,
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
    )
    with service.database.served_alone():
        click.echo(f"{what}. Open {address} (Ctrl-C stops).")
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after it has shut down in order
            uvicorn.Server(config).run(sockets=[listening])
    click.echo("Stopped; every vote is in the database.", err=True)
