"""Which services a variant may name as its fulfiller: ``manual``, and those that a later domain registers."""

from collections.abc import Callable, Iterable

MANUAL = "manual"
_sources: list[Callable[[], Iterable[str]]] = []


def register(handles: Callable[[], Iterable[str]]) -> None:
    """Add a source of handles; called in the scope of the shop."""
    _sources.append(handles)


def known_handles() -> set[str]:
    """The handles that a variant of the current shop may name."""
    return {MANUAL, *(handle for source in _sources for handle in source())}
