"""Tests that a text is absent use one that a random token cannot contain by chance."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
SHORT_HEX_TEXT = re.compile(r"[0-9A-Fa-f]{1,5}")
"""One of 140 tokens with 32 hexadecimal digits contains a given text of three digits."""


def _texts(*nodes: ast.expr) -> list[str]:
    parts = [part for node in nodes for part in (node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node])]
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    return [
        value.decode() if isinstance(value, bytes) else value for value in values if isinstance(value, (bytes, str))
    ]


def _left_of_not_in(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what each `not in` below `tree` looks for, without the filters of comprehensions."""
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.NotIn):
        yield tree.left
    filters = tree.ifs if isinstance(tree, ast.comprehension) else []
    for node in ast.iter_child_nodes(tree):
        if node not in filters:
            yield from _left_of_not_in(node)


def _absent_texts(tree: ast.AST) -> Iterator[str]:
    yield from _texts(*_left_of_not_in(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            names = [left.id for left in _left_of_not_in(node) if isinstance(left, ast.Name)]
            if isinstance(node.target, ast.Name) and node.target.id in names:
                yield from _texts(node.iter)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from _texts(*(part.iter for part in ast.walk(node) if isinstance(part, ast.comprehension)))


def test_absent_texts_cannot_be_in_a_token_by_chance() -> None:
    short = [
        f"{path.relative_to(ROOT)}: {text!r}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for text in _absent_texts(ast.parse(path.read_text()))
        if SHORT_HEX_TEXT.fullmatch(text)
    ]

    assert short == []
