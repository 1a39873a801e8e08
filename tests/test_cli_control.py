"""What a user controls with `regard translate`, and `regard calibrate`, on a tiny model."""

import gzip
import json
from pathlib import Path

import pytest
from tiny_world import Command

from regard.search.confidence import CALIBRATION
from regard.text.units import find_whole


@pytest.fixture
def glossary(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("# animals\nthe cat\tle minou\ndog\tcabot\n", encoding="utf-8")
    return path


def test_a_glossary_with_a_report(tiny_run: Path, glossary: Path, tmp_path: Path, regard: Command) -> None:
    report = tmp_path / "report.json"
    text = b"The cat sees the dog.\n\na man eats 3 apples.\n"
    finished = regard("translate", tiny_run, "--glossary", glossary, "--report", report, input=text)
    assert (finished.code, finished.errors) == (0, "terms: 2 of 2 used in 1 line\n")
    lines = finished.output.split("\n")
    assert len(lines) == 4
    assert find_whole(lines[0], "le minou")
    assert find_whole(lines[0], "cabot")
    figures = json.loads(report.read_text(encoding="utf-8"))
    assert (figures["totals"]["lines"], figures["totals"]["terms"], figures["totals"]["terms_met"]) == (3, 2, 2)
    [line] = figures["lines"]
    assert (line["line"], line["text"]) == (1, lines[0])
    for use in line["terms"]:
        assert lines[0][use["target_start"] :].startswith(use["target"])


def test_spans_and_strings_are_kept(tiny_run: Path, tmp_path: Path, regard: Command) -> None:
    strings = tmp_path / "keep.txt"
    strings.write_text("Acme Corp\n", encoding="utf-8")
    text = b"Acme Corp sees {name} at https://x.org/1 and 12 apples.\nhttps://x.org\n"
    finished = regard("translate", tiny_run, "--keep", "urls,placeholders", "--keep-file", strings, input=text)
    assert finished.code == 0
    first, second, _ = finished.output.split("\n")
    for span in ("Acme Corp", "{name}", "https://x.org/1"):
        assert first.count(span) == 1
    assert second == "https://x.org"


def test_alignments_go_to_a_file(tiny_run: Path, tmp_path: Path, regard: Command) -> None:
    path = tmp_path / "links.txt"
    finished = regard("translate", tiny_run, "--alignment", path, input=b"the cat eats\n\nthe dog\n")
    assert finished.code == 0
    links = path.read_text(encoding="utf-8").split("\n")
    assert len(links) == 4
    assert links[1] == ""
    outputs = finished.output.split("\n")
    for output, line in zip(outputs, links, strict=True):
        targets = {int(link.split("-")[1]) for link in line.split()}
        assert targets == set(range(len(output.split())))


def test_a_document_keeps_its_form(tiny_run: Path, tmp_path: Path, regard: Command) -> None:
    source = tmp_path / "page.txt.gz"
    text = "# The cat\n\n  A man eats 3 apples.  The dog sees 3 apples.\r\n-----\nthe end"
    source.write_bytes(gzip.compress(text.encode()))
    output = tmp_path / "page.fr"
    assert regard("translate", tiny_run, "--document", "--input", source, "--output", output).code == 0
    lines = output.read_bytes().decode().split("\n")
    assert len(lines) == 5
    assert lines[0].startswith("# ")
    assert lines[1] == ""
    assert lines[2].startswith("  ")
    assert lines[2].endswith("\r")
    assert lines[3] == "-----"
    from_input = regard("translate", tiny_run, "--document", input=text.encode())
    assert from_input.output == output.read_bytes().decode()


def test_a_document_may_have_a_glossary(tiny_run: Path, glossary: Path, regard: Command) -> None:
    finished = regard("translate", tiny_run, "--document", "--glossary", glossary, input=b"The dog. The cat.\n\nA dog.")
    assert finished.code == 0
    assert [len(find_whole(line, "cabot")) for line in finished.output.split("\n")] == [1, 0, 1]


def test_calibration_and_confidence(tiny_model: Path, tiny_run: Path, tmp_path: Path, regard: Command) -> None:
    before = regard("translate", tiny_model, "--confidence", input=b"the cat\n")
    assert before.code == 2
    assert f"{tiny_model}: has no {CALIBRATION} for its weights; make it with `regard calibrate`" in before.errors
    sources = tiny_run.parent / "corpus" / "train.en"
    translated = regard("translate", tiny_model, "--beam", "1", "--input", sources).output.splitlines()
    references = tmp_path / "references.fr"
    references.write_text("".join(f"{text if number % 5 else '§'}\n" for number, text in enumerate(translated)))
    figures = tmp_path / "figures.json"
    finished = regard("calibrate", tiny_model, sources, references, "--beam", "1", "--json", figures)
    assert finished.code == 0, finished.errors
    assert "Fitted to 100 translations, measured on 100 others." in finished.output
    assert "Expected calibration error:" in finished.output
    kept = json.loads((tiny_model / CALIBRATION).read_text(encoding="utf-8"))
    measured = json.loads(figures.read_text(encoding="utf-8"))
    assert measured["base_rate"] == pytest.approx(0.8)
    assert kept["slope"] == measured["slope"] >= 0
    assert sum(row["sentences"] for row in measured["table"]) == measured["held_out"] == 100
    lines = regard("translate", tiny_model, "--confidence", input=b"the cat\n\na man eats\n").output.split("\n")
    for line in (lines[0], lines[2]):
        assert 0 <= float(line.split("\t")[0]) <= 1
    assert lines[1] == "\t"


def test_a_calibration_that_cannot_be_made_says_why(tiny_model: Path, tiny_run: Path, regard: Command) -> None:
    corpus = tiny_run.parent / "corpus"
    few = regard("calibrate", tiny_model, corpus / "validation.en", corpus / "validation.fr")
    assert few.code == 2
    assert "has 10 sentences with references; a calibration needs at least 20" in few.errors
    none = regard(
        "calibrate", tiny_model, corpus / "train.en", corpus / "train.fr", "--threshold", "100", "--beam", "1"
    )
    assert none.code == 2
    assert "choose another --threshold" in none.errors
    assert not (tiny_model / CALIBRATION).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--glossary", "no.tsv"], "no.tsv: no such file"),
        (["--keep", "links"], "there is no kind of span 'links'"),
        (["--keep-file", "no.txt"], "no.txt: no such file"),
        (["--report", "r.json", "--document"], "--report tells of terms and spans"),
        (["--keep", "urls", "--report", "no/r.json"], "there is no folder no"),
        (["--alignment", "a.txt", "--document"], "--alignment goes line by line, --document does not"),
        (["--confidence", "--nbest", "2"], "--nbest does not go with --confidence"),
        (["--alignment-layer", "1"], "--alignment-layer says how to align"),
        (["--alignment", "a.txt", "--alignment-layer", "9"], "no decoder layer 9"),
    ],
)
def test_what_cannot_be_done_is_said(
    tiny_run: Path, options: list[str], message: str, regard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finished = regard("translate", tiny_run, *options, input=b"the cat\n")
    assert finished.code == 2
    assert message in finished.errors
    assert finished.output == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"fine\n\xff\n", "line 2: byte 0xff is not UTF-8"), (b"a\nb\nc\0\n", "line 3: holds a NUL character")],
)
def test_a_document_that_is_no_text_is_named_by_its_line(
    tiny_run: Path, content: bytes, message: str, regard: Command
) -> None:
    finished = regard("translate", tiny_run, "--document", input=content)
    assert finished.code == 2
    assert message in finished.errors


