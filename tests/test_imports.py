"""Imports go one way, along the flow of the data: this test reads them and holds the rule of docs/architecture.md."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "regard"

# What stands in a later row may import what stands in an earlier one or in its own, never the reverse.
FLOW = (
    ("errors",),
    ("atomic", "config", "figures", "hardware", "locking", "progress", "untrusted"),
    ("recipe", "keys"),
    ("data",),
    ("text",),
    ("streams",),
    ("native",),
    ("nn",),
    ("models",),
    ("train",),
    ("search",),
    ("evaluate", "explain", "web"),
    ("portability",),
    ("candidates", "card", "run_folder"),
    ("missing_teachers", "translated"),
    ("pipeline",),
    ("distillation", "planning"),
    ("demo",),
    ("serve",),
    ("commands", "console", "options"),
    ("cli", "worker"),
    ("__main__",),
)
ROW = {part: row for row, parts in enumerate(FLOW) for part in parts}
FACADE = "__init__"  # `import regard` gives what a user needs: it may look at everything, and nobody looks at it

MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_parts(tree: ast.AST) -> set[str]:
    """The parts of the package that a module imports, wherever in its text."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "regard":
            names += [f"regard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return {name.split(".")[1] for name in names if name.startswith("regard.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_only_what_precedes_it(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    assert not relative, "write imports in full, so that this test can read them"
    if part_of(path) == FACADE:
        return
    assert part_of(path) in ROW, "a new part of the package: give it its place in FLOW"
    wrong = {part for part in imported_parts(tree) if ROW[part] > ROW[part_of(path)]}
    assert not wrong, f"{path.name} stands before {', '.join(sorted(wrong))} in the flow and may not import it"


def test_rule_would_notice_a_wrong_import() -> None:
    tree = ast.parse(
        "def f():\n    from regard.search.beam import beam_search\nimport regard.cli\nfrom regard import demo"
    )
    assert imported_parts(tree) == {"search", "cli", "demo"}
    assert all(ROW[part] > ROW["train"] for part in imported_parts(tree))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_says_what_lives_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_unpickled(path: Path) -> None:
    """Neither by pickle nor by torch.load, and no name found in a file is imported."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"import pickle|(?<![.\w])torch\.load\(|import_module\(|__import__\(", text)
