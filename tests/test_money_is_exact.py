import ast
from collections.abc import Iterator

import pytest
from django.conf import settings

APPS = settings.BASE_DIR / "apps"
# Modules that store, calculate or format amounts.
MONEY_MODULES = (
    "core/money.py", "core/tenancy/currency_conversion.py", "core/admin/display/money.py", "orders", "refunds",
    "catalog", "customers", "inventory", "imports_exports", "bulk_edits",
)  # fmt: skip
# Arguments of ``float`` by file, for numbers that clients expect as JSON floats. The first two are not amounts. The
# third is sent in addition to the exact decimal string.
JSON_FLOATS = {
    ("orders/api/fields.py", "tax['rate']"),
    ("catalog/api/fields.py", "value"),
    ("refunds/api/refunds.py", "amount"),
}
# Modules that may round numbers. Migrations cannot import the product's code.
ROUNDING_MODULES = {
    "core/money.py",
    "catalog/domain/weights.py",
    "core/rest/resources/fields/numbers.py",
    "orders/domain/pricing/exchange_rate.py",
    "refunds/migrations/0006_fill_tax_lines.py",
}


@pytest.fixture(scope="module")
def syntax_trees() -> list[tuple[str, ast.Module]]:
    files = [
        file
        for folder in MONEY_MODULES
        for file in ((APPS / folder).rglob("*.py") if (APPS / folder).is_dir() else [APPS / folder])
    ]
    return [
        (file.relative_to(APPS).as_posix(), ast.parse(file.read_text()))
        for file in files
        if "migrations" not in file.parts and "demo" not in file.as_posix()
    ]


def find_calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name in {getattr(node.func, "id", None), getattr(node.func, "attr", None)}:
            yield node


def test_amounts_never_become_floats(syntax_trees: list[tuple[str, ast.Module]]) -> None:
    calls_by_file = {
        (name, ast.unparse(call.args[0]))
        for name, tree in syntax_trees
        for call in find_calls(tree, "float")
        if call.args
    }

    assert calls_by_file == JSON_FLOATS


def test_amounts_are_never_calculated_with_floats(syntax_trees: list[tuple[str, ast.Module]]) -> None:
    calls_by_file = {
        f"{name}:{node.lineno}"
        for name, tree in syntax_trees
        if "/domain/" in name or "money" in name
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp | ast.Compare)
        for leaf in ast.iter_child_nodes(node)
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, float)
    }

    assert calls_by_file == set()


def test_amounts_round_in_one_place_and_half_up() -> None:
    rounding = ("quantize", "get_currency_precision")
    texts = [(path, path.read_text()) for path in APPS.rglob("*.py")]
    # Parsing takes seconds, so only parse files in which a name occurs.
    everywhere = [(path, ast.parse(text)) for path, text in texts if any(name in text for name in rounding)]
    calls_by_file = {
        path.relative_to(APPS).as_posix()
        for path, tree in everywhere
        for name in rounding
        for _ in find_calls(tree, name)
    }
    unsaid = [
        ast.unparse(call)
        for path, tree in everywhere
        for call in find_calls(tree, "quantize")
        if len(call.args) + len(call.keywords) < 2 and path != APPS / "core/rest/resources/fields/numbers.py"
    ]

    assert calls_by_file <= ROUNDING_MODULES
    assert unsaid == []
