"""Callbacks for changed shop settings, run in the transaction of the change."""

from collections.abc import Callable, Iterable

# A callback, which is called in the shop scope with the actor of the change.
SettingCallback = Callable[[str], None]

_callbacks: dict[str, list[SettingCallback]] = {}


def register_setting_callback(name: str, callback: SettingCallback) -> None:
    """Register a callback for a setting, which is a column of ``Shop``."""
    _callbacks.setdefault(name, []).append(callback)


def run_setting_callbacks(names: Iterable[str], *, actor: str) -> None:
    """Run the callbacks that are registered for the changed settings."""
    for name in names:
        for callback in _callbacks.get(name, ()):
            callback(actor)
