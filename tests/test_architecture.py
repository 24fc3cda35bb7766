"""Tests for the architecture: the diagram in the docs matches the import contracts, and names are clear."""

import ast
import re
import tomllib

from django.conf import settings

PICTURE = settings.BASE_DIR / "docs" / "architecture.md"


def read_contract(name: str) -> list[set[str]]:
    """Return the layers of an import contract from top to bottom, as sets of apps."""
    tools = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["tool"]
    layers = next(rule["layers"] for rule in tools["importlinter"]["contracts"] if rule["name"] == name)
    apps = [{part.split(".")[1] for part in re.split(r"\s*[|:]\s*", layer)} for layer in layers]
    return [layer for index, layer in enumerate(apps) if not index or layer != apps[index - 1]]


def read_diagram() -> dict[str, list[set[str]]]:
    """Return the layers in each section of the diagram."""
    block = PICTURE.read_text().split("```")[1]
    part, lines = "", dict[str, list[set[str]]]()
    for line in filter(None, block.splitlines()):
        part = line[:12].strip() or part
        names = re.split(r"\s{2,}", line[12:].strip())[0]
        lines.setdefault(part, []).append(set(names.split(" | ")))
    return lines


def test_the_picture_shows_the_order_that_the_contracts_hold() -> None:
    picture = read_diagram()

    assert picture["kit"] == read_contract("Layers of the kit")
    assert picture["domains"] == read_contract("Domain apps import downwards only")[:-1]


def test_the_picture_shows_every_app() -> None:
    folders = {path.parent.name for path in (settings.BASE_DIR / "apps").glob("*/__init__.py")}

    assert set().union(*(set().union(*lines) for lines in read_diagram().values())) == folders


# Participles, adjectives and other words that have no clear meaning without context.
UNCLEAR_NAMES = frozenset(
    [
        "found",
        "told",
        "said",
        "made",
        "kept",
        "known",
        "shown",
        "given",
        "taken",
        "sent",
        "left",
        "held",
        "heard",
        "seen",
        "meant",
        "bought",
        "sold",
        "paid",
        "put",
        "gone",
        "done",
        "begun",
        "written",
        "chosen",
        "laid",
        "drawn",
        "hidden",
        "due",
        "lost",
        "spent",
        "built",
        "read",
        "set",
        "cut",
        "split",
        "wanted",
        "asked",
        "named",
        "each",
        "one",
        "here",
        "whole",
        "further",
        "others",
        "some",
        "fresh",
        "again",
        "way",
        "few",
        "many",
        "stored",
        "listed",
        "joined",
        "narrowed",
        "alive",
        "answered",
        "apart",
        "arranged",
        "beside",
        "changed",
        "claimed",
        "counted",
        "declared",
        "dropped",
        "ended",
        "expected",
        "filled",
        "filtered",
        "folded",
        "forgotten",
        "handled",
        "ignored",
        "installed",
        "kinds",
        "less",
        "locked",
        "mine",
        "missing",
        "more",
        "moved",
        "ordered",
        "own",
        "owed",
        "placed",
        "prepared",
        "ready",
        "refused",
        "registered",
        "remaining",
        "removed",
        "renamed",
        "rest",
        "retold",
        "rounded",
        "rung",
        "same",
        "settled",
        "such",
        "theirs",
        "those",
        "told",
        "touched",
        "united",
        "unchanged",
        "untouched",
        "used",
        "waiting",
        "within",
        "without",
    ]
)
# Names with a special meaning, which may occur in many modules.
HOOKS = frozenset({"ready", "upgrade", "downgrade", "handle", "main"})
PRODUCT = ("apps", "backoffice")


def get_public_functions() -> dict[str, list[str]]:
    """Return the product's public functions, with the modules that define each name."""
    modules: dict[str, list[str]] = {}
    for folder in PRODUCT:
        for path in sorted((settings.BASE_DIR / folder).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
                    modules.setdefault(node.name, []).append(str(path.relative_to(settings.BASE_DIR)))
    return modules


def test_public_functions_and_modules_have_names_that_say_what_they_are() -> None:
    names = get_public_functions()
    modules = [
        path for folder in PRODUCT for path in (settings.BASE_DIR / folder).rglob("*.py") if path.stem in UNCLEAR_NAMES
    ]

    assert {name: names[name] for name in sorted(UNCLEAR_NAMES & names.keys())} == {}
    assert modules == []


def test_public_function_names_occur_in_at_most_two_modules() -> None:
    shared = {name: places for name, places in get_public_functions().items() if len(places) > 2 and name not in HOOKS}

    assert shared == {}
