"""What the documentation says is there: links, pictures, files, commands, options, keys, figures and outputs."""

import ast
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest
import typer

from regard.cli import app
from regard.config import Config
from regard.models.describe import describe
from regard.recipe import load_config

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
RECIPES = sorted((REPOSITORY / "recipes").glob("*.toml"))
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
each_text = pytest.mark.parametrize("page", [*PAGES, *RECIPES], ids=lambda page: str(page.relative_to(REPOSITORY)))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def fenced(text: str) -> list[tuple[str, str]]:
    """The fenced blocks: language and content."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def code(text: str) -> Iterator[str]:
    """Lines of code: of fenced and of indented blocks, of comments in recipes, and what stands between backticks."""
    for _, block in fenced(text):
        yield from block.replace("\\\n", " ").splitlines()
    rest = prose(text).replace("\\\n#", " ").replace("\\\n", " ")
    yield from re.findall(r"^(?:#? {4,})(.*)$", rest, re.MULTILINE)
    yield from re.findall(r"`([^`\n]+)`", rest)


# Links and pictures


def targets(text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return links + re.findall(r"(?:src|href)=\"([^\"]+)\"", prose(text))


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_every_link_and_picture_resolves(page: Path) -> None:
    for target in targets(text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{page.name} links to {target}, which is not there"
        assert place.is_relative_to(REPOSITORY), f"{page.name} links out of the repository: {target}"
        assert not anchor or anchor in anchors(text_of(place)), f"{page.name} links to {target}: no such heading"


def test_the_index_leads_to_every_page() -> None:
    named = {(DOCS / target.partition("#")[0]).resolve() for target in targets(text_of(DOCS / "README.md"))}
    assert {page for page in DOCS.rglob("*.md") if page not in named} == {DOCS / "README.md"}


# Files


@each_text
def test_every_file_named_is_there(page: Path) -> None:
    for line in code(text_of(page)):
        # Other paths, such as those under runs/, are made by commands.
        for path in re.findall(r"(?<![\w/.-])((?:regard|docs|tests|recipes|benchmarks|\.ci)/[\w./-]*\w)", line):
            assert (REPOSITORY / path).exists(), f"{page.name} names {path}"


@each_page
def test_every_module_named_is_there(page: Path) -> None:
    modules = {path.name for part in ("regard", "tests", "docs") for path in (REPOSITORY / part).rglob("*.py")}
    for span in re.findall(r"`([^`\n]+)`", prose(text_of(page))):
        if re.fullmatch(r"\w+\.py", span):
            assert span in modules, f"{page.name} names {span}"


# Commands


def commands() -> dict[str, set[str]]:
    """The options of each command, under its name ("translate", "data builtin")."""
    group = typer.main.get_command(app)
    found = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for sub, inner in getattr(command, "commands", {"": command}).items():
            options = {option for parameter in inner.params for option in parameter.opts}
            found[f"{name} {sub}".strip()] = {*options, "--help", "-h"}
        found.setdefault(name, set())
    return found


COMMANDS = commands()


def calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each `regard X …` of a text: its name and the options that follow, up to the end of the command."""
    for line in code(text):
        if re.match(r"\s*(>>>|from|import|#)", line):
            continue
        for call in re.findall(r"(?<![\w./-])(?:\.venv/bin/)?regard ([a-z].*?)(?=$|[|;)#>]|&&|, )", line):
            words = call.split()
            name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
            yield name, re.findall(r"--?[a-z][\w-]*", " ".join(words[1:]))


@each_text
def test_every_command_and_option_exists(page: Path) -> None:
    for name, options in calls(text_of(page)):
        assert name in COMMANDS, f"{page.name}: there is no command `regard {name}`"
        unknown = {option for option in options if option.startswith("--")} - COMMANDS[name]
        assert not unknown or not COMMANDS[name], f"{page.name}: `regard {name}` has no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_page_with_every_option(name: str) -> None:
    page = DOCS / "commands" / f"{name.split()[0]}.md"
    assert page.exists()
    missing = {option for option in COMMANDS[name] if option.startswith("--")} - {"--help"}
    missing -= set(re.findall(r"--[a-z][\w-]*", text_of(page)))
    assert not missing, f"docs/commands/{page.name} does not mention {', '.join(sorted(missing))}"


@each_text
def test_every_key_exists(page: Path) -> None:
    sections = {name: field.annotation for name, field in Config.model_fields.items() if name != "seed"}
    for line in code(text_of(page)):
        for section, key in re.findall(rf"(?<![\w.])({'|'.join(sections)})\.([a-z]\w*)=(?!=)", line):
            assert key in sections[section].model_fields, f"{page.name}: there is no key {section}.{key}"


@each_page
def test_every_make_target_exists(page: Path) -> None:
    rules = set(re.findall(r"^([\w-]+):", text_of(REPOSITORY / "Makefile"), re.MULTILINE))
    for line in code(text_of(page)):
        for target in re.findall(r"(?:^|&& |\$ )make ([a-z][\w-]*)", line):
            assert target in rules, f"{page.name}: there is no `make {target}`"


@each_page
def test_extras_exist_and_come_from_the_clone(page: Path) -> None:
    """There is no release: what package indexes call by this name is somebody else's."""
    extras = tomllib.loads(text_of(REPOSITORY / "pyproject.toml"))["project"]["optional-dependencies"]
    for line in code(text_of(page)):
        assert not re.search(r"pip install.*\bregard\b", line), f"{page.name}: {line}"
        for extra in re.findall(r"pip install.*\.\[(\w+)\]", line):
            assert extra in extras, f"{page.name}: there is no extra {extra}"


