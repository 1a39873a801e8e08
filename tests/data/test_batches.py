"""Batches: every pair once, within the budget, with little padding, in an order that can be resumed and shared."""

import threading
from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from regard.config import Config, CorpusConfig, DataConfig, TokenizerConfig, TrainConfig
from regard.data import pools
from regard.data.batch import cut_into_batches
from regard.data.batches import Batch, FixedBatches, Position, TrainingBatches, collate, padding
from regard.data.corpus import read_pairs
from regard.data.pools import EpochOrder
from regard.data.prefetch import prefetched
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from regard.errors import CorpusError, RegardError

PAIRS = 1500
BATCH_TOKENS = 256


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus of sentences of 1 to 20 words, its tokenizer and its prepared form."""
    folder = tmp_path_factory.mktemp("batches")
    random = np.random.default_rng(0)
    words = ["the", "dogs", "running", "street", "because", "animal", "tired", "wide"]
    for name, size in (("one", PAIRS), ("two", 60)):
        for ending in ("en", "de"):
            lines = (" ".join(random.choice(words, random.integers(6, 20))) for _ in range(size))
            (folder / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def tokenizers(folder):
    tokenizer = train_tokenizer(iter((folder / "one.en").read_text().split("\n")), TokenizerConfig(vocabulary_size=330))
    return Tokenizers(tokenizer, tokenizer)


@pytest.fixture
def small_pools(monkeypatch):
    monkeypatch.setattr(pools, "POOL_PAIRS", 400)
    monkeypatch.setattr(pools, "DROPOUT_POOL_PAIRS", 400)
    monkeypatch.setattr(pools, "CHUNK_PAIRS", 90)


def corpus(folder, name, weight=1.0, epochs=None):
    files = {side: str(folder / f"{name}.{language}") for side, language in (("source", "en"), ("target", "de"))}
    return CorpusConfig(**files, weight=weight, epochs=epochs)


def make(
    folder,
    tokenizers,
    *,
    dropout=0.0,
    side="both",
    seed=1,
    weights=(1.0,),
    epochs=None,
    batch_tokens=BATCH_TOKENS,
    **processes,
):
    """`epochs` is for the second corpus."""
    given = zip(("one", "two"), weights, (None, epochs), strict=False)
    corpora = tuple(corpus(folder, *each) for each in given)
    config = Config(
        seed=seed,
        data=DataConfig(train=corpora),
        tokenizer=TokenizerConfig(dropout=dropout, dropout_side=side),
        train=TrainConfig(batch_tokens=batch_tokens),
    )
    prepared = PreparedCorpus.build(folder / f"prepared-{len(corpora)}", corpora, config.data, tokenizers)
    return TrainingBatches(prepared, tokenizers, config, **processes)


def indices(batches):
    return [batch.indices.tolist() for batch, _ in batches]


def unpadded(row):
    return row[row != PAD_ID]


def same(one: Batch, other: Batch) -> bool:
    names = ("source", "source_mask", "target_input", "target_output", "indices")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def test_collate_pads_and_marks():
    batch = collate([[10, 11], [12]], [[20], [21, 22, 23]], [7, 5])
    assert batch.source.tolist() == [[10, 11, EOS_ID], [12, EOS_ID, PAD_ID]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_input.tolist() == [[BOS_ID, 20, PAD_ID, PAD_ID], [BOS_ID, 21, 22, 23]]
    assert batch.target_output.tolist() == [[20, EOS_ID, PAD_ID, PAD_ID], [21, 22, 23, EOS_ID]]
    assert batch.indices.tolist() == [7, 5]
    assert (batch.rows, batch.tokens, batch.source_tokens, batch.cells) == (2, 6, 5, 14)
    assert padding([batch]) == pytest.approx(3 / 14)
    assert {getattr(batch, name).dtype for name in ("source", "target_input", "target_output")} == {torch.int64}


def test_a_moved_batch_keeps_its_counts_without_looking_at_the_device():
    moved = collate([[10, 11], [12]], [[20], [21, 22, 23]], [7, 5]).to("meta")
    assert moved.source.device.type == "meta"
    assert (moved.rows, moved.tokens, moved.source_tokens) == (2, 6, 5)


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_an_epoch_takes_every_pair_once_with_its_own_tokens(folder, tokenizers, dropout):
    batches = make(folder, tokenizers, dropout=dropout)
    sources = (folder / "one.en").read_text().splitlines()
    targets = (folder / "one.de").read_text().splitlines()
    seen = []
    for batch, _ in batches.epoch(0):
        for row, index in enumerate(batch.indices.tolist()):
            seen.append(index)
            source = batch.source[row][batch.source_mask[row]].tolist()
            target = batch.target_output[row][batch.target_output[row] != PAD_ID].tolist()
            assert source[-1] == target[-1] == EOS_ID
            assert tokenizers.source.decode(source[:-1]) == sources[index]
            assert tokenizers.target.decode(target[:-1]) == targets[index]
    assert sorted(seen) == list(range(PAIRS))


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("side", ["both", "source", "target"])
def test_dropout_leaves_the_other_side_as_it_is(folder, tokenizers, side):
    def rows(**options):
        return {
            index: (source.tolist(), target.tolist())
            for batch, _ in make(folder, tokenizers, **options).epoch(0)
            for index, source, target in zip(
                batch.indices.tolist(),
                map(unpadded, batch.source),
                map(unpadded, batch.target_output),
                strict=True,
            )
        }

    plain, dropped = rows(), rows(dropout=0.5, side=side)
    changed = [any(plain[index][place] != dropped[index][place] for index in plain) for place in (0, 1)]
    assert changed == [side != "target", side != "source"]


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_the_order_is_a_function_of_seed_and_epoch(folder, tokenizers, dropout):
    first, again = (list(make(folder, tokenizers, dropout=dropout).epoch(3)) for _ in range(2))
    assert len(first) == len(again)
    assert all(same(one, other) and after == later for (one, after), (other, later) in zip(first, again, strict=True))
    orders = [indices(make(folder, tokenizers, seed=seed).epoch(epoch)) for seed, epoch in [(1, 3), (1, 4), (2, 3)]]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert {frozenset(batch) for batch in orders[0]} != {frozenset(batch) for batch in orders[1]}


@pytest.mark.usefixtures("small_pools")
def test_epochs_in_a_row_equal_epochs_alone(folder, tokenizers):
    """The first pool of the next epoch is worked on ahead; that must change nothing."""
    running = make(folder, tokenizers, dropout=0.2)
    list(running.epoch(0))
    for (one, _), (other, _) in zip(running.epoch(1), make(folder, tokenizers, dropout=0.2).epoch(1), strict=True):
        assert same(one, other)


@pytest.mark.usefixtures("small_pools")
def test_dropout_encodes_differently_each_epoch_but_not_longer_than_allowed(folder, tokenizers):
    batches = make(folder, tokenizers, dropout=0.5)
    shapes = [Counter(batch.tokens for batch, _ in batches.epoch(epoch)) for epoch in range(2)]
    assert shapes[0] != shapes[1]
    longest = max(
        int(np.diff(batches._maker.prepared.source.offsets).max()),
        int(np.diff(batches._maker.prepared.target.offsets).max()),
    )
    data = batches._maker.config.data.model_copy(update={"max_tokens": longest})
    batches._maker.config = batches._maker.config.model_copy(update={"data": data})
    widths = [max(batch.source.shape[1], batch.target_input.shape[1]) for batch, _ in batches.epoch(0)]
    assert max(widths) <= longest + 1


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("world", [1, 3])
def test_resuming_gives_the_batches_that_were_left(folder, tokenizers, dropout, world):
    whole = list(make(folder, tokenizers, dropout=dropout, rank=world - 1, world=world).epoch(2))
    for done in (1, len(whole) // 2, len(whole) - 1, len(whole)):
        position = Position.from_json(whole[done - 1][1].to_json())
        rest = list(make(folder, tokenizers, dropout=dropout, rank=world - 1, world=world).epoch(2, position))
        assert len(rest) == len(whole) - done
        for (one, after), (other, later) in zip(whole[done:], rest, strict=True):
            assert same(one, other)
            assert after == later


@pytest.mark.usefixtures("small_pools")
def test_resuming_makes_no_pool_that_was_finished(folder, tokenizers, monkeypatch):
    begun = []
    begin = pools.PoolMaker.begin
    monkeypatch.setattr(pools.PoolMaker, "begin", lambda *given: begun.append(given[1:]) or begin(*given))
    list(make(folder, tokenizers).epoch(0, Position(pool=2, batch=1)))
    assert begun == [(0, 2), (0, 3), (1, 0)]


@pytest.mark.parametrize("values", [{}, {"pool": 1}, {"pool": -1, "batch": 0}, {"pool": "1", "batch": 0}])
def test_a_position_that_is_none_is_refused(values):
    with pytest.raises(RegardError, match="position"):
        Position.from_json(values)


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("batch_tokens", [8, 40, 256, 100_000])
def test_batches_keep_to_the_budget(folder, tokenizers, batch_tokens):
    for batch, _ in make(folder, tokenizers, batch_tokens=batch_tokens).epoch(0):
        widest = max(batch.source.shape[1], batch.target_output.shape[1])
        assert batch.rows * widest <= batch_tokens or batch.rows == 1


def test_no_batch_could_have_taken_one_pair_more():
    random = np.random.default_rng(1)
    source, target = random.integers(1, 40, 2000), random.integers(1, 40, 2000)
    longest = np.maximum(source, target)
    batches = cut_into_batches(source, target, BATCH_TOKENS)
    assert sorted(np.concatenate(batches).tolist()) == list(range(2000))
    for batch, following in pairwise(batches):
        assert len(batch) * longest[batch].max() <= BATCH_TOKENS
        assert (len(batch) + 1) * longest[following[0]] > BATCH_TOKENS


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("world", [2, 3, 4, 64])
def test_processes_share_the_sequence_of_one(folder, tokenizers, world):
    alone = indices(make(folder, tokenizers).epoch(1))
    shares = [indices(make(folder, tokenizers, rank=rank, world=world).epoch(1)) for rank in range(world)]
    assert {len(share) for share in shares} == {-(-len(alone) // world)}
    together = [batch for group in zip(*shares, strict=True) for batch in group]
    assert together[: len(alone)] == alone
    assert all(batch == [] for batch in together[len(alone) :])


def test_a_batch_without_targets_teaches_nothing(folder, tokenizers):
    batch, _ = next(make(folder, tokenizers).epoch(0))
    empty = batch.without_targets()
    assert empty.tokens == 0
    assert empty.rows == 1


@pytest.mark.usefixtures("small_pools")
def test_weights_take_pairs_more_or_less_often(folder, tokenizers):
    batches = make(folder, tokenizers, weights=(0.5, 2.25))
    total: Counter[int] = Counter()
    for epoch in range(4):
        counts = Counter(index for batch in indices(batches.epoch(epoch)) for index in batch)
        assert sum(counts.values()) == PAIRS // 2 + 60 * 2.25
        assert {counts[index] for index in range(PAIRS)} == {0, 1}
        assert {counts[index] for index in range(PAIRS, PAIRS + 60)} == {2, 3}
        total += counts
    assert {total[index] for index in range(PAIRS)} == {2}
    assert {total[index] for index in range(PAIRS, PAIRS + 60)} == {9}


@pytest.mark.usefixtures("small_pools")
def test_a_corpus_of_the_first_epochs_is_left_out_later(folder, tokenizers):
    plain, batches = make(folder, tokenizers, weights=(1.0,)), make(folder, tokenizers, weights=(1.0, 1.5), epochs=2)
    for epoch in range(4):
        found = Counter(index for batch in indices(batches.epoch(epoch)) for index in batch)
        assert {found[index] for index in range(PAIRS)} == {1}
        assert sum(found[index] for index in range(PAIRS, PAIRS + 60)) == (90 if epoch < 2 else 0)
    assert indices(batches.epoch(3)) == indices(plain.epoch(3))


def test_fractions_are_exact_over_epochs_whatever_the_sizes():
    for epoch in range(7):
        order = EpochOrder((7, 0, 1, 13), (1 / 3, 5.5, 0.1, 1.0), 4, epoch)
        pairs = order.pairs(0, len(order))
        assert len(order) in (15, 16, 17)
        assert len(set(pairs.tolist())) == len(pairs)
        assert set(range(8, 21)) <= set(pairs.tolist())


def test_a_prepared_corpus_of_another_recipe_is_refused(folder, tokenizers):
    prepared = make(folder, tokenizers)._maker.prepared
    config = Config(data=DataConfig(train=(corpus(folder, "one"), corpus(folder, "two"))))
    with pytest.raises(CorpusError, match=r"prepared from 1 corpora, but data\.train names 2"):
        TrainingBatches(prepared, tokenizers, config)


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name == "regard-prefetch"]


@pytest.mark.usefixtures("small_pools")
@pytest.mark.parametrize("taken", [1, 5, None])
def test_the_thread_ends_with_the_iteration(folder, tokenizers, taken):
    batches = make(folder, tokenizers, dropout=0.2).epoch(0)
    list(islice(batches, taken))
    if taken:
        assert len(prefetch_threads()) == 1
        batches.close()
    assert not prefetch_threads()


def test_prefetching_stays_within_its_depth_and_hands_over_errors():
    made = []

    def numbers(stopped):
        for number in range(100):
            if number == 50:
                raise CorpusError("the disk is gone")
            made.append(number)
            yield number

    iterator = prefetched(numbers, depth=3)
    for number in range(50):
        assert next(iterator) == number
        assert len(made) <= number + 1 + 3 + 1  # in the queue, and one that waits for room
    with pytest.raises(CorpusError, match="the disk is gone"):
        next(iterator)
    assert not prefetch_threads()


def test_long_work_hears_that_it_is_not_wanted():
    started = threading.Event()

    def endless(stopped):
        yield 1
        started.set()
        while not stopped():
            pass

    iterator = prefetched(endless, depth=3)
    assert next(iterator) == 1
    started.wait(10)
    iterator.close()
    assert not prefetch_threads()


def test_fixed_batches_are_the_same_each_time(folder, tokenizers):
    fixed = FixedBatches.read([corpus(folder, "two")], DataConfig(), tokenizers, BATCH_TOKENS)
    first, second = list(fixed), list(fixed)
    assert len(first) == len(fixed) > 1
    assert all(same(one, other) for one, other in zip(first, second, strict=True))
    found = [index for batch in first for index in batch.indices.tolist()]
    assert sorted(found) == list(range(60)) == list(range(fixed.pairs))
    widths = [max(batch.source.shape[1], batch.target_output.shape[1]) for batch in first]
    assert widths == sorted(widths)
    for batch in first:
        row, index = batch.source[0], int(batch.indices[0])
        assert tokenizers.source.decode(row[batch.source_mask[0]][:-1].tolist()) == fixed.source_texts[index]


def test_fixed_batches_of_a_prepared_corpus_equal_those_read(folder, tokenizers):
    read = FixedBatches.read([corpus(folder, "one")], DataConfig(), tokenizers, BATCH_TOKENS)
    prepared = FixedBatches.of(make(folder, tokenizers)._maker.prepared, BATCH_TOKENS)
    assert all(same(one, other) for one, other in zip(read, prepared, strict=True))


def test_padding_on_multi30k_is_below_five_percent(tmp_path, data_folder):
    files = data_folder / "multi30k" / "tok"
    corpora = (CorpusConfig(source=str(files / "train.en.gz"), target=str(files / "train.de.gz")),)
    config = Config(data=DataConfig(train=corpora, target_language="de"))
    pairs = islice(read_pairs(corpora[0], config.data), 4000)
    tokenizer = train_tokenizer((text for pair in pairs for text in (pair.source, pair.target)), config.tokenizer)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    prepared = PreparedCorpus.build(tmp_path / "prepared", corpora, config.data, tokenizers)
    batches = [batch for batch, _ in TrainingBatches(prepared, tokenizers, config).epoch(0)]
    assert sum(batch.rows for batch in batches) == len(prepared) > 28_000
    assert padding(batches) < 0.05
