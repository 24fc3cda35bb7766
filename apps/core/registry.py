"""Registries: the one way in which an app plugs into another app.

A lower app offers a ``Registry`` at module level. Higher apps register entries when their modules are imported.
``autodiscover`` finds these modules by name, as Django finds ``admin`` modules. ``manage.py registries`` lists all
registries, their entries and the module that registered each entry.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

from django.apps import apps
from django.utils.module_loading import module_has_submodule

K = TypeVar("K")
V = TypeVar("V")

# The modules of an app that register entries, in the order of import. Topics come after extensions, because each type
# of metafield owner has topics.
MODULE_NAMES = ("extensions", "topics", "tasks", "periodic", "emails", "privacy")


class AlreadyRegistered(ValueError):
    """Raised when a key is registered twice."""


class NotRegistered(KeyError):
    def __str__(self) -> str:
        # ``KeyError`` would show the message in quotes.
        return str(self.args[0])


def get_dotted_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


class Registry(dict[K, V], Generic[K, V]):
    """Entries that apps register, in the order of registration.

    A registry is a dictionary, so that lookups and loops cost no additional function calls. Only ``register`` and
    ``add`` add entries. Tests replace entries with ``unittest.mock.patch.dict``. ``module`` is the module that offers
    the registry, and ``registrants`` are the modules that registered the entries.
    """

    def __init__(self, name: str, *, get_key: Callable[[V], Any] = get_dotted_name) -> None:
        """Create an empty registry with a unique name. ``get_key`` returns the key of a value for ``add``."""
        super().__init__()
        self.name = name
        # ``Registry[str, Topic]("event topics")`` is a call by the module ``typing``.
        self.module = _get_calling_module(__name__, "typing")
        self.registrants: dict[K, str] = {}
        self._get_key = get_key
        if name in registries:
            raise AlreadyRegistered(f"A registry with the name {name!r} already exists.")
        registries[name] = self

    @overload
    def register(self, key: K, /) -> Callable[[V], V]: ...

    @overload
    def register(self, key: K, value: V, /) -> V: ...

    def register(self, key: K, /, *values: V) -> Any:
        """Register a value under a key. Without a value, return a decorator that registers a function or class."""
        if not values:
            return lambda value: self._set(key, value)
        return self._set(key, *values)

    def add(self, value: V, *more_values: V) -> V:
        """Register values that have a key of their own, and return the first value. Can be used as a decorator."""
        for new_value in (value, *more_values):
            self._set(self._get_key(new_value), new_value)
        return value

    def _set(self, key: K, value: V) -> V:
        # Skip functions of the module that offers the registry, such as ``define_message``.
        registrant = _get_calling_module(__name__, self.module)
        if key in self:
            raise AlreadyRegistered(
                f"{registrant} cannot register {key!r} in the registry {self.name!r}, "
                f"because {self.registrants.get(key)} has already registered it."
            )
        self[key] = value
        self.registrants[key] = registrant
        return value

    def __missing__(self, key: K) -> V:
        raise NotRegistered(f"The registry {self.name!r} has no entry {key!r}. It has: {', '.join(map(str, self))}.")


# All registries by name.
registries: dict[str, Registry[Any, Any]] = {}


def autodiscover(*module_names: str) -> None:
    """Import the modules with these names from all apps of the product, name by name."""
    product = __name__.partition(".")[0]
    for module_name in module_names:
        for app in apps.get_app_configs():
            if app.name.startswith(f"{product}.") and module_has_submodule(app.module, module_name):
                import_module(f"{app.name}.{module_name}")


def _get_calling_module(*skipped: str) -> str:
    """Return the nearest calling module, without the functions of the skipped modules."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"] in skipped and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return str(frame.f_globals["__name__"])
