"""Downloading one file: resumed after a break, tried again after a failure, and never left half-written."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from pathlib import Path

from regard import progress
from regard.atomic import explained, make_folder
from regard.errors import CorpusError

ATTEMPTS = 5
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 30.0
BLOCK = 1 << 16
_FINAL = {400, 401, 403, 404, 406, 410, 451}
"""Answers that another attempt would not change."""


def download(url: str, path: Path) -> None:
    """Bring `url` to `path`. What an earlier attempt left in `path`.part is gone on with, not fetched again."""
    if not url.startswith(("http://", "https://")):
        raise CorpusError(f"{url}: not an address that can be downloaded; it must begin with https:// or http://")
    part = path.with_name(path.name + ".part")
    with explained(path):
        make_folder(path.parent)
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS * 2.0 ** (attempt - 1))
        try:
            _fetch(url, part)
        except urllib.error.HTTPError as error:
            reason = f"the server answers {error.code} {error.reason}"
            if error.code in _FINAL:
                raise CorpusError(f"{url}: {reason}; {_REMEDY}") from None
        except (OSError, http.client.HTTPException, _CutShortError) as error:
            reason = str(getattr(error, "reason", "") or error or type(error).__name__)
        else:
            with explained(path):
                part.replace(path)
                _tag_of(part).unlink(missing_ok=True)
            return
    raise CorpusError(
        f"{url}: cannot be downloaded ({reason}; tried {ATTEMPTS} times); run the command again to go on from there, "
        f"or, {_REMEDY}"
    )


_REMEDY = "without a network, name a folder that holds the files in the environment variable REGARD_DATA"


class _CutShortError(Exception):
    """The connection ended before the file did."""


def _fetch(url: str, part: Path) -> None:
    """One attempt: ask for what is missing, and append it."""
    have = part.stat().st_size if part.exists() else 0
    tag = _tag_of(part).read_text("utf-8") if have and _tag_of(part).exists() else ""
    headers = {"User-Agent": "regard"}
    if have:
        headers["Range"] = f"bytes={have}-"
    if have and tag:
        headers["If-Range"] = tag  # a file that has changed since is sent whole, not as the tail of another
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
        raise
    with response:
        goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT and _first_byte(response) == have
        if response.status == http.HTTPStatus.PARTIAL_CONTENT and not goes_on:
            part.unlink(missing_ok=True)
            raise _CutShortError("the server sent another part than was asked for")
        _receive(response, part, have if goes_on else 0)


def _receive(response: http.client.HTTPResponse, part: Path, have: int) -> None:
    length = response.headers.get("Content-Length", "")
    total = have + int(length) if length.isdigit() else None
    with explained(part):
        _tag_of(part).write_text(_version(response), "utf-8")
        file = open(part, "ab" if have else "wb")  # noqa: SIM115
    with file, progress.task(f"downloading {part.stem}", total, have) as work:
        while block := response.read(BLOCK):
            with explained(part):
                file.write(block)
            work.advance(len(block))
            have += len(block)
    if total is not None and have < total:
        raise _CutShortError(f"the connection was cut after {have:,} of {total:,} bytes")


def _version(response: http.client.HTTPResponse) -> str:
    """What the server calls this version of the file; a weak tag (W/…) does not vouch for the bytes."""
    tag = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _first_byte(response: http.client.HTTPResponse) -> int | None:
    """Where the part that a server sends begins: 100 for `bytes 100-199/200`."""
    span = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(span) if span.isdigit() else None


def _tag_of(part: Path) -> Path:
    """Where the server's mark of the file's version is kept, beside the part."""
    return part.with_name(part.name + ".tag")
