"""A registry of actions, inlines and list headers that apps add to the model admins of other apps.

Apps register these additions while their ``admin`` module is imported. ``PanelAdmin`` shows the additions.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.contrib.admin.options import InlineModelAdmin
from django.db.models import Model
from django.http import HttpResponse

# A Django bulk action: a function that takes the model admin, the request and the selected rows.
Action: TypeAlias = Callable[..., HttpResponse | None]
Inline: TypeAlias = "type[InlineModelAdmin[Any, Any]]"


@dataclass(slots=True)
class Extensions:
    """The additions to one model's admin.

    Attributes:
        actions: Bulk actions of the list, each with its permission.
        inlines: Inlines in the form of an existing row.
        list_headers: Templates above the list, in order.
    """

    actions: list[tuple[Action, str]] = field(default_factory=list)
    inlines: list[Inline] = field(default_factory=list)
    list_headers: list[str] = field(default_factory=list)


_by_model: defaultdict[type[Model], Extensions] = defaultdict(Extensions)


def add_action(model: type[Model], action: Action, *, permission: str) -> None:
    """Add a bulk action to a list for users with the permission, e.g. ``orders.export_order``."""
    _by_model[model].actions.append((action, permission))


def add_inline(model: type[Model], inline: Inline) -> None:
    """Add an inline below the form's own inlines. The form shows the inline only for existing rows."""
    _by_model[model].inlines.append(inline)


def add_list_header(model: type[Model], template: str) -> None:
    """Add a template above a model's list. The template receives the change list as ``cl``."""
    _by_model[model].list_headers.append(template)


def get_extensions(model: type[Model]) -> Extensions:
    """Return the additions to a model's admin."""
    return _by_model[model]
