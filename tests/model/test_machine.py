"""The product agrees with independent models of amounts, items and stock after each step of random histories."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.comparisons import Figures
from tests.model.gift_card_machine import SalesMachine
from tests.model.machine import ModelMachine
from tests.support.api_client import ApiClient
from tests.support.timing import scale_for_soak

FOLDER = Path(__file__).parent


COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    # Each history lists its steps, so it need not be shrunk.
    "phases": [Phase.generate],
}
SHORT = settings(max_examples=5, stateful_step_count=15, derandomize=True, **COMMON)
LONG = settings(max_examples=scale_for_soak(120), stateful_step_count=40, derandomize=False, **COMMON)
MACHINES = {"orders": ModelMachine, "sales": SalesMachine}
SOAK_MARKS = [pytest.mark.soak, pytest.mark.timeout(0)]


@pytest.mark.parametrize("how", [pytest.param(SHORT, id="short"), pytest.param(LONG, id="long", marks=SOAK_MARKS)])
@pytest.mark.parametrize("name", MACHINES)
def test_shops_over_rest_agree_with_a_model(api: ApiClient, in_shop: object, how: settings, name: str) -> None:
    figures = Figures()
    machine = type("Machine", (MACHINES[name],), {"api": api, "shop": in_shop, "figures": figures})

    run_state_machine_as_test(machine, settings=how)

    steps = f"{figures.steps.total()} steps {dict(figures.steps)}"
    print(f"{steps}, {figures.comparisons} comparisons, {len(figures.mismatches)} mismatches")  # noqa: T201
    assert figures.mismatches == []
    if how is LONG:
        assert figures.comparisons >= scale_for_soak(50_000)


def find_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_models_import_nothing_of_the_product(path: Path) -> None:
    names = find_imports(path)

    assert names
    assert not [name for name in names if name.partition(".")[0] in {"apps", "backoffice", "django"}]


@pytest.mark.parametrize("name", ["arithmetic.py", *sorted(path.name for path in FOLDER.glob("*_model.py"))])
def test_models_share_no_helpers_with_tests_of_the_product(name: str) -> None:
    names = find_imports(FOLDER / name)

    own = {f"tests.model.{path.stem}" for path in FOLDER.glob("*_model.py")} | {"tests.model.arithmetic"}
    assert {imported for imported in names if imported.startswith("tests.")} <= own
