"""Malicious folders are refused by name, in a sentence, and nothing of them is ever run."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from foreign import write_foreign
from malice import BOTH, IMPORT_ONLY, REGARD_ONLY
from small_world import ENGLISH

NAMED = ("--source-language", "en", "--target-language", "de")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return write_foreign(tmp_path_factory.mktemp("good") / "foreign", "marian", ENGLISH)


def refused(done, folder: Path, canary: Path) -> None:
    assert done.code == 2, done.errors or done.output
    assert done.errors.startswith("regard: error: ")
    assert "Traceback" not in done.errors
    assert "a fault in regard itself" not in done.errors
    assert folder.name in done.errors
    assert len(done.errors) < 2000
    assert not canary.exists()


@pytest.mark.parametrize("name", [*BOTH, *IMPORT_ONLY])
def test_import_refuses(name, good, tmp_path, regard):
    folder, canary = tmp_path / "stranger", tmp_path / "canary"
    shutil.copytree(good, folder)
    {**BOTH, **IMPORT_ONLY}[name](folder, canary)
    refused(regard("import", folder, "--output", tmp_path / "model", *NAMED), folder, canary)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", [*BOTH, *REGARD_ONLY])
def test_loading_refuses(name, make_model, tmp_path, regard):
    folder, canary = make_model("stranger"), tmp_path / "canary"
    {**BOTH, **REGARD_ONLY}[name](folder, canary)
    refused(regard("translate", folder, input=b"the cat\n"), folder, canary)


def test_the_trap_works(tmp_path):
    """A canary that nothing could release would prove nothing."""
    import pickle

    from malice import Trap

    pickle.loads(pickle.dumps(Trap(tmp_path / "canary")))
    assert (tmp_path / "canary").exists()


def test_there_are_thirty_of_each():
    assert min(len(BOTH | IMPORT_ONLY), len(BOTH | REGARD_ONLY)) >= 30


def test_a_good_folder_is_taken(good, tmp_path, regard):
    assert regard("import", good, "--output", tmp_path / "model", *NAMED).code == 0


def test_a_pickle_beside_good_weights_is_left_alone(good, tmp_path, regard):
    import pickle

    from malice import Trap

    folder = tmp_path / "stranger"
    shutil.copytree(good, folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(tmp_path / "canary")))
    (folder / "training_args.bin").write_bytes(pickle.dumps(Trap(tmp_path / "canary")))
    assert regard("import", folder, "--output", tmp_path / "model", *NAMED).code == 0
    assert not (tmp_path / "canary").exists()


def test_the_cache_of_the_hub_may_link_to_its_blobs(good, tmp_path, regard):
    """There, `snapshots/REVISION/FILE` is a link to `blobs/HASH`."""
    snapshot, blobs = tmp_path / "models--x" / "snapshots" / "abc", tmp_path / "models--x" / "blobs"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, path in enumerate(good.iterdir()):
        shutil.copy(path, blobs / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    assert regard("import", snapshot, "--output", tmp_path / "model", *NAMED).code == 0