def test_nothing_that_is_read_is_written_over(tiny_run: Path, glossary: Path, tmp_path: Path, regard: Command) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("the cat\n", encoding="utf-8")
    for flags in (
        ("--input", source, "--alignment", source),
        ("--input", source, "--alignment", output, "--output", output),
        ("--input", source, "--glossary", glossary, "--report", glossary),
        ("--input", source, "--glossary", glossary, "--output", glossary),
    ):
        finished = regard("translate", tiny_run, *flags)
        assert (finished.code, finished.output) == (2, "")
        assert "name another" in finished.errors
    assert source.read_text(encoding="utf-8") == "the cat\n"
    assert glossary.read_text(encoding="utf-8").startswith("# animals")
    assert not output.exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--alignment-layer", "0"), "--alignment"),
        (("--nbest", "9", "--beam", "2"), "cannot give the 9 best"),
        (("--glossary", "GLOSSARY", "--sampling"), "a beam alone"),
        (("--glossary", "GLOSSARY", "--engine", "ctranslate2"), "cannot be held"),
        (("--glossary", "GLOSSARY", "--report", "-"), "name of a file"),
        (("--compute", "int8", "--coverage-penalty", "0.2"), "coverage"),
        (("--prefix", "GLOSSARY", "--engine", "ctranslate2"), "--prefix"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_said_before_a_file_is_touched(
    tiny_run: Path, glossary: Path, tmp_path: Path, regard: Command, flags: tuple[str, ...], said: str
) -> None:
    if "ctranslate2" in flags:
        pytest.importorskip("ctranslate2")
    output = tmp_path / "out.txt"
    output.write_text("as it was\n", encoding="utf-8")
    given = [glossary if flag == "GLOSSARY" else flag for flag in flags]
    finished = regard("translate", tiny_run, *given, "--output", output, input=b"the cat\n")
    assert finished.code == 2
    assert said in finished.errors
    assert output.read_text(encoding="utf-8") == "as it was\n"