@each_page
def test_python_can_be_read(page: Path) -> None:
    for language, block in fenced(text_of(page)):
        if language == "python":
            ast.parse(block)


def test_the_rules_would_notice() -> None:
    text = "```\nregard explode --loud\n```\nand `regard translate runs/x --beem 3 | head`, not: regard what"
    assert list(calls(text)) == [("explode", ["--loud"]), ("translate", ["--beem"])]
    assert "--beam" in COMMANDS["translate"]
    assert "--beem" not in COMMANDS["translate"]
    assert targets('[a](b.md#c) ![d](e.png) <img src="f.png">') == ["b.md#c", "e.png", "f.png"]
    assert anchors("# Bad lines\n## `a.b`: c!") == {"bad-lines", "ab-c"}


# The two READMEs


def test_both_readmes_have_the_same_code_pictures_and_structure() -> None:
    english, chinese = (text_of(REPOSITORY / name) for name in ("README.md", "README.zh-CN.md"))

    def commands_and_outputs(text: str) -> list[str]:
        code = [block for language, block in fenced(text) if language in ("sh", "python")]
        outputs = [block for language, block in fenced(text) if language == "text"]
        return [re.sub(r"(^|\s+)# .*|<[^>\n]+>", "", block) for block in code] + outputs

    assert commands_and_outputs(english) == commands_and_outputs(chinese)
    structure = [re.findall(r"^(?:#+ |\||- )", prose(text), re.MULTILINE) for text in (english, chinese)]
    assert structure[0] == structure[1], "headings, rows of tables and bullets differ"
    pictures = [re.findall(r"docs/images/[\w.-]+", text) for text in (english, chinese)]
    assert pictures[0] == pictures[1]
    assert pictures[0]


# Parameters


def parameter_rows() -> list[tuple[str, float, int, int, list[str]]]:
    row = re.compile(r"^\| (.+?) \| (\d+) \| ([\d,]+) \| ([\d,]+) \|(.*)\|$", re.MULTILINE)
    return [
        (name, int(paper), int(ours.replace(",", "")), int(larger.replace(",", "")), shlex.split(keys.replace("`", "")))
        for name, paper, ours, larger, keys in row.findall(text_of(DOCS / "parameters.md"))
    ]


def parameters(keys: list[str], vocabulary: int) -> int:
    keys = [*keys, f"tokenizer.vocabulary_size={vocabulary}"]
    return describe(load_config(REPOSITORY / "recipes" / "base.toml", keys)).parameters


def test_parameter_counts_are_as_stated() -> None:
    rows = parameter_rows()
    assert len(rows) == 9
    for name, _, ours, larger, keys in rows:
        assert parameters(keys, 37000) == ours, name
        assert parameters(keys, 41000) == larger, name


def test_other_vocabularies_explain_the_paper_as_stated() -> None:
    def fits(vocabulary: int) -> bool:
        return all(round(parameters(keys, vocabulary) / 1e6) == paper for _, paper, _, _, keys in parameter_rows()[:-1])

    assert [fits(vocabulary) for vocabulary in (40931, 40932, 41160, 41161)] == [False, True, True, False]


# The tour


def load_tour() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tour", DOCS / "tour.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shapes(output: str) -> list[str]:
    """The lines that hold whole numbers in brackets: shapes, ids and masks, which no training changes."""
    return [line for line in output.splitlines() if re.search(r"\[\d+(, \d+)*\]", line) or "True" in line]


@pytest.fixture(scope="module")
def untrained_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the demo before its first step: its vocabulary and its shapes are those of the trained one."""
    from regard.data.builtin import generate
    from regard.data.tokenizer import Tokenizers, train_tokenizer
    from regard.demo.run import demo_config
    from regard.models import build_model
    from regard.models.folder import save_model

    folder = tmp_path_factory.mktemp("demo")
    config = demo_config(folder / "corpus", "fr", seed=1)
    sides = (side for pair in generate("fr", 1).train for side in (pair.source, pair.target))
    tokenizer = train_tokenizer(sides, config.tokenizer)
    model = build_model(config.model, tokenizer.vocabulary_size, tokenizer.vocabulary_size)
    save_model(folder, model, config, Tokenizers(tokenizer, tokenizer), card="")
    return folder


@pytest.mark.slow
def test_the_tour_prints_the_shapes_that_it_quotes(untrained_demo: Path) -> None:
    tour = load_tour()
    page = text_of(DOCS / "tour.md")
    steps = tour.run_tour(page, untrained_demo)
    assert len(steps) == page.count("```python\n")
    for step in steps:
        assert shapes(step.printed) == shapes(step.quoted), step.code


def test_the_tour_writes_outputs_where_they_belong() -> None:
    tour = load_tour()
    page = "".join(
        f"Words.\n\n```python\n{code}\n```\n\n```text\n{quoted}\n```\n\n"
        for code, quoted in (("x = 2\nprint(x)", "old"), ("print(x + 1)", "3"))
    )
    steps = tour.run_tour(page)
    assert [(step.quoted, step.printed) for step in steps] == [("old\n", "2\n"), ("3\n", "3\n")]
    assert tour.with_outputs(page, steps) == page.replace("old", "2")
