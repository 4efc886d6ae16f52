"""All pictures and videos come in through one room, and no file of a stranger starts a program, whoever opens it."""

import ast
import asyncio
import base64
import io
import json
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from curate_world import made
from PIL import Image

from salon_arena.blind import BlindMedia
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.registry import suite_named
from salon_curate import asks
from salon_curate.engine import inline
from salon_curate.judging import judge_stage
from salon_curate.measures import look
from salon_curate.running import run
from salon_curate.selection import read_columns
from salon_judges.clients.scorer import ScorerJudge
from salon_judges.formats.generations import Generated
from salon_rewards.callables.reward import each_paid
from salon_rewards.callables.scorer import ScorerReward
from salon_rewards.serving.app import RewardServer
from salon_synthetic import PixelJudge
from salon_synthetic.scenes.drawing import read_picture
from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError, picture_failures
from salon_taxonomy.scorers import checked_scorer
from salon_taxonomy.training_example import TrainingExample
from salon_taxonomy.verdict import Unscored
from salon_train.data.conversion import sft_dataset
from salon_train.data.pictures import Look, check_format, look_at
from salon_train.run.greedy import opened

ROOM = ("salon_taxonomy/picture_formats.py", "salon_judges/media/video_container.py")
"""The files that may open pictures, and videos."""
DECODERS = {"cv2", "imageio", "skimage", "wand", "pyvips", "simplejpeg", "decord", "moviepy"}


