"""Callbacks for changed shop settings. They run in the same transaction as the change."""

from collections.abc import Callable, Iterable

# A function that is called in the shop scope with the actor who changed the setting.
SettingCallback = Callable[[str], None]

_callbacks: dict[str, list[SettingCallback]] = {}


def register_setting_callback(name: str, callback: SettingCallback) -> None:
    """Register a callback for changes to a setting. ``name`` is a field name of ``Shop``."""
    _callbacks.setdefault(name, []).append(callback)


def run_setting_callbacks(names: Iterable[str], *, actor: str) -> None:
    """Run the callbacks that are registered for the changed settings."""
    for name in names:
        for callback in _callbacks.get(name, ()):
            callback(actor)
