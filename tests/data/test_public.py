"""Public corpora: the downloader against a local server, the check by sha256, and one layout either way."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from regard.data import public, public_files, tatoeba
from regard.data.download import ATTEMPTS, download
from regard.data.public import bring_multi30k, bring_tatoeba
from regard.data.public_hashes import MULTI30K, TATOEBA
from regard.errors import CorpusError, RegardError

SHARED = Path(os.environ.get("REGARD_DATA") or Path(__file__).parents[2] / "../shared/data")


class Site:
    """A small web site: files by path, with breaks on request, and a record of what was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []  # the next answers break off after so many bytes
        self.codes: list[int] = []  # the next answers are these codes
        self.ranges = True
        self.tag = '"v1"'
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        span = handler.headers.get("Range")
        self.asked.append((handler.path, span))
        content = self.files.get(handler.path)
        if self.codes or content is None:
            handler.send_error(self.codes.pop(0) if self.codes else 404)
            return
        start = 0
        if span and self.ranges and handler.headers.get("If-Range", self.tag) == self.tag:
            start = int(span.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.tag:
            handler.send_header("ETag", self.tag)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        end = start + self.cuts.pop(0) if self.cuts else len(content)
        handler.wfile.write(content[start:end])


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("REGARD_DATA", raising=False)
    monkeypatch.setattr("regard.data.download.PAUSE_SECONDS", 0.0)
    here = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.answer(self)

        def log_message(self, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield here
    server.shutdown()
    server.server_close()
    thread.join()


CONTENT = os.urandom(300_000)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class TestDownload:
    def test_a_file_arrives(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"] = CONTENT
        download(f"{site.url}/a", tmp_path / "deep" / "a")
        assert (tmp_path / "deep" / "a").read_bytes() == CONTENT
        assert names(tmp_path) == ["deep/a"]

    @pytest.mark.parametrize("tag", ['"v1"', 'W/"weak"', ""])
    def test_a_cut_connection_is_resumed_where_it_broke(self, site: Site, tmp_path: Path, tag: str) -> None:
        site.files["/a"], site.cuts, site.tag = CONTENT, [100_000, 50_000], tag
        download(f"{site.url}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == CONTENT
        assert site.asked == [("/a", None), ("/a", "bytes=100000-"), ("/a", "bytes=150000-")]
        assert names(tmp_path) == ["a"]

    def test_the_next_run_goes_on_too(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"], site.cuts = CONTENT, [10_000] * ATTEMPTS
        with pytest.raises(CorpusError, match=r"the connection was cut after 50,000 of 300,000 bytes; tried 5 times"):
            download(f"{site.url}/a", tmp_path / "a")
        assert not (tmp_path / "a").exists()
        download(f"{site.url}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == CONTENT
        assert site.asked[-1] == ("/a", "bytes=50000-")

    def test_a_file_that_changed_meanwhile_is_fetched_whole(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"], site.cuts = CONTENT, [10_000] * ATTEMPTS
        with pytest.raises(CorpusError):
            download(f"{site.url}/a", tmp_path / "a")
        site.files["/a"], site.tag = CONTENT[::-1], '"v2"'
        download(f"{site.url}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == CONTENT[::-1]

    def test_a_server_without_ranges(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"], site.cuts, site.ranges = CONTENT, [100_000], False
        download(f"{site.url}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == CONTENT

    def test_a_part_as_long_as_the_file_is_fetched_again(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"] = CONTENT
        (tmp_path / "a.part").write_bytes(b"x" * len(CONTENT))
        download(f"{site.url}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == CONTENT

    def test_a_passing_failure_is_tried_again_and_404_is_not(self, site: Site, tmp_path: Path) -> None:
        site.files["/a"], site.codes = CONTENT, [503, 500]
        download(f"{site.url}/a", tmp_path / "a")
        assert len(site.asked) == 3
        with pytest.raises(CorpusError, match=r"/none: the server answers 404 Not Found; .* REGARD_DATA"):
            download(f"{site.url}/none", tmp_path / "b")
        assert len(site.asked) == 4

    def test_no_server_and_no_address(self, site: Site, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"cannot be downloaded \(.*refused"):
            download("http://127.0.0.1:9/a", tmp_path / "a")
        with pytest.raises(CorpusError, match="must begin with https://"):
            download("file:///etc/passwd", tmp_path / "a")

    def test_a_folder_that_cannot_be_made(self, site: Site, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(RegardError, match="a part of that path is a file"):
            download(f"{site.url}/a", tmp_path / "file" / "a")


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@pytest.fixture
def small_multi30k(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A Multi30k of two files."""
    texts = {"raw/val.en.gz": b"A dog.\n", "tok/val.en.gz": b"a dog .\n"}
    monkeypatch.setattr(public, "MULTI30K", {name: sha256(text) for name, text in texts.items()})
    return texts


class TestMulti30k:
    def serve(self, site: Site, texts: dict[str, bytes]) -> None:
        site.files[f"/{public._RAW_COMMIT}/data/task1/raw/val.en.gz"] = gzip.compress(texts["raw/val.en.gz"])
        site.files[f"/{public._TOK_COMMIT}/data/task1/tok/val.lc.norm.tok.en"] = texts["tok/val.en.gz"]

    def test_download_and_local_folder_give_the_same_files(
        self, site: Site, small_multi30k: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.serve(site, small_multi30k)
        brought = bring_multi30k(tmp_path / "one", site.url)
        assert brought.exact
        assert names(tmp_path / "one") == ["multi30k/README.txt", "multi30k/raw/val.en.gz", "multi30k/tok/val.en.gz"]
        for name, text in small_multi30k.items():
            path = tmp_path / "local" / "multi30k" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text, 1))
        monkeypatch.setenv("REGARD_DATA", str(tmp_path / "local"))
        bring_multi30k(tmp_path / "two", "http://127.0.0.1:9")
        for name in names(tmp_path / "one"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert gzip.decompress((tmp_path / "two/multi30k/tok/val.en.gz").read_bytes()) == b"a dog .\n"

    def test_what_is_in_place_is_not_fetched_again_and_what_is_damaged_is(
        self, site: Site, small_multi30k: dict[str, bytes], tmp_path: Path
    ) -> None:
        self.serve(site, small_multi30k)
        bring_multi30k(tmp_path, site.url)
        asked = len(site.asked)
        bring_multi30k(tmp_path, site.url)
        assert len(site.asked) == asked
        (tmp_path / "multi30k/raw/val.en.gz").write_bytes(b"\x1f\x8bdamage")
        bring_multi30k(tmp_path, site.url)
        assert len(site.asked) == asked + 1

    def test_a_wrong_hash_is_an_error_and_nothing_is_kept(
        self, site: Site, small_multi30k: dict[str, bytes], tmp_path: Path
    ) -> None:
        self.serve(site, small_multi30k | {"raw/val.en.gz": b"A cat.\n"})
        with pytest.raises(CorpusError, match=r"raw/val\.en\.gz: what came has sha256 \w{16}…, not \w{16}…"):
            bring_multi30k(tmp_path, site.url)
        assert names(tmp_path) == []
        self.serve(site, small_multi30k)
        bring_multi30k(tmp_path, site.url)
        assert len(names(tmp_path)) == 3

    def test_a_folder_without_the_corpus(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REGARD_DATA", str(tmp_path / "nowhere"))
        for bring in (bring_multi30k, bring_tatoeba):
            with pytest.raises(CorpusError, match=r"REGARD_DATA is .*nowhere, where there is no folder"):
                bring(tmp_path / "data")
        (tmp_path / "nowhere" / "multi30k").mkdir(parents=True)
        with pytest.raises(CorpusError, match=r"train\.en\.gz: cannot be read .* unset it to download"):
            bring_multi30k(tmp_path / "data")

    def test_every_file_of_the_recipes_has_an_address(self) -> None:
        assert len(MULTI30K) == 18
        address = public._multi30k_address("tok/test_2016_flickr.de.gz")
        assert address == f"{public._TOK_COMMIT}/data/task1/tok/test_2016_flickr.lc.norm.tok.de"


def archive(name: str, text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("../../escape.txt", "x")
        file.writestr("_about.txt", "about")
        file.writestr(name, text)
    return packed.getvalue()


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]


class TestTatoeba:
    def serve(self, site: Site, change: Callable[[str], str] = lambda text: text) -> None:
        for code in ("cmn", "deu"):
            rows = [f"English {number}.\t{code} {number}.\tCC-BY #{number}" for number in range(100)]
            rows.append("English 5.\tanother\tCC-BY")
            site.files[f"/{code}-eng.zip"] = archive(f"{code}.txt", change("\ufeff" + "\n".join(rows) + "\n"))

    def test_a_download_is_split_without_crossing_and_says_so(self, site: Site, tmp_path: Path) -> None:
        self.serve(site)
        brought = bring_tatoeba(tmp_path / "data", site.url)
        assert [entry.exact for entry in brought] == [False, False]
        folder = tmp_path / "data" / "tatoeba-de-en"
        wanted = [*(f"{part}.{code}.gz" for part in tatoeba.PARTS for code in ("de", "en"))]
        assert names(folder) == sorted([*wanted, "README.txt", "attribution.tsv.gz"])
        parts = {
            part: list(zip(lines_of(folder / f"{part}.de.gz"), lines_of(folder / f"{part}.en.gz"), strict=True))
            for part in tatoeba.PARTS
        }
        assert {part: len(pairs) for part, pairs in parts.items()} == {"train": 81, "valid": 10, "test": 10}
        assert all(
            german == f"deu {english.removeprefix('English ')}" or german == "another"
            for pairs in parts.values()
            for german, english in pairs
        )
        readme = (folder / "README.txt").read_text("utf-8")
        assert "It is NOT the split that the figures in" in readme
        assert sha256(gzip.decompress((folder / "test.de.gz").read_bytes())) in readme
        assert "CC-BY #7" in gzip.decompress((folder / "attribution.tsv.gz").read_bytes()).decode()
        assert not (tmp_path / "escape.txt").exists()
        assert names(tmp_path)[0].startswith("data/")

    def test_a_second_run_downloads_nothing(self, site: Site, tmp_path: Path) -> None:
        self.serve(site)
        first = bring_tatoeba(tmp_path, site.url)
        asked = len(site.asked)
        assert bring_tatoeba(tmp_path, site.url) == first
        assert len(site.asked) == asked == 2

    def test_archives_that_cannot_be_used(self, site: Site, tmp_path: Path) -> None:
        self.serve(site)
        site.files["/cmn-eng.zip"] = b"<html>Please do not download</html>"
        with pytest.raises(CorpusError, match=r"not the archive we know .* nothing was kept"):
            bring_tatoeba(tmp_path, site.url)
        site.files["/cmn-eng.zip"] = archive("other.txt", "x\ty\n")
        with pytest.raises(CorpusError, match=r"no cmn\.txt in it"):
            bring_tatoeba(tmp_path, site.url)
        site.files["/cmn-eng.zip"] = archive("cmn.txt", "<html></html>")
        with pytest.raises(CorpusError, match="holds 0 sentence pairs; its format must have changed"):
            bring_tatoeba(tmp_path, site.url)
        assert names(tmp_path) == []

    def test_the_published_splits_come_from_a_local_folder(
        self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known = {}
        for folder, language in (("tatoeba-zh-en", "zh"), ("tatoeba-de-en", "de")):
            home = tmp_path / "local" / folder
            home.mkdir(parents=True)
            known[folder] = {}
            for name in (f"{part}.{code}.gz" for part in tatoeba.PARTS for code in (language, "en")):
                (home / name).write_bytes(gzip.compress(name.encode()))
                known[folder][name] = sha256(name.encode())
            (home / "ABOUT.txt").write_text("licence")
        monkeypatch.setattr(tatoeba, "TATOEBA", known)
        monkeypatch.setenv("REGARD_DATA", str(tmp_path / "local"))
        assert all(entry.exact for entry in bring_tatoeba(tmp_path / "data", site.url))
        assert (tmp_path / "data/tatoeba-de-en/ABOUT.txt").read_text() == "licence"
        monkeypatch.delenv("REGARD_DATA")
        assert all(entry.exact for entry in bring_tatoeba(tmp_path / "data", site.url))
        assert site.asked == []


@pytest.mark.skipif(not (SHARED / "multi30k").is_dir(), reason="the public corpora are not here (REGARD_DATA)")
def test_the_hashes_are_those_of_the_text() -> None:
    sets = {"multi30k": MULTI30K, **TATOEBA}
    for folder, known in sets.items():
        for name, digest in known.items():
            assert public_files.is_there(SHARED / folder / name, digest), name