def opens(path: Path) -> Iterator[str]:
    """What of a file opens media by itself, from its syntax tree."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("Image.open", "PIL.Image.open", "ImageFile.Parser"):
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "av.open":
            mode = [
                ast.unparse(each) for each in (*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode"))
            ]
            if mode != ["'w'"]:
                yield f"{node.lineno}: av.open"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {"PIL", *DECODERS}:
            names = {alias.name for alias in node.names}
            decoder = any(name == "open" or (name.endswith("ImageFile") and name != "ImageFile") for name in names)
            if decoder or (node.module or "").partition(".")[0] in DECODERS:
                yield f"{node.lineno}: from {node.module} import {', '.join(names)}"
        elif isinstance(node, ast.Import):
            yield from (
                f"{node.lineno}: import {alias.name}" for alias in node.names if alias.name.partition(".")[0] in DECODERS
            )


def test_only_one_room_opens_pictures_and_videos(packages: Mapping[str, Path]) -> None:
    found = {
        str(path.relative_to(source.parent)): list(opens(path)) for source in packages.values() for path in source.rglob("*.py")
    }
    assert len(found) > 500
    assert {name: words for name, words in found.items() if words and name not in ROOM} == {}
    assert found["salon_judges/media/video_container.py"], "the test sees what opens a video"


# ------------------------------------------------------------------------------------------------------------ hostile files


def encoded(kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(stream, kind, **options)
    return stream.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG file that claims a size, with hardly any data."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 10_000)) + chunk(b"IEND", b"")


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n(x) (w) file\nshowpage\n%%EOF\n"
STARTS = {
    "eps": EPS,
    "eps with a preview": b"\xc5\xd0\xd3\xc6" + struct.pack("<IIIIII", 30, len(EPS), 0, 0, 0, 0) + b"\xff\xff" + EPS,
    "eps after a mark": b"\xef\xbb\xbf" + EPS,
    "postscript": b"%!\n(%pipe%touch x) (w) file\n",
    "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\n%%EOF",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "html": b"<!DOCTYPE html><img src=x onerror=alert(1)>",
    "msl": b"<?xml version='1.0'?><image><read filename='caption:x'/></image>",
    "mvg": b"push graphic-context\nfill 'url(https://127.0.0.1/x\"|touch x\")'\npop graphic-context",
    "wmf": b"\xd7\xcd\xc6\x9a" + b"\0" * 60,
    "emf": b"\1\0\0\0" + b"\0" * 36 + b" EMF" + b"\0" * 60,
    "psd": b"8BPS\0\1" + b"\0" * 60,
    "ico": b"\0\0\1\0\1\0" + b"\0" * 60,
    "cur": b"\0\0\2\0\1\0" + b"\0" * 60,
    "icns": b"icns\0\0\0\x20" + b"\0" * 60,
    "fits": b"SIMPLE  =                    T" + b" " * 2850,
    "hdf5": b"\x89HDF\r\n\x1a\n" + b"\0" * 60,
    "grib": b"GRIB\0\0\0\1" + b"\0" * 60,
    "bufr": b"BUFR\0\0\0\4" + b"\0" * 60,
    "fpx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600,
    "dcx": b"\xb1\x68\xde\x3a" + b"\0" * 60,
    "pcx": b"\x0a\x05\x01\x08" + b"\0" * 128,
    "sgi": b"\x01\xda\0\1" + b"\0" * 512,
    "sun": b"\x59\xa6\x6a\x95" + b"\0" * 60,
    "xbm": b"#define x_width 8\n#define x_height 8\nstatic char x_bits[] = {0};",
    "xpm": b'/* XPM */\nstatic char *x[] = {"1 1 1 1", "a c red", "a"};',
    "blp": b"BLP2" + b"\0" * 200,
    "dds": b"DDS " + b"\0" * 200,
    "ftex": b"FTEX" + b"\0" * 100,
    "gbr": b"\0\0\0\x1c\0\0\0\2" + b"\0" * 60,
    "fli": b"\0\0\0\0\x11\xaf" + b"\0" * 200,
    "im": b"Image type: RGB image\r\nImage size (x*y): 8*8\r\n" + b"\0" * 600,
    "iptc": b"\x1c\1\0" + b"\0" * 60,
    "mic": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"M" * 600,
    "mpeg": b"\0\0\1\xb3" + b"\0" * 60,
    "pcd": b"\0" * 2048 + b"PCD_" + b"\0" * 2048,
    "pixar": b"\x80\xe8\0\0" + b"\0" * 600,
    "spider": struct.pack(">12f", *[1.0] * 12) + b"\0" * 1000,
    "tga": b"\0\0\2" + b"\0" * 9 + b"\x08\0\x08\0\x18\0" + b"\0" * 192,
    "wal": b"x" * 1000,
    "xv": b"P7 332\n#XVVERSION\n#END_OF_COMMENTS\n8 8 255\n",
    "jpeg 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + b"\0" * 60,
    "jpeg 2000 stream": b"\xff\x4f\xff\x51" + b"\0" * 60,
    "qoi": b"qoif" + b"\0" * 60,
    "ppm": b"P6 8 8 255\n" + b"\0" * 192,
    "playlist": b"#EXTM3U\nfile:///etc/passwd\n",
    "concat": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "script": b"#!/bin/sh\ntouch x\n",
    "elf": b"\x7fELF\2\1\1" + b"\0" * 60,
    "zip": b"PK\3\4" + b"\0" * 60,
    "pickle": b"\x80\4cos\nsystem\n(S'touch x'\ntR.",
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "png that breaks off": encoded("PNG")[:40],
    "png with a wrong sum": encoded("PNG").replace(b"IDAT", b"IDAT", 1)[:-20] + b"\0" * 20,
    "png of 10^10 pixels": png_of(100_000, 100_000),
    "png and eps": encoded("PNG")[:20] + EPS,
    "jpeg and eps": b"\xff\xd8\xff" + EPS,
    "gif and eps": b"GIF89a" + EPS,
    "bmp and eps": b"BM" + EPS,
    "tiff and eps": b"II*\0" + EPS,
    "tiff whose pages go in circles": b"II*\0\x08\0\0\0" + b"\0\0\x08\0\0\0",
    "webp and eps": b"RIFF\xff\0\0\0WEBP" + EPS,
    "avif and eps": b"\0\0\0\x20ftypavif" + EPS,
}
SOUND = {"png": encoded("PNG"), "jpeg": encoded("JPEG"), "webp": encoded("WEBP"), "gif": encoded("GIF"), "bmp": encoded("BMP")}
STARTING = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty", "pty.spawn")
STARTED: list[tuple[str, object]] = []
WATCHING = [False]


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if WATCHING[0] and event in STARTING:
        STARTED.append((event, arguments))


@pytest.fixture(scope="module")
def _audited() -> None:
    sys.addaudithook(_hook)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _audited: None) -> Path:
    """A ``gs`` and other programs first on the path, which leave a file behind."""
    programs, marker = tmp_path / "programs", tmp_path / "started"
    programs.mkdir()
    for name in ("gs", "gswin32c", "convert", "magick", "ffmpeg", "inkscape"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {marker}\nexit 0\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return marker


@contextmanager
def traced(marker: Path) -> Iterator[None]:
    STARTED.clear()
    WATCHING[0] = True
    try:
        yield
    finally:
        WATCHING[0] = False
    assert STARTED == [] and not marker.exists(), marker.read_text() if marker.exists() else ""


def test_the_trap_sees_the_program_that_pillow_starts_by_itself(trap: Path) -> None:
    from PIL import EpsImagePlugin

    EpsImagePlugin.gs_binary = None  # as before the first file
    with pytest.raises(AssertionError, match="gs"), traced(trap), suppress(*picture_failures()):
        Image.open(io.BytesIO(EPS)).load()


def files(folder: Path, ending: str = "png") -> dict[str, Path]:
    """All files of strangers, and sound ones, under names of pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for number, (name, data) in enumerate((STARTS | SOUND).items()):
        paths[name] = folder / f"p{number:03}.{ending}"
        paths[name].write_bytes(data)
    return paths


