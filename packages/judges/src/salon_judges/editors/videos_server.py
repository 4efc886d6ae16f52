"""Servers that render videos as jobs: ``POST {base_url}/videos``, then ``GET`` of ``/videos/ID`` and ``/videos/ID/content``.

OpenAI's protocol, which vLLM-Omni and SGLang serve as well. The same settings, secrets, pacing and retries as judges have.
"""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from salon_judges.clients.chat_reply import Completion, NoCompletion, one_line, read_error
from salon_judges.clients.line_files import LineFile, lines_of
from salon_judges.clients.pacing import Clock
from salon_judges.clients.retry import Backoff, Post
from salon_judges.clients.settings import ChatSettings
from salon_judges.editors.openai_compatible import MULTIPART, ImagesServer, failed_edit, multipart
from salon_judges.formats.generations import MANIFEST
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus, Finish, MediaKind

JOBS: Final = "video_jobs.jsonl"
"""The file in a folder of `salon bench generate` that has the id of each job that a server began."""
_DONE: Final = "completed"
_NEVER: Final = ("failed", "cancelled", "expired", "deleted")
_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:-]{0,199}")
_LONGEST_LINE: Final = 1 << 12
_LONGEST_MANIFEST_LINE: Final = 1 << 20
_LONGEST_POLL_S: Final = 10.0
_SHORTEST_POLL_S: Final = 0.05


