"""Who follows a change of a shop's settings, in the transaction of the change."""

from collections.abc import Callable, Iterable

# Called in the shop's scope with who changed the setting.
Follower = Callable[[str], None]

_followers: dict[str, list[Follower]] = {}


def on_setting(name: str, follower: Follower) -> None:
    """Register who goes by a setting, a column of the shop."""
    _followers.setdefault(name, []).append(follower)


def tell_settings(names: Iterable[str], *, actor: str) -> None:
    """Tell who goes by settings that were changed."""
    for name in names:
        for follower in _followers.get(name, ()):
            follower(actor)
