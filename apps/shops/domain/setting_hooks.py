"""Callbacks for changed shop settings, run in the transaction of the change."""

from collections.abc import Callable, Iterable

# Called in the shop scope with the actor.
SettingCallback = Callable[[str], None]

_followers: dict[str, list[SettingCallback]] = {}


def register_setting_callback(name: str, follower: SettingCallback) -> None:
    """Register a callback for a setting, which is a column of ``Shop``."""
    _followers.setdefault(name, []).append(follower)


def run_setting_callbacks(names: Iterable[str], *, actor: str) -> None:
    """Run the callbacks of changed settings."""
    for name in names:
        for follower in _followers.get(name, ()):
            follower(actor)
