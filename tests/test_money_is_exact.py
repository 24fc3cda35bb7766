"""Money is decimal from end to end, and rounds in one place: read in the source, where nothing else can be written."""

import ast
from collections.abc import Iterator

import pytest
from django.conf import settings

APPS = settings.BASE_DIR / "apps"
# Where amounts are kept, worked out and shown.
EXACT = (
    "ground/money.py", "orders", "refunds", "catalog", "customers", "inventory", "exchange", "bulk", "panel/money.py",
)  # fmt: skip
# Numbers that clients know as JSON numbers with a point: by file, the argument of ``float``. Two are no amounts, and
# the third is shown beside the exact text of the same amount.
SHOWN = {
    ("orders/api/money.py", "tax['rate']"),
    ("catalog/api/fields.py", "value"),
    ("refunds/api/refunds.py", "amount"),
}
# Where numbers may be cut to a number of decimals.
ROUNDS = {"ground/money.py", "catalog/domain/weights.py", "api/resources/fields/values.py"}


@pytest.fixture(scope="module")
def sources() -> list[tuple[str, ast.Module]]:
    """Parse the files of ``EXACT`` once for all tests."""
    files = [
        file
        for place in EXACT
        for file in ((APPS / place).rglob("*.py") if (APPS / place).is_dir() else [APPS / place])
    ]
    return [
        (file.relative_to(APPS).as_posix(), ast.parse(file.read_text()))
        for file in files
        if "migrations" not in file.parts and "demo" not in file.as_posix()
    ]


def calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name in {
            getattr(node.func, "id", None),
            getattr(node.func, "attr", None),
        }:
            yield node


def test_no_amount_becomes_a_float(sources: list[tuple[str, ast.Module]]) -> None:
    found = {(name, ast.unparse(call.args[0])) for name, tree in sources for call in calls(tree, "float") if call.args}

    assert found == SHOWN


def test_no_amount_is_worked_out_with_floats(sources: list[tuple[str, ast.Module]]) -> None:
    found = {
        f"{name}:{node.lineno}"
        for name, tree in sources
        if "/domain/" in name or "money" in name
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp | ast.Compare)
        for leaf in ast.iter_child_nodes(node)
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, float)
    }

    assert found == set()


def test_amounts_round_in_one_place_and_half_up() -> None:
    rounding = ("quantize", "get_currency_precision")
    texts = [(path, path.read_text()) for path in APPS.rglob("*.py")]
    # Parsing takes seconds, so only where one of the names occurs at all.
    everywhere = [(path, ast.parse(text)) for path, text in texts if any(name in text for name in rounding)]
    found = {
        path.relative_to(APPS).as_posix() for path, tree in everywhere for name in rounding for _ in calls(tree, name)
    }
    unsaid = [
        ast.unparse(call)
        for path, tree in everywhere
        for call in calls(tree, "quantize")
        if len(call.args) + len(call.keywords) < 2 and path.name != "values.py"
    ]

    assert found <= ROUNDS
    assert unsaid == []
