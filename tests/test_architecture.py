"""The picture of the house in the docs is the one that the contracts hold the code to."""

import re
import tomllib

from django.conf import settings

PICTURE = settings.BASE_DIR / "docs" / "architecture.md"


def contract(name: str) -> list[set[str]]:
    """The layers of a contract, top to bottom, each as the apps that stand in it."""
    tools = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["tool"]
    layers = next(rule["layers"] for rule in tools["importlinter"]["contracts"] if rule["name"] == name)
    apps = [{part.split(".")[1] for part in re.split(r"\s*[|:]\s*", layer)} for layer in layers]
    return [layer for index, layer in enumerate(apps) if not index or layer != apps[index - 1]]


def drawn() -> dict[str, list[set[str]]]:
    """The lines of the picture by part of the house."""
    block = PICTURE.read_text().split("```")[1]
    part, lines = "", dict[str, list[set[str]]]()
    for line in filter(None, block.splitlines()):
        part = line[:12].strip() or part
        names = re.split(r"\s{2,}", line[12:].strip())[0]
        lines.setdefault(part, []).append(set(names.split(" | ")))
    return lines


def test_the_picture_shows_the_order_that_the_contracts_hold() -> None:
    picture = drawn()

    assert picture["kit"] == contract("The kit's order")
    assert picture["domains"] == contract("Domains import downwards only")[:-1]


def test_the_picture_shows_every_app() -> None:
    folders = {path.parent.name for path in (settings.BASE_DIR / "apps").glob("*/__init__.py")}

    assert set().union(*(set().union(*lines) for lines in drawn().values())) == folders
