"""One model for several pairs of languages: tags before the source, from a recipe to the command line."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_world import TINY_RUN, write_tiny_corpus

from regard import pipeline
from regard.commands.serving import greeting, make_service
from regard.config import TokenizerConfig
from regard.data.batches import FixedBatches, TrainingBatches
from regard.data.prepared import PreparedCorpus
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import ConfigError, InputError, ModelFolderError
from regard.models.folder import load_model
from regard.pipeline import train_run
from regard.recipe import override_config, parse_config
from regard.search.translator import Translator
from regard.serve.jobs import Pair
from regard.serve.routing import load_models
from regard.serve.settings import ServeSettings
from regard.text.detection import Detector
from regard.text.profiles import learn_profiles, load_profiles

KINDS = ("bpe", "wordpiece", "unigram", "word", "character", "byte")
TEXTS = ["the cat eats 2 apples.", "my friend sees a man <2de> and <2fr>.", "le chat <2 de>"] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_is_a_token_that_no_text_spells(kind, tmp_path):
    tokenizer = train_tokenizer(TEXTS, TokenizerConfig(kind=kind, vocabulary_size=330), ["de", "fr"])
    assert tokenizer.tags == {"de": tokenizer.vocabulary_size - 2, "fr": tokenizer.vocabulary_size - 1}
    assert tokenizer.vocabulary_size <= 330
    for text in (*TEXTS[:3], "<2de>", " <2fr>x"):
        ids = tokenizer.encode(text)
        assert not set(ids) & set(tokenizer.tags.values())
        assert tokenizer.decode(ids) == text
    both = Tokenizers(tokenizer, tokenizer)
    tagged = both.tagged("fr")
    assert tagged.source.encode("the <2de>") == [tokenizer.tags["fr"], *tokenizer.encode("the <2de>")]
    assert tagged.source.decode(tagged.source.encode("the <2de>")) == "the <2de>"
    assert tagged.source.pieces(tagged.source.encode("the"))[0] == "<2fr>"
    assert tagged.target.encode("the") == tokenizer.encode("the")
    assert tagged.shared
    assert tagged.tagged("de").source.encode("x")[0] == tokenizer.tags["de"]
    assert "<2fr>" not in tokenizer.words()
    tagged.save(tmp_path)
    again = Tokenizers.load(tmp_path)
    assert again.shared
    assert again.source.tags == tokenizer.tags
    assert again.source.kind == kind
    with pytest.raises(InputError, match="no tag for the language 'es'; it has: de, fr"):
        both.tagged("es")


def several(folder: Path, *overrides: str):
    """English to French, and to English in capitals; and French back to English."""
    config = write_tiny_corpus(folder)
    for name in ("train", "validation"):
        text = (folder / f"{name}.en").read_text(encoding="utf-8")
        (folder / f"{name}.xx").write_text(text.upper(), encoding="utf-8")
    pairs = (("en", "fr"), ("en", "xx"), ("fr", "en"))

    def corpora(name):
        return [
            {"source": str(folder / f"{name}.{one}"), "target": str(folder / f"{name}.{two}"), "languages": [one, two]}
            for one, two in pairs
        ]

    data = {**TINY_RUN["data"], "tags": True, "train": corpora("train"), "validation": corpora("validation")}
    return parse_config({**config.model_dump(exclude_none=True), "data": data}, ["train.processes=1", *overrides])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tags")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
        train_run(several(folder / "corpus"), folder / "run")
    return folder / "run"


def test_a_model_says_what_it_translates(trained):
    translator = Translator.load(trained)
    assert translator.languages == ("en", "fr")
    assert translator.pairs == (("en", "fr"), ("en", "xx"), ("fr", "en"))
    capital = translator.between("en", "xx")
    assert capital.languages == ("en", "xx")
    assert capital.pairs == translator.pairs
    assert capital.model is translator.model
    assert capital.between().languages == ("en", "xx")
    vars(translator)["stand_ins"] = []
    assert "stand_ins" not in vars(translator.between("en", "xx")), "another target copies other words"
    assert capital.between(target="fr").languages == ("en", "fr")
    assert translator.between(source="fr").languages == ("fr", "en")
    with pytest.raises(InputError, match="translates en to fr, en to xx and fr to en, not to es"):
        translator.between(target="es")
    with pytest.raises(InputError, match="not from fr to xx"):
        translator.between("fr", "xx")
    with pytest.raises(InputError, match="en to fr and en to xx: say both"):
        translator.between("fr", "en").between(source="en")
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert "language: [en, fr, xx]" in card
    assert f"regard translate {trained} --from en --to xx" in card


def test_the_command_chooses_by_the_languages(trained, regard, tmp_path):
    translator, line = Translator.load(trained), "the cat eats 2 apples."
    for source, target in translator.pairs:
        finished = regard("translate", trained, "--from", source, "--to", target, input=f"{line}\n".encode())
        assert finished.output.rstrip("\n") == translator.between(source, target).translate([line])[0]
    refused = regard("translate", trained, "--to", "es", input=b"x\n")
    assert refused.code == 2
    assert "not to es" in refused.errors
    (tmp_path / "x.en").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "x.xx").write_text(f"{line.upper()}\n", encoding="utf-8")
    files = ["--source", tmp_path / "x.en"]
    for options in ((), ("--from", "en"), ("--to", "xx")):
        assert regard("evaluate", trained, *files, "--reference", tmp_path / "x.xx", *options).code == 0
    scores = [
        float(regard("score", trained, *files, "--target", tmp_path / "x.xx", *options).output)
        for options in ((), ("--to", "xx"))
    ]
    assert scores[0] != scores[1]
    for engine in ("ctranslate2", "huggingface", "onnx"):
        refused = regard("export", trained, "--to", engine, "--output", tmp_path / "out")
        assert refused.code == 2
        assert "data.tags" in refused.errors


def test_a_corpus_keeps_its_languages_whatever_pair_is_meant(tmp_path):
    config = several(tmp_path / "corpus")
    first = config.data.train[0].model_copy(update={"languages": None})
    data = config.data.model_copy(update={"train": (first, *config.data.train[1:])})
    meant = data.meaning("fr", "en")
    assert [meant.pair_of(corpus) for corpus in meant.train] == [("en", "fr"), ("en", "xx"), ("fr", "en")]
    assert meant.pairs == (("fr", "en"), ("en", "fr"), ("en", "xx"))


def test_an_explanation_is_of_the_pair_that_is_asked_for(trained, regard, tmp_path):
    told = {}
    for target in ("fr", "xx"):
        finished = regard("explain", trained, "the cat", "--to", target, "--json", tmp_path / "told.json")
        assert finished.code == 0, finished.errors
        told[target] = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert [each["model"]["target_language"] for each in told.values()] == ["fr", "xx"]
    assert [each["source"]["tokens"][0] for each in told.values()] == ["<2fr>", "<2xx>"]
    refused = regard("explain", trained, "the cat", "--to", "es")
    assert refused.code == 2
    assert "not to es" in refused.errors


def test_a_service_has_every_pair_of_its_models(trained, tiny_model):
    models = load_models([trained])
    assert list(models) == [Pair("en", "fr"), Pair("en", "xx"), Pair("fr", "en")]
    translator = Translator.load(trained)
    for pair, served in models.items():
        assert served.languages == pair
        assert served.translator.languages == (pair.source, pair.target)
        expected = translator.between(pair.source, pair.target).translate(["the cat"])
        assert served.translator.translate(["the cat"]) == expected
    assert len({id(served.translator._engines) for served in models.values()}) == 1
    with pytest.raises(InputError, match="both translate from 'en' to 'fr'"):
        load_models([trained, tiny_model])
    service = make_service(ServeSettings(models=(str(trained),)))
    assert service.languages.targets("en") == ["fr", "xx"]
    assert [line.strip().split(":")[0] for line in greeting(service, "here").splitlines()[1:4]] == [
        "en to fr",
        "en to xx",
        "fr to en",
    ]


def test_each_language_is_known_by_its_own_lines(trained):
    profiles = load_profiles(trained)
    assert set(profiles) == {"en", "fr", "xx"}
    assert Detector(["en", "fr"], profiles).detect("le chat mange")[0].language == "fr"
    assert " le " in profiles["fr"].shares
    assert " le " not in profiles["en"].shares
    data = load_model(trained).config.data
    assert learn_profiles(PreparedCorpus.open(trained / "prepared"), data) == profiles


def test_a_text_that_spells_a_tag_is_no_instruction(trained):
    translator = Translator.load(trained)
    ids = translator.tokenizers.source.encode("<2xx> the cat")
    assert [number for number in ids if number in translator.tokenizers.source.tags.values()] == ids[:1]


def test_every_source_begins_with_its_tag(tmp_path):
    config = several(tmp_path / "corpus", "tokenizer.dropout=0.3")
    tokenizers = pipeline.learn_tokenizers(config)
    prepared = PreparedCorpus.build(tmp_path / "prepared", config.data.train, config.data, tokenizers)
    tags = tokenizers.source.tags
    expected = [tags["fr"]] * 200 + [tags["xx"]] * 200 + [tags["en"]] * 200
    assert [int(prepared.source.row(index)[0]) for index in range(600)] == expected
    for batch, _ in TrainingBatches(prepared, tokenizers, config).epoch(0):
        assert batch.source[:, 0].tolist() == [expected[index] for index in batch.indices.tolist()]
        assert not set(batch.target_output.flatten().tolist()) & set(tags.values())
    validation = FixedBatches.read(config.data.validation, config.data, tokenizers, 4096)
    firsts = [int(token) for batch in validation for token in batch.source[:, 0]]
    assert sorted(firsts) == sorted(expected[::20])


def test_json_lines_are_read_by_the_languages_of_their_corpus(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"translation": {"en": "a cat", "de": "eine Katze"}}\n', encoding="utf-8")
    corpus = {"pairs": str(path), "languages": ["de", "en"]}
    data = parse_config(
        {"data": {"source_language": "de", "target_language": "en", "tags": True, "train": [corpus]}}
    ).data
    (pair,) = pipeline.read_pairs(data.train[0], data)
    assert (pair.source, pair.target) == ("eine Katze", "a cat")


def test_recipes_that_cannot_work_are_refused(tmp_path):
    config = several(tmp_path / "corpus")
    with pytest.raises(ConfigError, match="a corpus is en to xx, not en to fr: set `tags`"):
        override_config(config, ["data.tags=false"])
    with pytest.raises(ConfigError, match="no corpus of `train` is en to de"):
        override_config(config, ["data.target_language=de"])
    with pytest.raises(ConfigError, match="may have no such characters"):
        override_config(
            config,
            [
                "data.validation=[]",
                "data.target_language=x y",
                'data.train=[{source="a",target="b",languages=["en","x y"]}]',
            ],
        )
    with pytest.raises(ConfigError, match="languages"):
        override_config(config, ['data.train=[{source="a",target="b",languages=["en"]}]'])


def test_a_folder_whose_vocabulary_lacks_a_tag_is_refused(trained, tiny_run, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "model")
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(text.replace("<2xx>", "<2yy>"), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="no tag for xx"):
        load_model(folder)


@pytest.mark.slow
def test_a_model_learns_to_obey_its_tags(tmp_path):
    config = several(
        tmp_path / "corpus",
        "tokenizer.vocabulary_size=450",
        "model.width=48",
        "model.feed_forward=96",
        "train.max_steps=400",
        "train.validate_every=200",
        "train.warmup_steps=50",
        "train.learning_rate=0.005",
        "train.batch_tokens=2000",
    )
    train_run(config, tmp_path / "run")
    translator = Translator.load(tmp_path / "run")
    sources, french, capitals = (
        (tmp_path / f"corpus/validation.{code}").read_text(encoding="utf-8").splitlines() for code in ("en", "fr", "xx")
    )

    def right(source, target, texts, references):
        found = translator.between(source, target).translate(texts)
        assert all(text.isupper() == (target == "xx") for text in found), "the tag says which language it is to be"
        return sum(one == other for one, other in zip(found, references, strict=True)) / len(texts)

    assert right("en", "fr", sources, french) >= 0.6
    assert right("en", "xx", sources, capitals) >= 0.6
    assert right("fr", "en", french, sources) >= 0.6
