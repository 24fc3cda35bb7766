import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command

from apps.core.registry import MODULE_NAMES, AlreadyRegistered, NotRegistered, Registry, registries

APPS_FOLDER = settings.BASE_DIR / "apps"


@pytest.fixture
def colors() -> Iterator[Registry[str, str]]:
    with patch.dict(registries):
        yield Registry[str, str]("colors", get_key=str.lower)


def run_module(name: str, code: str, **names: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(names)
    exec(compile(code, name, "exec"), vars(module))
    return module


def list_registries() -> dict[str, list[tuple[str, str]]]:
    """Return the keys and modules that ``manage.py registries`` prints, by the name of the registry."""
    output = io.StringIO()
    call_command("registries", stdout=output)
    name, listed = "", dict[str, list[tuple[str, str]]]()
    for line in output.getvalue().splitlines():
        if line.startswith("    "):
            key, _, module = line.strip().rpartition("  ")
            listed[name].append((key.strip(), module))
        else:
            name = line.rpartition(" (")[0]
            listed[name] = []
    return listed


def test_registries_keep_the_order_of_registration(colors: Registry[str, str]) -> None:
    assert colors.register("z", "red") == "red"
    assert colors.add("Blue", "Green") == "Blue"

    assert list(colors.items()) == [("z", "red"), ("blue", "Blue"), ("green", "Green")]
    assert ("z" in colors, "y" in colors, colors.get("y")) == (True, False, None)


def test_registries_are_decorators() -> None:
    with patch.dict(registries):
        hooks = Registry[str, Callable[[], int]]("hooks")

    @hooks.add
    def one() -> int:
        return 1

    @hooks.register("second")
    def two() -> int:
        return 2

    assert [hook() for hook in hooks.values()] == [one(), two()]
    assert list(hooks) == [f"{__name__}.test_registries_are_decorators.<locals>.one", "second"]


def test_double_registration_names_both_modules(colors: Registry[str, str]) -> None:
    run_module("first.extensions", "colors.add('Red')", colors=colors)
    with pytest.raises(AlreadyRegistered) as error:
        run_module("second.extensions", "colors.register('red', 'Crimson')", colors=colors)

    assert str(error.value) == (
        "second.extensions cannot register 'red' in the registry 'colors', "
        "because first.extensions has already registered it."
    )
    assert colors["red"] == "Red"


def test_unknown_key_names_the_registry_and_its_keys(colors: Registry[str, str]) -> None:
    colors.add("Red", "Blue")
    with pytest.raises(NotRegistered) as error:
        colors["green"]

    assert str(error.value) == "The registry 'colors' has no entry 'green'. It has: red, blue."


def test_registry_names_are_unique(colors: Registry[str, str]) -> None:
    with pytest.raises(AlreadyRegistered, match="'colors' already exists"):
        Registry[str, str]("colors")


def test_registrant_is_the_module_that_calls_a_helper_of_the_registry() -> None:
    code = "colors = Registry('colors', get_key=str)\ndef define(name):\n    return colors.add(name)\ndefine('red')"
    with patch.dict(registries):
        offering = run_module("offering", code, Registry=Registry)
    run_module("using", "offering.define('blue')", offering=offering)

    assert offering.colors.module == "offering"
    assert offering.colors.registrants == {"red": "offering", "blue": "using"}


def test_command_lists_every_registry_with_the_module_of_each_entry() -> None:
    listed = list_registries()

    assert listed.keys() == registries.keys()
    assert {name: len(entries) for name, entries in listed.items()} == {
        name: len(registry) for name, registry in registries.items()
    }
    assert ("orders/create", "apps.orders.topics") in listed["event topics"]
    assert ("customers.merge_customers", "apps.customers.tasks") in listed["job tasks"]
    assert ("order totals", "apps.orders.periodic") in listed["consistency checks"]
    unknown = {module for entries in listed.values() for _, module in entries if module not in sys.modules}
    assert unknown == set()


def test_registries_of_the_product_have_entries() -> None:
    list_registries()

    # Only a worker with tracing wraps attempts at jobs.
    empty = {name for name, registry in registries.items() if not registry and registry.module.startswith("apps.")}
    assert empty == {"wrappers of attempts at jobs"}


@pytest.mark.parametrize("module_name", MODULE_NAMES)
def test_modules_are_found_by_name(module_name: str) -> None:
    folders = {Path(app.path): app.name for app in apps.get_app_configs() if app.name.startswith("apps.")}
    present = {f"{name}.{module_name}" for folder, name in folders.items() if (folder / f"{module_name}.py").exists()}

    assert present
    assert present <= sys.modules.keys()


def test_no_module_of_this_name_lies_where_it_is_not_found() -> None:
    folders = {Path(app.path) for app in apps.get_app_configs()}
    # This module defines topics and is not one that registers them.
    others = {APPS_FOLDER / "webhooks" / "domain" / "topics.py"}
    names = {f"{name}.py" for name in ("extensions", "topics", "tasks", "periodic")}

    modules = (path for path in APPS_FOLDER.rglob("*.py") if path.parent.name != "commands")
    lost = {path for path in modules if path.name in names and path.parent not in folders}
    assert lost - others == set()
