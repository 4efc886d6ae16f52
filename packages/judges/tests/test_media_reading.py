"""Files are read only where they may be, and only when they are plain files."""

import os
import socket
from pathlib import Path

import pytest

from salon_judges.media import PicturePolicy, prepare_picture
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.verdict import Reason, Unscored

MOST = 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.png").write_bytes(b"inside")
    (folder / "inner" / "b.png").write_bytes(b"deeper")
    (tmp_path / "secret").write_bytes(b"outside")
    return folder


def refused(path: Path, root: Path, most: int = MOST) -> str:
    verdict = read_inside(path, root, most)
    assert isinstance(verdict, Unscored)
    assert verdict.reason is Reason.BAD_MEDIA
    assert verdict.detail.isprintable()
    assert verdict.detail
    return verdict.detail


def test_a_file_in_the_folder_or_below_is_read(root: Path) -> None:
    assert read_inside(root / "a.png", root, MOST) == b"inside"
    assert read_inside(root / "inner" / "b.png", root, MOST) == b"deeper"
    assert read_inside(root / "inner" / ".." / "a.png", root, MOST) == b"inside"


def test_dots_do_not_lead_out_of_the_folder(root: Path) -> None:
    assert "outside" in refused(root / ".." / "secret", root)
    assert "outside" in refused(root / "inner" / ".." / ".." / "secret", root)
    assert "outside" in refused(Path("/etc/passwd"), root)


def test_a_folder_whose_name_only_begins_alike_is_outside(root: Path) -> None:
    beside = root.with_name("pictures-of-others")
    beside.mkdir()
    (beside / "a.png").write_bytes(b"x")
    assert "outside" in refused(beside / "a.png", root)


def test_a_link_counts_as_what_it_leads_to(root: Path) -> None:
    (root / "good.png").symlink_to("inner/b.png")
    (root / "bad.png").symlink_to("../secret")
    (root / "folder").symlink_to(root.parent)
    (root / "dangling.png").symlink_to("nothing")
    assert read_inside(root / "good.png", root, MOST) == b"deeper"
    assert "outside" in refused(root / "bad.png", root)
    assert "outside" in refused(root / "folder" / "secret", root)
    assert refused(root / "dangling.png", root) == "there is no such file"


def test_links_of_a_copy_of_the_hub_lead_to_the_contents_of_its_data_set_and_nowhere_else(root: Path) -> None:
    cache = root / "datasets--owner--name"
    copy = cache / "snapshots" / "c0ffee" / "pictures"
    copy.mkdir(parents=True)
    (cache / "blobs").mkdir()
    (cache / "blobs" / "1f").write_bytes(b"content")
    (copy / "a.png").symlink_to("../../../blobs/1f")
    (copy / "b.png").symlink_to("../../../../a.png")
    for folder in (copy, copy.parent):
        assert read_inside(copy / "a.png", folder, MOST) == b"content"
        assert "outside" in refused(copy / "b.png", folder)
    other = root / "models" / "snapshots" / "c0ffee"
    other.mkdir(parents=True)
    (other / "a.png").symlink_to("../../../a.png")
    assert "outside" in refused(other / "a.png", other)
    (cache / "blobs").rename(cache / "contents")
    (cache / "blobs").symlink_to(root)
    (copy / "c.png").symlink_to("../../../blobs/a.png")
    assert "outside" in refused(copy / "c.png", copy)


def test_the_folder_itself_may_be_named_through_a_link(root: Path) -> None:
    door = root.with_name("door")
    door.symlink_to(root)
    assert read_inside(door / "a.png", door, MOST) == b"inside"


def test_links_in_a_circle_are_said_to_be_so(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert "circle" in refused(root / "one", root)


def test_a_file_replaced_by_a_link_after_the_check_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Path.resolve

    def bent(self: Path, strict: bool = False) -> Path:
        found = honest(self, strict)
        if found.name == "a.png":
            found.unlink()
            found.symlink_to("../secret")
        return found

    monkeypatch.setattr(Path, "resolve", bent)
    assert "link" in refused(root / "a.png", root)


def test_what_is_no_plain_file_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe.png")
    with socket.socket(socket.AF_UNIX) as server:
        place = os.open(root, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{place}/s.png")
        finally:
            os.close(place)
        assert refused(root / "pipe.png", root) == "it is not a plain file"
        assert refused(root / "s.png", root) == "it is not a plain file"
    assert refused(root / "inner", root) == "it is a folder, not a file"
    assert refused(root, root) == "it is a folder, not a file"
    assert refused(Path("/dev/zero"), Path("/dev")) == "it is not a plain file"


def test_empty_and_large_files_are_refused_unread(root: Path) -> None:
    (root / "empty.png").touch()
    (root / "large.png").write_bytes(b"x" * 11)
    assert refused(root / "empty.png", root) == "the file is empty"
    assert refused(root / "large.png", root, most=10) == "the file has 11 bytes; at most 10 are read"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; runs for any other user")
def test_a_file_without_permission_is_said_to_be_so(root: Path) -> None:
    (root / "a.png").chmod(0)
    assert "permission" in refused(root / "a.png", root)


def test_denied_permission_has_its_own_words(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert "permission" in refused(root / "a.png", root)


@pytest.mark.parametrize("name", ["a\0b.png", "\udc80.png", "\ud800.png", "x" * 5000, "missing.png", "a.png/b.png", ""])
def test_strange_names_are_answered_in_words(root: Path, name: str) -> None:
    assert refused(root / name, root)


def test_names_with_control_characters_are_read_like_any_other(root: Path) -> None:
    (root / "a\n\x1b[31m.png").write_bytes(b"x")
    assert read_inside(root / "a\n\x1b[31m.png", root, MOST) == b"x"


def test_a_missing_root_is_no_way_out(tmp_path: Path) -> None:
    verdict = prepare_picture(tmp_path / "a.png", PicturePolicy(), tmp_path / "nothing")
    assert verdict == Unscored(Reason.BAD_MEDIA, "there is no such file")
