"""The folder of one policy's four stages: pictures, the files of each stage, and its runs.

work/stages.json                the policy, the runs of its stages
work/rows.jsonl                 the user's rows, with paths from here
work/originals/<idx>.png        links to the user's pictures
work/pictures/<idx>/0.png 1.png the picture before and after its edit
work/explanations.jsonl         rows + ``said``          work/images.jsonl   rows + ``said`` + ``edit``
"""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from salon_bench.suites.r3_bench.staged import Staged, read_staged, write_staged
from salon_judges.formats.generations import PICTURE_SUFFIXES
from salon_judges.formats.r3_bench import R3Row
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.media_files import lies_inside
from salon_taxonomy.whole_files import write_whole


@dataclass(slots=True)
class Workspace:
    """One such folder.

    Attributes:
        folder: where it lies.
        policy: the model under test, as tables call it.
        runs: the run of each stage that was begun.
        left_out: sentences about the rows of the user's file that cannot be used; empty for none.
    """

    folder: Path
    policy: str
    runs: dict[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @classmethod
    def begin(cls, folder: Path, policy: str, items: Iterable[R3Row], *, left_out: Sequence[str] = ()) -> "Workspace":
        """Make the folder for rows and a policy; one that stands already must be of the same policy.

        Raises:
            InputError: when it belongs to another policy, none of the pictures exists, or it cannot be written.
        """
        rows = list(items)
        if rows and not any(_is_there(item) for item in rows):
            hint = "--images names the folder that the paths in bad_image start from."
            problem = f"none of the {len(rows)} pictures of the rows is in this folder; the first:"
            raise InputError(problem, source=rows[0].root, value=_named(rows[0]), hint=hint)
        if (folder / "stages.json").exists():
            space = cls.open(folder)
            if space.policy != policy:
                raise InputError(
                    "this folder belongs to another policy", source=folder, value=space.policy, hint="Give another --work."
                )
        else:
            space = cls(folder, policy)
        space.left_out = tuple(left_out)
        try:
            for item in rows:
                _linked(item, space.originals)
            write_staged(space.rows, [Staged(item) for item in rows])
            space.save()
        except OSError as error:
            raise cannot_write(error, folder) from error
        return space

    @classmethod
    def open(cls, folder: Path) -> "Workspace":
        """Return the workspace of a folder.

        Raises:
            InputError: the folder has no stages; says how they are started.
        """
        path = folder / "stages.json"
        hint = "Begin with: salon bench r3-bench run --stage reflect --rows ROWS --policy SPEC --work DIR"
        try:
            document = json.loads(path.read_text("utf-8"))
            runs = {str(stage): str(run) for stage, run in document["runs"].items()}
            return cls(folder, str(document["policy"]), runs, tuple(map(str, document.get("left_out", ()))))
        except OSError as error:
            raise InputError("no stages of R³-Bench were begun here", source=folder, hint=hint) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError("is not what a stage of R³-Bench writes", source=path, hint=hint) from error

    @property
    def originals(self) -> Path:
        """The pictures of the benchmark, by idx."""
        return self.folder / "originals"

    @property
    def pictures(self) -> Path:
        """The pictures before and after the edit, a folder for each idx."""
        return self.folder / "pictures"

    @property
    def rows(self) -> Path:
        """What the first stage reads."""
        return self.folder / "rows.jsonl"

    def file(self, stage: str) -> Path:
        """Return what the third and fourth stages read."""
        return self.folder / f"{stage}.jsonl"

    def staged(self, stage: str) -> list[Staged]:
        """Return the rows that a stage reads; pictures must lie where the user's rows named them.

        Raises:
            InputError: when the stage before was not run, or a row of what it left cannot be used.
        """
        path = self.rows if stage == "reflect" else self.file(stage)
        if not path.exists():
            before = "edit" if stage == "images" else "reflect"
            raise InputError(
                "the stage before was not run",
                source=self.folder,
                value=stage,
                hint=f"Run first: salon bench r3-bench {before}",
            )
        usable = read_staged(path)
        for bad in usable.left_out:
            raise bad.error
        return usable

    def without_rows(self, stage: str) -> bool:
        """Return whether the stage before left no rows, because no row is misaligned."""
        path = self.file(stage)
        return stage == "images" and path.exists() and path.stat().st_size == 0

    def run_of(self, stage: str) -> str:
        """Return the run of a stage.

        Raises:
            InputError: when it was not begun.
        """
        if stage not in self.runs:
            raise InputError("this stage was not run", source=self.folder, value=stage, allowed=self.runs)
        return self.runs[stage]

    def note(self, stage: str, run_id: str) -> None:
        """Remember the run of a stage."""
        self.runs[stage] = run_id
        self.save()

    def save(self) -> None:
        """Write ``stages.json``, whole or not at all.

        Raises:
            InputError: it cannot be written.
        """
        content = {"policy": self.policy, "runs": self.runs, "left_out": list(self.left_out)}
        write_whole(self.folder / "stages.json", json.dumps(content, indent=2, ensure_ascii=False), parents=True)


def original_of(originals: Path, idx: str) -> Path | None:
    """Return the picture of a row; None when the user's file was missing."""
    return next((path for suffix in PICTURE_SUFFIXES if (path := originals / f"{idx}{suffix}").is_file()), None)


def link(source: Path, target: Path) -> None:
    """Give a file a second name by a hard link, else a copy; an older file is replaced.

    Raises:
        OSError: when neither can be made.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        if target.samefile(source):
            return
    target.unlink(missing_ok=True)
    try:
        os.link(source, target, follow_symlinks=True)
    except OSError:
        shutil.copyfile(source, target)


def _linked(item: R3Row, originals: Path) -> None:
    """Link the picture of a row, unless it is missing or outside of its folder."""
    source = item.picture
    if _is_there(item):
        suffix = source.suffix.lower() if source.suffix.lower() in PICTURE_SUFFIXES else ".png"
        link(source, originals / f"{item.idx}{suffix}")


def _is_there(item: R3Row) -> bool:
    """Return whether the picture of a row exists, inside its folder."""
    return item.picture.is_file() and lies_inside(item.picture, item.root)


def _named(item: R3Row) -> str:
    """Return the picture as the row names it."""
    return str(item.picture.relative_to(item.root)) if item.picture.is_relative_to(item.root) else str(item.picture)