def read_job(body: bytes) -> Completion | NoCompletion:
    """Read what a server says of a job; its text is JSON of ``id``, ``status`` and ``error``.

    Example:
        >>> read_job(b'{"id": "video_1", "status": "queued", "progress": 0}').text
        '{"id": "video_1", "status": "queued", "error": ""}'
        >>> read_job(b'{"id": "../models", "status": "queued"}').problem
        'the server names no job'
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return NoCompletion("not JSON")
    if not isinstance(document, dict) or not isinstance(document.get("status"), str):
        return read_error(body)
    job_id, error = document.get("id"), document.get("error")
    if not isinstance(job_id, str) or not _ID.fullmatch(job_id):
        return NoCompletion("the server names no job", final=True)
    message = error.get("message") if isinstance(error, dict) else error
    job = {"id": job_id, "status": document["status"], "error": message if isinstance(message, str) else ""}
    return Completion(json.dumps(job), Finish.STOP)


def read_content(body: bytes) -> Completion | NoCompletion:
    """Return a body as base64; an empty one is no video."""
    return Completion(base64.b64encode(body).decode(), Finish.STOP) if body else NoCompletion("the video is empty")


class VideosServer(ImagesServer):
    """A server that renders one video per job, with the seed as the field ``seed``.

    ``settings.extra_body`` holds further fields (``size``, ``seconds``, ``num_frames``, ``fps``); one that is None is left out.
    A job that is not done after ``limits.deadline_s`` seconds is a time-out.

    Args:
        settings: the server, the model and the limits.
        environment: where the secrets are found that the settings name.
        clock: tells the time; a test's need not wait.
        jobs: a file of the jobs that were begun, beside the manifest of what was kept. After a kill, a request of the same
            bytes and seed waits for its job instead of paying for another one; a job whose video is in the manifest is no
            other request's. None: nothing is kept.

    Raises:
        InputError: when a secret that the settings name is not in the environment.
    """

    kind = "generator"
    protocol = "videos-1"
    path = "/videos"
    content_type = MULTIPART
    read = read_job

    def __init__(
        self,
        settings: ChatSettings,
        environment: Mapping[str, str] | None = None,
        *,
        clock: Clock | None = None,
        jobs: Path | None = None,
    ) -> None:
        most = max(settings.limits.most_reply_bytes, DEFAULT_VIDEO_LIMITS.most_bytes)
        limits = settings.limits.model_copy(update={"most_reply_bytes": most})
        super().__init__(settings.model_copy(update={"limits": limits}), environment, clock=clock)
        self._texts = self._endpoint_for("application/json", read_job)
        self._contents = self._endpoint_for(MULTIPART, read_content)
        self._backoff = Backoff(limits.first_wait_s, min(limits.longest_wait_s, _LONGEST_POLL_S), limits.seed)
        self._path = jobs
        self._file: LineFile | None = None
        self._begun: dict[str, list[str]] = {}

    async def close(self) -> None:
        """Close all connections and the file of jobs."""
        for endpoint in (self._endpoint, self._texts, self._contents):
            await endpoint.close()
        if self._file is not None:
            self._file.close()
        self._file = None

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return the server's video, or why it failed; ``given`` is at most one picture or video, with its bytes.

        Raises:
            InputError: several files are given; the file of jobs is damaged or in use.
        """
        if len(given) > 1:
            raise InputError("a server takes one picture or video with each prompt, not", value=len(given))
        fields = {"model": self.settings.model, "prompt": prompt, "seed": seed, **self.settings.extra_body}
        if given or self.settings.kind != "sglang":
            files = [("input_reference", each, each.data or b"") for each in given]
            try:
                body, post = await multipart(fields, files), self._endpoint.post
            except InputError as error:  # a format that servers do not take; other prompts may have others
                return Edit(None, CallStatus.REJECTED, self.version, error=str(error))
        else:  # SGLang takes a form only with a picture
            present = {key: value for key, value in fields.items() if value is not None}
            body, post = json.dumps(present).encode(), self._texts.post
        return await self._rendered(body, post, hashlib.sha256(b"%d\n%b" % (seed, body)).hexdigest())

    async def _rendered(self, body: bytes, post: Post, request: str) -> Edit:
        """Begin a job, or continue the one that an earlier start began, and return its video."""
        self._open()
        reply, number = None, 0
        if begun := self._begun.get(request):
            job_id = begun.pop(0)
            reply = await self._calls.reply([job_id.encode()], post=self._endpoint.get)
            if reply.http_status == 404 or (reply.answered and json.loads(reply.text)["status"] in _NEVER):
                reply = None  # the server has forgotten it, or it failed
        if reply is None:
            reply = await self._calls.reply([body], post=post)
            if reply.answered and self._file is not None:
                self._file.append(json.dumps({"request": request, "job": json.loads(reply.text)["id"]}).encode())
        gives_up_at = self._clock.now() + self.settings.limits.deadline_s
        while reply.answered and (job := json.loads(reply.text))["status"] != _DONE:
            if job["status"] in _NEVER:
                message = one_line(self.hide(job["error"])) or "without a reason"
                return Edit(None, CallStatus.REJECTED, self.version, error=f"the server's job {job['status']}: {message}")
            number += 1
            wait_s = max(_SHORTEST_POLL_S, self._backoff.wait_s(0, number))
            if self._clock.now() + wait_s >= gives_up_at:
                late = f"the job {job['id']} is not done after {self.settings.limits.deadline_s:g} s (limits.deadline_s)"
                return Edit(None, CallStatus.TIMEOUT, self.version, error=late)
            await self._clock.sleep(wait_s)
            reply = await self._calls.reply([job["id"].encode()], post=self._endpoint.get)
        if reply.answered:
            reply = await self._calls.reply([job["id"].encode(), b"content"], post=self._contents.get)
        if not reply.answered:
            return failed_edit(reply)
        video = Media.from_bytes(base64.b64decode(reply.text), MediaKind.VIDEO)
        if self._file is not None:
            self._file.append(json.dumps({"request": request, "job": job["id"], "sha256": video.sha256}).encode())
        return Edit(video, version=self.version)

    def _open(self) -> None:
        """Open the file of jobs, and read which were begun and not fetched, or fetched and not listed in the manifest."""
        if self._path is None or self._file is not None:
            return
        self._file = LineFile(self._path)
        listed, fetched = _listed(self._path.with_name(MANIFEST)), Counter[str]()
        for line in lines_of(self._path, _LONGEST_LINE):
            try:
                entry = json.loads(line.content)
                jobs, job_id, sha256 = self._begun.setdefault(str(entry["request"]), []), str(entry["job"]), entry.get("sha256")
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InputError("is no line of a job", source=self._path, line=line.number) from error
            if sha256 is None:
                jobs.append(job_id)
                continue
            fetched[job_id] += 1
            was_used = listed[sha256] > 0
            if job_id in jobs and (was_used or fetched[job_id] > 1):  # no video: fetched twice, and used by no line
                listed[sha256] -= was_used
                jobs.remove(job_id)


def _listed(manifest: Path) -> Counter[object]:
    """Return how many lines of a folder's manifest have each digest."""
    if not manifest.exists():
        return Counter()
    return Counter(json.loads(line.content).get("sha256") for line in lines_of(manifest, _LONGEST_MANIFEST_LINE))