def count(images: Any, prompts: Any) -> list[float]:
    return [0.5 for _ in images]


count.version = "1"  # type: ignore[attr-defined]


def served(folder: Path) -> set[str]:
    """The names of the files that a reward server scores."""
    coded = [base64.b64encode(data).decode() for data in (STARTS | SOUND).values()]
    names = list(STARTS | SOUND)

    async def asked() -> list[Any]:
        server = RewardServer(ScorerReward(checked_scorer(count)))
        async with TestServer(server.application()) as running, ClientSession() as session:
            body = {"prompts": names, "images": coded}
            async with session.post(running.make_url("/score"), json=body) as response:
                assert response.status == 200, await response.text()
                return list((await response.json())["scores"])

    return {name for name, score in zip(names, asyncio.run(asked()), strict=True) if score is not None}


def rewarded(folder: Path) -> set[str]:
    reward, contents = ScorerReward(checked_scorer(count)), STARTS | SOUND
    found = set()
    for images in ([*contents.values()], [str(path) for path in files(folder).values()]):
        paid = asyncio.run(each_paid(reward, [""] * len(images), {"images": images, "prompts": [*contents]}))
        found |= {name for name, each in zip(contents, paid, strict=True) if not isinstance(each, Unscored)}
    return found


def benched(folder: Path) -> set[str]:
    paths = files(folder / "pictures")
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt_id": path.stem, "prompt": name}) + "\n" for name, path in paths.items()))
    judge = ScorerJudge(checked_scorer(count))
    plan = planned(suite_named("scorer"), [SubjectModel("ours", folder / "pictures")], judge, prompts=prompts)
    assert asyncio.run(execute(plan, judge, folder / "results")).complete
    rows = RunView(folder / "results", plan.plan.run_id).rows("scores")
    scored = set(rows.filter(rows["value"].is_not_null())["prompt_id"])
    return {name for name, path in paths.items() if path.stem in scored}


def curated(folder: Path) -> set[str]:
    paths = files(folder / "in/pictures")
    table = folder / "in/rows.jsonl"
    rows = [{"key": path.stem, "image": f"pictures/{path.name}", "prompt": name} for name, path in paths.items()]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = made(folder / "d", table, shard_rows=100)
    stages = [look, judge_stage(asks.agreement(), PixelJudge())]
    run(dataset, stages, engine=inline)
    found = read_columns(dataset, stages, ["width"]).collect()
    measured = set(found.filter(found["width"].is_not_null())["key"])
    return {name for name, path in paths.items() if path.stem in measured}


def shown_in_an_arena(folder: Path) -> set[str]:
    blind = BlindMedia()
    found = set()
    for ending in ("png", "mp4"):
        for name, path in files(folder / ending, ending).items():
            shown = blind.prepared([Generated("p", "m", 0, path, path.parent)])
            found |= {name} if not isinstance(shown, Unscored) else set()
    return found


def trained(folder: Path) -> set[str]:
    found = set()
    truth = MagicMirrorAnswer(normal=True)
    for name, path in files(folder).items():
        if not isinstance(look_at(path.name, folder, Look.OPENS), str):
            found.add(name)
        for picture in (path, path.read_bytes()):
            with suppress(InputError, *picture_failures()):
                check_format(picture)
                rows = sft_dataset([TrainingExample(example_id=name, image=picture, truth=truth)])
                _ = rows[0]["images"]
        with suppress(InputError, *picture_failures()):
            opened(path.read_bytes())
    return found


def drawn_again(folder: Path) -> set[str]:
    found = set()
    for name, data in (STARTS | SOUND).items():
        with suppress(InputError):
            read_picture(data)
            found.add(name)
    return found


WAYS: dict[str, Callable[[Path], set[str]]] = {
    "salon reward serve": served,
    "make_reward('scorer:…')": rewarded,
    "salon bench run scorer": benched,
    "salon curate run": curated,
    "salon arena serve": shown_in_an_arena,
    "salon train": trained,
    "the judge and editor of scenes": drawn_again,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_file_of_a_stranger_starts_a_program_and_only_sound_ones_are_read(way: str, tmp_path: Path, trap: Path) -> None:
    assert len(STARTS) >= 60
    with traced(trap):
        read = WAYS[way](tmp_path / "work")
    assert read == set(SOUND), f"{way} also reads {read - set(SOUND)}, and not {set(SOUND) - read}"
