"""A picture is decoded once while it is remembered, and what is remembered never outgrows its bounds."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from salon_judges.media import PictureCache, PicturePolicy, PreparedPicture
from salon_judges.media.picture_cache import ByteCache
from salon_taxonomy.verdict import Unscored

KEEP = PicturePolicy()


def drawn(folder: Path, count: int, size: int = 16) -> list[Path]:
    paths = [folder / f"{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        Image.new("RGB", (size, size), (number % 256, number // 256, 7)).save(path)
    return paths


def test_copies_of_a_picture_are_decoded_once(tmp_path: Path) -> None:
    (first,) = drawn(tmp_path, 1)
    (tmp_path / "copy.png").write_bytes(first.read_bytes())
    cache = PictureCache()
    one, other = (cache.prepare(path, KEEP, tmp_path) for path in (first, tmp_path / "copy.png"))
    assert one is other
    assert cache.decoded == 1


def test_another_policy_or_another_content_is_another_picture(tmp_path: Path) -> None:
    path, second = drawn(tmp_path, 2)
    cache = PictureCache()
    cache.prepare(path, KEEP, tmp_path)
    small = cache.prepare(path, PicturePolicy(longest_side=4), tmp_path)
    assert isinstance(small, PreparedPicture)
    assert small.width == 4
    before = cache.prepare(path, KEEP, tmp_path)
    path.write_bytes(second.read_bytes())
    assert cache.prepare(path, KEEP, tmp_path) != before
    assert cache.decoded == 3


def test_a_picture_that_cannot_be_judged_is_remembered_and_one_that_cannot_be_read_is_not(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    cache = PictureCache()
    for _ in range(3):
        assert isinstance(cache.prepare(tmp_path / "bad.png", KEEP, tmp_path), Unscored)
        assert isinstance(cache.prepare(tmp_path / "none.png", KEEP, tmp_path), Unscored)
    assert cache.decoded == 1
    assert isinstance(cache.prepare(drawn(tmp_path, 1)[0], KEEP, tmp_path), PreparedPicture)


def test_the_shelf_never_holds_more_than_it_may(tmp_path: Path) -> None:
    cache = PictureCache(most_bytes=20_000)
    for path in drawn(tmp_path, 100):
        cache.prepare(path, KEEP, tmp_path)
        assert cache.bytes <= 20_000
    assert cache.decoded == 100


def test_threads_that_want_one_picture_share_its_decoding(tmp_path: Path) -> None:
    (path,) = drawn(tmp_path, 1, size=400)
    cache = PictureCache()
    start = threading.Barrier(8)

    def get(_: int) -> object:
        start.wait()
        return cache.prepare(path, KEEP, tmp_path)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(get, range(8)))
    assert all(each is found[0] for each in found)
    assert cache.decoded == 1


def test_threads_that_want_many_pictures_get_each_the_right_one(tmp_path: Path) -> None:
    paths = drawn(tmp_path, 40)
    cache = PictureCache(most_bytes=15_000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: cache.prepare(path, KEEP, tmp_path), paths * 10))
    for path, ready in zip(paths * 10, found, strict=True):
        assert isinstance(ready, PreparedPicture)
        assert ready.media.data == path.read_bytes()


@given(st.integers(0, 30), st.lists(st.integers(0, 9)))
def test_a_bounded_cache_gives_the_right_value_and_keeps_its_bound(most: int, keys: list[int]) -> None:
    cache: ByteCache[int, str] = ByteCache(most, len)
    for key in keys:
        assert cache.get(key, lambda key=key: str(key) * key) == str(key) * key
        assert cache.bytes <= most
    assert cache.made <= len(keys)


def test_a_failed_making_is_seen_by_all_who_wait_and_forgotten() -> None:
    cache: ByteCache[str, str] = ByteCache(10, len)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: str(1 / 0))
    assert cache.get("a", lambda: "fine") == "fine"
