"""What an app adds to the screens of the apps below it, which know nothing of it.

Called where the adding app's ``admin`` is imported; ``PanelAdmin`` shows what was added.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.contrib.admin.options import InlineModelAdmin
from django.db.models import Model
from django.http import HttpResponse

# A bulk action as Django has it: the screen, the request and the chosen rows.
Action: TypeAlias = Callable[..., HttpResponse | None]
Inline: TypeAlias = "type[InlineModelAdmin[Any, Any]]"


@dataclass(slots=True)
class Extensions:
    """What was added to one model's screen.

    Attributes:
        actions: Bulk actions of the list, each with the permission that it needs.
        inlines: Rows within the form of a stored row.
        list_headers: Templates above the list, in their order.
    """

    actions: list[tuple[Action, str]] = field(default_factory=list)
    inlines: list[Inline] = field(default_factory=list)
    list_headers: list[str] = field(default_factory=list)


_by_model: defaultdict[type[Model], Extensions] = defaultdict(Extensions)


def add_action(model: type[Model], action: Action, *, permission: str) -> None:
    """Offer a bulk action below a list's own to those who hold the permission, e.g. ``orders.export_order``."""
    _by_model[model].actions.append((action, permission))


def add_inline(model: type[Model], inline: Inline) -> None:
    """Show rows of another model within the form of a stored row, below the form's own."""
    _by_model[model].inlines.append(inline)


def add_list_header(model: type[Model], template: str) -> None:
    """Show a template above a model's list, which it finds as ``cl``, behind those that were added before."""
    _by_model[model].list_headers.append(template)


def added_to(model: type[Model]) -> Extensions:
    """What other apps added to a model's screen."""
    return _by_model[model]
