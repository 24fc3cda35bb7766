"""Sections that other apps add to the order status page."""

from collections.abc import Callable

from apps.ground.types import Attrs
from apps.orders.models import Order

# A function that returns the context of a section, called in the shop scope. An empty context hides the section.
GetSectionContext = Callable[[Order], Attrs]
_sections: dict[str, GetSectionContext] = {}


def register_status_page_section(template: str, get_context: GetSectionContext) -> None:
    """Add a section between the summary of the order and its items."""
    _sections[template] = get_context


def get_status_page_sections(order: Order) -> list[tuple[str, Attrs]]:
    """Return the templates and contexts of an order's sections."""
    sections = [(template, get_section_context(order)) for template, get_section_context in _sections.items()]
    return [(template, context) for template, context in sections if context]
