"""Prepared corpora: what goes in comes out, in constant memory, made once, whole or not at all."""

import errno
import json
import os
import shutil
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from regard.config import CorpusConfig, DataConfig, TokenizerConfig
from regard.data import prepared as prepared_module
from regard.data.prepared import MANIFEST, PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import CorpusError, RegardError

PAIRS = [("A man sleeps.", "Ein Mann schläft."), ("Two dogs run.", "Zwei Hunde laufen."), ("雪 ☃", "Schnee\u2028☃")]
DATA = DataConfig()


@pytest.fixture(scope="module")
def tokenizers():
    tokenizer = train_tokenizer((text for pair in PAIRS for text in pair), TokenizerConfig(vocabulary_size=300))
    return Tokenizers(tokenizer, tokenizer)


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path, "train", PAIRS)


def write_corpus(folder, name, pairs, **fields):
    for side, ending in enumerate(("en", "de")):
        (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return CorpusConfig(source=str(folder / f"{name}.en"), target=str(folder / f"{name}.de"), **fields)


def test_text_and_tokens_come_back(tmp_path, corpus, tokenizers):
    prepared = PreparedCorpus.build(tmp_path / "prepared", [corpus], DATA, tokenizers)
    assert len(prepared) == 3
    assert prepared.source_texts([2, 0]) == ["雪 ☃", "A man sleeps."]
    assert prepared.target_texts(range(3)) == [target for _, target in PAIRS]
    for index, (source, target) in enumerate(PAIRS):
        assert prepared.source_ids(index).tolist() == tokenizers.source.encode(source)
        assert prepared.target_ids(index).tolist() == tokenizers.target.encode(target)
    assert prepared.source.values.dtype == np.uint16


def test_several_corpora_keep_their_order_and_number(tmp_path, corpus, tokenizers):
    other = write_corpus(tmp_path, "other", PAIRS[:2], weight=3.0)
    prepared = PreparedCorpus.build(tmp_path / "prepared", [other, corpus], DATA, tokenizers)
    assert prepared.corpus_sizes == (2, 3)
    assert prepared.corpus_of(np.arange(5)).tolist() == [0, 0, 1, 1, 1]
    assert prepared.source_texts(range(5)) == [source for source, _ in PAIRS[:2] + PAIRS]


def test_faults_and_long_pairs_are_counted(tmp_path, tokenizers):
    corpus = write_corpus(tmp_path, "train", [*PAIRS, ("", "leer"), ("x" * 90, "y" * 90)])
    data = DataConfig(max_tokens=40)
    prepared = PreparedCorpus.build(tmp_path / "prepared", [corpus], data, tokenizers)
    assert (len(prepared), prepared.left_out) == (3, 1)
    assert prepared.faults.counts == {"empty": 1}


def test_nothing_left_says_why(tmp_path, tokenizers):
    corpus = write_corpus(tmp_path, "train", [("", "leer"), ("x" * 90, "y" * 90), ("z" * 80, "z" * 70)])
    with pytest.raises(CorpusError, match=r"train\.en.*1 empty.*2 have more than 40 tokens.*data\.max_tokens"):
        PreparedCorpus.build(tmp_path / "prepared", [corpus], DataConfig(max_tokens=40), tokenizers)
    assert not list((tmp_path / "prepared").iterdir())


def test_is_made_once(tmp_path, corpus, tokenizers, monkeypatch):
    folder = tmp_path / "prepared"
    PreparedCorpus.build(folder, [corpus], DATA, tokenizers)
    monkeypatch.setattr(prepared_module, "read_pairs", None)
    again = PreparedCorpus.build(folder, [corpus.model_copy(update={"weight": 2.0, "epochs": 3})], DATA, tokenizers)
    assert len(again) == len(PreparedCorpus.open(folder)) == 3


@pytest.mark.parametrize("change", ["text", "same-size text", "data", "tokenizer", "damage", "another layout"])
def test_is_made_anew_when_something_changed(tmp_path, corpus, tokenizers, change):
    folder, data = tmp_path / "prepared", DATA
    home = PreparedCorpus.build(folder, [corpus], data, tokenizers).folder
    made = (home / MANIFEST).stat().st_ino
    if change == "text":
        write_corpus(tmp_path, "train", [*PAIRS, PAIRS[0]])
    elif change == "same-size text":
        facts = Path(corpus.source).stat()
        write_corpus(tmp_path, "train", [PAIRS[2], PAIRS[1], PAIRS[0]])
        os.utime(corpus.source, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    elif change == "data":
        data = DataConfig(max_ratio=8.0)
    elif change == "tokenizer":
        tokenizer = train_tokenizer(iter(["quite another text"]), TokenizerConfig(vocabulary_size=300))
        tokenizers = Tokenizers(tokenizer, tokenizer)
    elif change == "damage":
        os.truncate(home / "source.tokens.values", 3)
    else:
        manifest = json.loads((home / MANIFEST).read_text())
        (home / MANIFEST).write_text(json.dumps(manifest | {"layout": 0}))
    os.link(home / MANIFEST, tmp_path / "keeps the number of the file in use")
    prepared = PreparedCorpus.build(folder, [corpus], data, tokenizers)
    assert (prepared.folder / MANIFEST).stat().st_ino != made
    assert list(folder.iterdir()) == [prepared.folder]
    assert prepared.source_texts(range(len(prepared))) == Path(corpus.source).read_text().split("\n")[:-1]
    assert prepared.source_ids(1).tolist() == tokenizers.source.encode("Two dogs run.")


@pytest.mark.parametrize("damage", ["missing", "manifest", "file", "size"])
def test_opening_a_damaged_folder_says_so(tmp_path, corpus, tokenizers, damage):
    folder = tmp_path / "prepared"
    home = PreparedCorpus.build(folder, [corpus], DATA, tokenizers).folder
    if damage == "missing":
        folder = tmp_path / "nothing"
    elif damage == "manifest":
        (home / MANIFEST).write_text("[1, 2")
    elif damage == "file":
        (home / "target.text.offsets").unlink()
    else:
        (home / "target.tokens.values").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"nothing: no prepared|prepared.*damaged"):
        PreparedCorpus.open(folder)


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(tmp_path, corpus, tokenizers, monkeypatch):
    def full(self, texts):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(prepared_module.RaggedWriter, "write_texts", full)
    with pytest.raises(RegardError, match="No space left on device"):
        PreparedCorpus.build(tmp_path / "prepared", [corpus], DATA, tokenizers)
    assert not list((tmp_path / "prepared").iterdir())


def test_an_interrupted_build_keeps_the_corpus_of_before(tmp_path, corpus, tokenizers, monkeypatch):
    folder = tmp_path / "prepared"
    before = PreparedCorpus.build(folder, [corpus], DATA, tokenizers)

    def interrupted(self, texts):
        raise KeyboardInterrupt

    monkeypatch.setattr(prepared_module.RaggedWriter, "write_texts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PreparedCorpus.build(folder, [corpus], DataConfig(max_ratio=8.0), tokenizers)
    assert list(folder.iterdir()) == [before.folder]
    assert len(PreparedCorpus.open(folder)) == 3


def test_what_a_killed_build_left_is_swept_away_and_nothing_else(tmp_path, corpus, tokenizers):
    folder = tmp_path / "prepared"
    (folder / ".0123456789abcdef.01234567.part").mkdir(parents=True)
    (folder / ".0123456789abcdef.01234567.part" / "source.text.values").write_text("half")
    (folder / "thesis.txt").write_text("years of work")
    prepared = PreparedCorpus.build(folder, [corpus], DATA, tokenizers)
    assert set(folder.iterdir()) == {prepared.folder, folder / "thesis.txt"}


def test_what_a_kill_left_of_other_files_goes_though_nothing_is_made(tmp_path, corpus, tokenizers):
    folder = tmp_path / "prepared"
    home = PreparedCorpus.build(folder, [corpus], DATA, tokenizers).folder
    shutil.copytree(home, folder / "0000")
    PreparedCorpus.build(folder, [corpus], DATA, tokenizers)
    assert PreparedCorpus.open(folder).folder == home


def test_only_one_of_many_builders_works(tmp_path, corpus, tokenizers, monkeypatch):
    reads = []
    read_pairs = prepared_module.read_pairs
    monkeypatch.setattr(prepared_module, "read_pairs", lambda *given: reads.append(1) or read_pairs(*given))
    sizes = []
    threads = [
        threading.Thread(
            target=lambda: sizes.append(len(PreparedCorpus.build(tmp_path / "prepared", [corpus], DATA, tokenizers)))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == [3] * 4
    assert len(reads) == 1


def test_memory_does_not_grow_with_the_corpus(tmp_path, tokenizers, monkeypatch):
    monkeypatch.setattr(prepared_module, "CHUNK_PAIRS", 200)

    def peak(pairs):
        corpus = write_corpus(tmp_path, f"of-{pairs}", [PAIRS[i % 3] for i in range(pairs)])
        tracemalloc.start()
        try:
            PreparedCorpus.build(tmp_path / f"prepared-{pairs}", [corpus], DATA, tokenizers)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(600)
    assert peak(9_000) < 1.5 * peak(1_800)


def test_large_vocabularies_take_wider_numbers(tmp_path, corpus, tokenizers):
    tokenizer = tokenizers.source

    class Wide:
        vocabulary_size = 1 << 17
        to_json = tokenizer.to_json

        def encode_batch(self, texts):
            return [[70_000 + token for token in row] for row in tokenizer.encode_batch(texts)]

    prepared = PreparedCorpus.build(tmp_path / "prepared", [corpus], DATA, Tokenizers(Wide(), tokenizer))
    assert prepared.source_ids(0).tolist() == [70_000 + token for token in tokenizer.encode(PAIRS[0][0])]
    assert prepared.target_ids(0).tolist() == tokenizer.encode(PAIRS[0][1])
