"""Generate pictures or videos for every prompt, resumable: one counts once its line is in the manifest.

    FOLDER/generations.jsonl      the manifest: a line for each picture, which suites read (``--generations FOLDER``)
    FOLDER/<prompt_id>.<sample>.png
    FOLDER/<prompt_id>.<sample>.turn<turn>.png    of an editing conversation
    FOLDER/.working               what commands write until it is taken over

A prompt with several instructions (``turns``) is a conversation: each turn edits the result of the turn before. What comes
with a prompt (sources, a first frame) is read and checked before the generator is asked, and its SHA-256 is in the line. What
is made is decoded to its end, and flushed to the disk before its line is written. After a kill, the same command
makes what is missing.
"""

import asyncio
import hashlib
import json
import re
import resource
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeAlias

from salon_bench.runs.progress import NoWatcher, RunProgress, Watcher
from salon_bench.suites.contract.suite import SuitePrompt
from salon_judges.clients.line_files import LineFile, lines_of
from salon_judges.formats.generations import GIVEN, MANIFEST, Generated
from salon_judges.formats.suite_prompt import turns_of
from salon_judges.generators import PictureGenerator
from salon_judges.media.video_container import container_of, ending_of
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, VideoPolicy
from salon_judges.media.video_sampling import sample_video
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.enums import MediaKind, MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import bad_media, read_inside
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.verdict import Reason, Unscored
from salon_taxonomy.whole_files import remove_unfinished, write_whole

MOST_FAILURES_IN_A_ROW: Final = 20
"""After so many the job stops: the generator is down, or understands no prompt."""
WORKING: Final = ".working"
"""The folder, within that of the pictures, where commands write; what a killed process left in it is removed."""
_LONGEST_LINE: Final = 1 << 20
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST_PROBLEMS: Final = 5
_MIB: Final = 1 << 20
_SAME: Final = ("prompt", "seed", "generator", "generator_version")
_KINDS: Final = (
    ("prompt_id", str, "a text"),
    ("path", str, "a text"),
    ("sample", int, "a whole number from 0"),
    ("turn", int, "a whole number from 1"),
)
"""What the values of a manifest's line are that name a picture."""
_SEEDS_APART: Final = 1000
"""The seed of a turn less that of the turn before."""
_CHECKED: Final = VideoPolicy(most_frames=1, most_pixels=1)
"""All frames of a video are decoded, and none is kept."""

