"""Actions, inlines and list headers that apps add to the model admins of other apps.

Apps register these additions in their ``admin`` module. ``PanelAdmin`` shows the additions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from django.contrib.admin.options import InlineModelAdmin
from django.db.models import Model
from django.http import HttpResponse

from apps.core.registry import Registry

# A Django bulk action: a function that takes the model admin, the request and the selected rows.
Action: TypeAlias = Callable[..., HttpResponse | None]
Inline: TypeAlias = "type[InlineModelAdmin[Any, Any]]"


@dataclass(frozen=True, slots=True)
class ListAction:
    """A bulk action of a model's list for users with the permission, e.g. ``orders.export_order``.

    Actions with an ``order`` below 50 come before the list's own actions.
    """

    model: type[Model]
    function: Action
    permission: str
    order: int = 50


list_actions = Registry[tuple[type[Model], str], ListAction](
    "actions of lists", get_key=attrgetter("model", "permission")
)
# Inlines below the form's own inlines, by model and name. A form shows them only for existing rows.
inlines = Registry[tuple[type[Model], str], Inline]("inlines of forms")
# Templates with entries for the menu of a list, by model and name. A template receives the change list as ``cl``.
list_headers = Registry[tuple[type[Model], str], str]("menu entries of lists")
# Templates with buttons above a list, by model and name. A template receives the change list as ``cl``.
list_buttons = Registry[tuple[type[Model], str], str]("buttons of lists")
