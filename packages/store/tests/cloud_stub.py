"""Google's and Azure's object stores on loopback, as far as a store needs them: conditional writes, ranges, lists, removal.

Prints its port; ``python cloud_stub.py``. Everything is held in memory, and every container exists.
"""

import hashlib
import re
import sys
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

OBJECTS: dict[str, tuple[bytes, float]] = {}
LOCK = Lock()


class Handler(BaseHTTPRequestHandler):
    """``/gs/bucket/key`` speaks Google's XML dialect, ``/az/container/key`` Azure's."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path)

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def facts(self, content: bytes, at: float) -> dict[str, str]:
        tag = hashlib.md5(content).hexdigest()
        return {"ETag": f'"{tag}"', "Last_Modified": formatdate(at, usegmt=True), "x_goog_generation": "1"}

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        create = "*" in (self.headers["If-None-Match"] or "") or self.headers["x-goog-if-generation-match"] == "0"
        with LOCK:
            taken = create and self.key in OBJECTS
            if not taken:
                OBJECTS[self.key] = content, time.time()
        if taken:
            self.reply(412, b"<Error><Code>BlobAlreadyExists</Code></Error>")
        else:
            self.reply(201 if self.key.startswith("/az/") else 200, **self.facts(*OBJECTS[self.key]))

    def do_GET(self) -> None:
        if self.query.get("list-type") or self.query.get("comp") == "list":
            self.list()
            return
        found = OBJECTS.get(self.key)
        if found is None:
            self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        content, at = found
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers["Range"] or self.headers["x-ms-range"] or "")
        if wanted is None:
            extra = {"x_ms_blob_type": "BlockBlob", "Content_Length": str(len(content))}
            self.reply(200, content, **self.facts(content, at), **extra)
            return
        first = int(wanted[1]) if wanted[1] else len(content) - int(wanted[2])
        last = min(int(wanted[2]), len(content) - 1) if wanted[1] and wanted[2] else len(content) - 1
        part = content[first : last + 1]
        self.reply(206, part, Content_Range=f"bytes {first}-{last}/{len(content)}", **self.facts(content, at))

    do_HEAD = do_GET  # noqa: N815

    def do_DELETE(self) -> None:
        with LOCK:
            known = OBJECTS.pop(self.key, None)
        self.reply(404 if known is None else 202 if self.key.startswith("/az/") else 204)

    def do_POST(self) -> None:
        """Azure's batch of removals."""
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        parts = []
        for number, key in enumerate(re.findall(r"DELETE (\S+) HTTP/1.1", asked)):
            with LOCK:
                known = OBJECTS.pop(unquote(urlsplit(key).path), None)
            status = "404 Not Found" if known is None else "202 Accepted"
            head = f"--b\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
            parts.append(f"{head}HTTP/1.1 {status}\r\nx-ms-request-id: 1\r\n\r\n")
        self.reply(202, ("".join(parts) + "--b--\r\n").encode(), Content_Type="multipart/mixed; boundary=b")

    def list(self) -> None:
        azure = self.key.startswith("/az/")
        top = self.key.rstrip("/") + "/"
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        after, start = self.query.get("start-after", ""), self.query.get("startFrom", "")
        folders: set[str] = set()
        entries = []
        with LOCK:
            known = sorted(OBJECTS.items())
        for path, (content, at) in known:
            name = path.removeprefix(top)
            if not path.startswith(top + prefix) or (after and name <= after) or name < start:
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            tag = hashlib.md5(content).hexdigest()
            if azure:
                entries.append(
                    f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{formatdate(at, usegmt=True)}</Last-Modified>"
                    f"<Content-Length>{len(content)}</Content-Length><Content-Type>x</Content-Type><Etag>{tag}</Etag></Properties></Blob>"
                )
            else:
                moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
                entries.append(
                    f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size><LastModified>{moment}</LastModified>"
                    f"<ETag>{tag}</ETag></Contents>"
                )
        if azure:
            inner = "".join(f"<BlobPrefix><Name>{escape(each)}</Name></BlobPrefix>" for each in sorted(folders))
            body = f"<EnumerationResults><Blobs>{''.join(entries)}{inner}</Blobs><NextMarker/></EnumerationResults>"
        else:
            inner = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in sorted(folders))
            body = f"<ListBucketResult>{''.join(entries)}{inner}</ListBucketResult>"
        self.reply(200, f'<?xml version="1.0" encoding="utf-8"?>{body}'.encode(), Content_Type="application/xml")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)  # noqa: T201
    sys.stdin.close()
    server.serve_forever()
