"""What other apps tell on the page of an order: each a template, and what it is given."""

from collections.abc import Callable

from apps.ground.attrs import Attrs
from apps.orders.models import Order

# Works out what the template is given, in the order's shop; nothing where there is nothing to tell.
Tell = Callable[[Order], Attrs]
_chapters: dict[str, Tell] = {}


def register(template: str, tell: Tell) -> None:
    """Add a chapter between the summary of the order and its lines."""
    _chapters[template] = tell


def chapters_of(order: Order) -> list[tuple[str, Attrs]]:
    """The templates that have something to tell of an order, each with what it is given."""
    told = [(template, tell(order)) for template, tell in _chapters.items()]
    return [(template, given) for template, given in told if given]
