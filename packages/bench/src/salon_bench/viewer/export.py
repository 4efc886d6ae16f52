"""Write a part of ``salon view`` as static files: a page, the pages after it, and the pages of its cards.

index.html  page-DIGEST.html  pictures/DIGEST.webp (videos: .mp4)  static/page.css  static/viewer.css
"""

import html
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from salon_bench.report.thumbnails import NoThumbnail
from salon_bench.viewer.rendering import Query, no_picture
from salon_console.templates import read_text
from salon_judges.media.video_container import VIDEO_ENDINGS, container_of, media_type_of
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole

MOST_PAGES: Final = 2_000
"""Pages of one export; a run of so many cases is chosen by a filter."""
_POLICY: Final = "script-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'"
_LINK: Final = re.compile(r'(?P<before>(?:class="open" |rel="\w+" )?)(?P<name>href|src|poster)="(?P<address>[^"]*)"')
_FILTERS: Final = re.compile(r'<form [^>]*class="filters".*?</form>', re.DOTALL)
_CONTROL: Final = re.compile(r"</?form[^>]*>|<input[^>]*>|<p><button>.*?</button></p>", re.DOTALL)
_SCRIPT: Final = re.compile(r"<script .*?</script>", re.DOTALL)
_FOOTER: Final = re.compile(r"<footer>.*?</footer>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenPages:
    """What was written: the page to open, and how many pages and pictures."""

    index: Path
    pages: int
    pictures: int


def export(
    pages: Mapping[str, Callable[[Query], str]],
    picture: Callable[[str, str], bytes | NoThumbnail],
    address: str,
    folder: Path,
) -> WrittenPages:
    """Write a page and what its cards and its following pages lead to into a new folder.

    Args:
        pages: makes each page of its query, by its name.
        picture: returns the small copy of a picture, by its id and size.
        address: of the page, as the browser shows it, with or without host and token.
        folder: must be missing or empty.

    Raises:
        InputError: the folder has files, the address is none of the viewer, or it leads to too many pages; then nothing is
            written.
        SalonError: a page cannot be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", source=folder, hint="Name a new folder.")
    first = urlsplit(address)
    start = first.path.rpartition("/")[2] + (f"?{first.query}" if first.query else "")
    written: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        one = waiting.popleft()
        if one in written:
            continue
        if len({one, *written, *waiting}) > MOST_PAGES:
            hint = "Choose fewer: the address of a page with a filter."
            raise InputError(f"leads to more than {MOST_PAGES:,} pages", source=address, hint=hint)
        parts = urlsplit(one)
        name = "" if parts.path == "." else parts.path
        if name not in pages:
            raise InputError("is no page of the viewer", source="--page", value=address, found=[each for each in pages if each])
        written[one] = pages[name](parse_qs(parts.query))
        if name not in ("case", "row"):
            waiting.extend(_followed(written[one], start=name == ""))
    names = {one: "index.html" if one == start else f"page-{digest('page', one)[:16]}.html" for one in written}
    pictures: dict[str, str] = {}
    for one, page in written.items():
        write_whole(folder / names[one], _static(page, names, picture, folder, pictures), parents=True)
    for package, name in (("salon_console", "page.css"), ("salon_bench.viewer", "viewer.css")):
        write_whole(folder / "static" / name, read_text(package, name), parents=True)
    return WrittenPages(folder / "index.html", len(written), len(pictures))


def _followed(page: str, *, start: bool) -> list[str]:
    """Return the addresses of a page's cards and of the next page.

    Of the start page they are those of everything in it.
    """
    body = _FILTERS.sub("", page[page.index('<main id="content">') :])
    return [
        html.unescape(link["address"])
        for link in _LINK.finditer(body)
        if link["name"] == "href" and ("open" in link["before"] or "next" in link["before"] or start)
    ]


def _static(
    page: str,
    names: Mapping[str, str],
    picture: Callable[[str, str], bytes | NoThumbnail],
    folder: Path,
    pictures: dict[str, str],
) -> str:
    """Return a page whose links lead to files, without form, script and links to what is not exported."""

    def replaced(link: re.Match[str]) -> str:
        address = html.unescape(link["address"])
        if address.startswith(("static/", "#")):
            return link[0]
        if link["name"] != "href":
            if address not in pictures:
                pictures[address] = _written(picture, address, folder)
            return f'{link["name"]}="{pictures[address]}"'
        return f'{link["before"]}href="{names[address]}"' if address in names else link["before"].rstrip()

    page = _CONTROL.sub("", _FOOTER.sub("", _SCRIPT.sub("", _FILTERS.sub("", page)))).replace(
        '<html lang="en" data-live>', '<html lang="en">'
    )
    page = page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">', 1)
    return _LINK.sub(replaced, page)


def _written(picture: Callable[[str, str], bytes | NoThumbnail], address: str, folder: Path) -> str:
    query = parse_qs(urlsplit(address).query)
    copy = picture(query["id"][0], query["size"][0])
    content: bytes | str = no_picture(copy.why) if isinstance(copy, NoThumbnail) else copy
    ending = ".svg" if isinstance(copy, NoThumbnail) else VIDEO_ENDINGS[media_type_of(copy)] if container_of(copy) else ".webp"
    name = f"pictures/{digest('picture', address)[:20]}{ending}"
    write_whole(folder / name, content, parents=True)
    return name