_Known: TypeAlias = dict[tuple[str, int, int], dict[str, Any]]
"""The lines of the manifest by prompt, sample and turn."""


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """The outcome of one start.

    Attributes:
        made: pictures that this start made.
        kept: pictures of earlier starts.
        failed: pictures that could not be made, by reason.
        left: pictures that were not tried, since the job stopped or an earlier turn failed.
        problems: the first failures in words.
        manifest: the file that suites read.
    """

    made: int
    kept: int
    failed: dict[str, int]
    left: int
    problems: tuple[str, ...]
    manifest: Path

    @property
    def complete(self) -> bool:
        """Whether every picture is there."""
        return not self.failed and not self.left


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One picture: the first fields of its line of the manifest."""

    prompt_id: str
    sample: int
    prompt: str
    seed: int
    generator: str
    generator_version: str
    given: tuple[Generated, ...] = ()
    turn: int | None = None

    @property
    def key(self) -> tuple[str, int, int]:
        """The prompt, the sample and the turn of its line of the manifest."""
        return self.prompt_id, self.sample, self.turn or 1

    def source(self, path: Path, sha256: str) -> Generated:
        """Return the picture as the source of the next turn."""
        return Generated(self.prompt_id, MediaRole.SOURCE, 0, path, path.parent, sha256, role=MediaRole.SOURCE)

    @property
    def given_sha256(self) -> dict[str, list[str]]:
        """The digests of what comes with the prompt, by their keys in the manifest."""
        keys: dict[str, list[str]] = {}
        for file in self.given:
            keys.setdefault(f"{file.role}_sha256", []).append(file.sha256 or "")
        return keys

    def line(self, path: str, content: bytes, costs: Mapping[str, object]) -> dict[str, object]:
        """Return the line of the manifest."""
        names = ("sample", *(["turn"] if self.turn is not None else []), *_SAME)
        own: dict[str, object] = {name: getattr(self, name) for name in names}
        sha256 = hashlib.sha256(content).hexdigest()
        return {"prompt_id": self.prompt_id, "path": path, **own, "sha256": sha256, **self.given_sha256, **costs}


@dataclass(slots=True)
class _Counts:
    made: int = 0
    in_a_row: int = 0
    failed: Counter[Reason] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


async def generate_pictures(
    generator: PictureGenerator,
    prompts: Sequence[SuitePrompt],
    folder: Path,
    *,
    samples: int = 1,
    seed: int = 0,
    concurrency: int = 1,
    settings: Mapping[str, object] | None = None,
    watcher: Watcher | None = None,
    on_start: Callable[[int, int], None] | None = None,
) -> GenerationReport:
    """Make every picture that the folder lacks; sample ``k`` of each prompt has the seed ``seed + k``.

    In a conversation each further turn has a seed that is 1000 higher. A turn that fails leaves the turns before it.

    Args:
        generator: entered and left here.
        prompts: with their ids.
        folder: made when it is missing.
        samples: pictures per prompt.
        seed: of the first sample.
        concurrency: pictures at once.
        settings: what the generator was set to, for the manifest: steps, precision, build.
        watcher: receives the progress.
        on_start: receives how many pictures the folder has, and how many are wanted.

    Raises:
        InputError: a number is out of range, another process works in the folder, its manifest is damaged, or it has pictures
            of another generator, seed or prompt, or files that were changed; nothing is made then.
    """
    for name, value in (("samples", samples), ("concurrency", concurrency)):
        if value < 1:
            raise InputError("must be 1 or more", column=name, value=value)
    identity = (generator.name, generator.version)
    wanted = [_turns(item, sample, seed + sample, identity) for item in prompts for sample in range(samples)]
    manifest = folder / MANIFEST
    file, known = _opened(manifest)
    try:
        missing = [left for turns in wanted if (left := _missing(turns, known, manifest))]
        total, lacking = sum(map(len, wanted)), sum(map(len, missing))
        if on_start is not None:
            on_start(total - lacking, total)
        job = _Job(generator, folder, file, wanted, settings or {}, watcher or NoWatcher())
        counts = await job.run(missing, concurrency)
    finally:
        shutil.rmtree(folder / WORKING, ignore_errors=True)
        file.close()
    tried = counts.made + counts.failed.total()
    failed = {reason.value: count for reason, count in counts.failed.most_common()}
    return GenerationReport(counts.made, total - lacking, failed, lacking - tried, tuple(counts.problems), manifest)


def _turns(item: SuitePrompt, sample: int, seed: int, identity: tuple[str, str]) -> list[_Wanted]:
    """Return the pictures of one sample of a prompt: one, or one for each turn."""
    prompt_id, files = item.prompt.prompt_id, _given(item)
    turns = [
        _Wanted(prompt_id, sample, text, seed + (turn - 1) * _SEEDS_APART, *identity, files if turn == 1 else (), turn)
        for turn, text in enumerate(turns_of(item.facts), 1)
    ]
    return turns or [_Wanted(prompt_id, sample, item.prompt.text, seed, *identity, files)]


def _missing(turns: Sequence[_Wanted], known: _Known, manifest: Path) -> list[_Wanted]:
    """Return the turns from the first missing one on; its source is the result of the turn before it.

    Raises:
        InputError: another picture was made in the place of one.
    """
    source: Generated | None = None
    for number, turn in enumerate(turns):
        first = turn if source is None else replace(turn, given=(source,))
        if not _is_there(first, known, manifest):
            return [first, *turns[number + 1 :]]
        line = known[turn.key]
        source = turn.source(manifest.parent / str(line["path"]), str(line.get("sha256")))
    return []


def _opened(manifest: Path) -> tuple[LineFile, _Known]:
    """Lock the manifest, and return its lines by prompt, sample and turn.

    Lines whose picture is gone are taken out of it, and those of the turns behind it. What a killed process left unfinished is
    removed.
    """
    file = LineFile(manifest)
    try:
        shutil.rmtree(manifest.parent / WORKING, ignore_errors=True)
        remove_unfinished(manifest.parent)
        lines = list(_lines(manifest))
        known = {_key(line): line for line in lines if (manifest.parent / str(line["path"])).is_file()}
        present = [line for key, line in known.items() if all((*key[:2], turn) in known for turn in range(1, key[2]))]
        if len(present) < len(lines):
            replaced = file  # its lock holds while the new file is written, so no process appends to the old one
            write_whole(manifest, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in present), flushed=True)
            file = LineFile(manifest)
            replaced.close()
    except BaseException:
        file.close()
        raise
    return file, {_key(line): line for line in present}


def _key(line: Mapping[str, Any]) -> tuple[str, int, int]:
    return line["prompt_id"], line["sample"], line.get("turn", 1)


def _lines(manifest: Path) -> Iterator[dict[str, Any]]:
    for line in lines_of(manifest, _LONGEST_LINE):
        try:
            entry = json.loads(line.content)
        except ValueError as error:
            raise InputError("is no JSON", source=manifest, line=line.number) from error
        lacking = [name for name in ("prompt_id", "path", "sample", *_SAME) if not isinstance(entry, dict) or name not in entry]
        if lacking:
            raise InputError("a line of another program; it lacks the key", source=manifest, line=line.number, key=lacking[0])
        for key, kind, words in _KINDS:
            if not isinstance(entry.get(key, 1), kind):
                raise InputError(f"must be {words}, not", source=manifest, line=line.number, key=key, value=entry[key])
        yield entry


def _is_there(wanted: _Wanted, known: _Known, manifest: Path) -> bool:
    """Return whether a picture was made before.

    Raises:
        InputError: another one was made in its place, or its file was changed.
    """
    line = known.get(wanted.key)
    if line is None:
        return False
    now = {name: getattr(wanted, name) for name in _SAME} | {f"{role}_sha256": None for role in GIVEN} | wanted.given_sha256
    for name, value in now.items():
        if line.get(name) != value:
            problem = f"{_name(wanted)} of the prompt {wanted.prompt_id!r} was made with another {name.replace('_', ' ')}:"
            hint = "Give another --output, or delete this folder."
            raise InputError(problem, source=manifest, value=line.get(name), allowed=[value], hint=hint)
    _check_file(manifest.parent / str(line["path"]), line.get("sha256"))
    return True


def _check_file(path: Path, sha256: object) -> None:
    """Refuse a file that is not the one that was made.

    Raises:
        InputError: its SHA-256 is another one, or it cannot be read.
    """
    try:
        now = None if sha256 is None else file_sha256(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from error
    if now != sha256:
        hint = "Put it back, or delete it: the same command then makes it again."
        raise InputError(f"is not the file that was made, whose SHA-256 is {sha256}; it has", source=path, value=now, hint=hint)


def _name(wanted: _Wanted) -> str:
    return f"sample {wanted.sample}" + (f", turn {wanted.turn}" if wanted.turn is not None else "")


def _given(item: SuitePrompt) -> tuple[Generated, ...]:
    """Return the files that the generator is given, in the order of the roles."""
    return tuple(file for role in GIVEN for file in item.media if file.role == role)


def _read(file: Generated) -> Media | Unscored:
    """Read and check what comes with a prompt."""
    data = file.data if file.data is not None else read_inside(file.path, file.root, DEFAULT_VIDEO_LIMITS.most_bytes)
    if isinstance(data, Unscored):
        return replace(data, detail=f"{file.role}: {data.detail}")
    kind = MediaKind.VIDEO if container_of(data) else MediaKind.IMAGE
    problem = _problem(data, kind)
    if problem is None and hashlib.sha256(data).hexdigest() != file.sha256:
        problem = bad_media("the file was replaced since this start")
    if problem is not None:
        return replace(problem, detail=f"{file.role}: {problem.detail}")
    return replace(Media.from_bytes(data, kind), uri=str(file.path), role=file.role)


def _problem(content: bytes, kind: MediaKind) -> Unscored | None:
    """Return what is wrong with a picture or video, decoded to its end.

    Raises:
        InputError: a video cannot be read without PyAV.
    """
    checked = sample_video(content, _CHECKED) if kind == MediaKind.VIDEO else decode(content, checked_only=True)
    return checked if isinstance(checked, Unscored) else None


class _Job:
    """Workers that share one iterator of wanted pictures; one worker makes all turns of a conversation."""

    def __init__(
        self,
        generator: PictureGenerator,
        folder: Path,
        file: LineFile,
        wanted: Sequence[Sequence[_Wanted]],
        settings: Mapping[str, object],
        watcher: Watcher,
    ) -> None:
        self._generator = generator
        self._folder = folder
        self._file = file
        self._total = sum(map(len, wanted))
        self._settings = json.dumps(settings, sort_keys=True, ensure_ascii=False) if settings else None
        ids = Counter(name.casefold() for name in {turns[0].prompt_id for turns in wanted})
        self._alike = {name for name, count in ids.items() if count > 1}
        self._watcher = watcher
        self._began = perf_counter()
        self._counts = _Counts()

    async def run(self, missing: Sequence[Sequence[_Wanted]], concurrency: int) -> _Counts:
        """Make the pictures."""
        waiting = iter(missing)
        kept = self._total - sum(map(len, missing))
        self._report(kept)
        async with self._generator:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(concurrency, len(missing))):
                        group.create_task(self._work(waiting, kept))
            except ExceptionGroup as errors:  # a generator that cannot be loaded, a full disk: the same for all workers
                raise errors.exceptions[0] from errors
        return self._counts

    async def _work(self, waiting: Iterator[Sequence[_Wanted]], kept: int) -> None:
        counts = self._counts
        for turns in waiting:
            source: Generated | None = None
            for number, turn in enumerate(turns, 1):
                outcome = await self._one(turn if source is None else replace(turn, given=(source,)))
                if isinstance(outcome, Unscored):
                    counts.in_a_row += 1
                    counts.failed[outcome.reason] += 1
                    left = f"; {len(turns) - number} later turns wait for it" if number < len(turns) else ""
                    if len(counts.problems) < _MOST_PROBLEMS:
                        counts.problems.append(f"{turn.prompt_id}, {_name(turn)}: {outcome.detail}{left}")
                else:
                    counts.made += 1
                    counts.in_a_row = 0
                    source = outcome
                self._report(kept)
                if isinstance(outcome, Unscored):
                    break
            if counts.in_a_row >= MOST_FAILURES_IN_A_ROW:
                return

    async def _one(self, wanted: _Wanted) -> Generated | Unscored:
        began = perf_counter()
        edit = await self._made(wanted)
        costs = {"seconds": round(perf_counter() - began, 6), "memory_mb": _peak_memory(), "settings": self._settings}
        known = {name: value for name, value in costs.items() if value is not None}
        return edit if isinstance(edit, Unscored) else await asyncio.to_thread(self._keep, wanted, edit, known)

    async def _made(self, wanted: _Wanted) -> Edit | Unscored:
        files: list[Media] = []
        for file in wanted.given:
            media = await asyncio.to_thread(_read, file)
            if isinstance(media, Unscored):
                return media
            files.append(media)
        return await self._generator.generate(wanted.prompt, seed=wanted.seed, given=files)

    def _keep(self, wanted: _Wanted, edit: Edit, costs: Mapping[str, object]) -> Generated | Unscored:
        """Write a picture and its line; returns the reason of a failure."""
        if edit.image is None:
            return edit.problem() or bad_media("there is no picture")
        content = _data(edit.image)
        problem = _problem(content, edit.image.kind)
        if problem is not None:
            return problem
        # file systems fold capitals
        plain = _PLAIN.fullmatch(wanted.prompt_id) and wanted.prompt_id.casefold() not in self._alike
        stem = wanted.prompt_id if plain else digest("prompt file", wanted.prompt_id)
        turn = "" if wanted.turn is None else f".turn{wanted.turn}"
        path = f"{stem}.{wanted.sample}{turn}.{ending_of(content)}"
        write_whole(self._folder / path, content, flushed=True)
        line = wanted.line(path, content, costs)
        self._file.append(json.dumps(line, ensure_ascii=False).encode())
        return wanted.source(self._folder / path, str(line["sha256"]))

    def _report(self, kept: int) -> None:
        counts = self._counts
        seconds = perf_counter() - self._began
        done, calls = kept + counts.made, counts.made + counts.failed.total()
        failed = counts.failed.total()
        self._watcher.progressed(
            RunProgress(done=done, open=failed, total=self._total, calls=calls, seconds=seconds, reasons=counts.failed)
        )


def _peak_memory() -> float | None:
    """Return the peak memory in MiB of the GPU, or without one of this process; None where it runs no model."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    if torch.cuda.is_available():
        return round(float(torch.cuda.max_memory_allocated()) / _MIB, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (_MIB if sys.platform == "darwin" else 1024), 1)


def _data(image: Media) -> bytes:
    return image.data if image.data is not None else Path(str(image.uri)).read_bytes()
