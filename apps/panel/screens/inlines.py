"""The bases of rows that are edited within their parent's form, which a ``PanelAdmin`` must be: it saves them."""

from typing import Any, TypeVar

from django.db.models import Model
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest

from apps.panel.requests import in_shop
from apps.panel.screens.forms import ShopOwnedForm
from apps.panel.theme import ThemedStackedInline, ThemedTabularInline
from apps.staff.domain.actors import actor_of

Child = TypeVar("Child", bound=Model)
Parent = TypeVar("Parent", bound=Model)
Rows = TypeVar("Rows", bound=BaseModelFormSet[Any, Any])


class ShopOwnedTabularInline(ThemedTabularInline[Child, Parent]):
    """Rows of the shop as a table within their parent's form."""

    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


class ShopOwnedStackedInline(ThemedStackedInline[Child, Parent]):
    """Rows of the shop, one below the other, within their parent's form."""

    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


def saved_by(request: HttpRequest, formset: type[Rows]) -> type[Rows]:
    """The rows' formset with an ``actor``: for those whose rows are saved by services."""
    return type(formset.__name__, (formset,), {"actor": actor_of(in_shop(request).user)})


def nothing_to_save(formset: BaseModelFormSet[Any, Any]) -> None:
    """Give a formset whose rows a service has saved what Django asks a saved one for."""
    formset.new_objects, formset.changed_objects, formset.deleted_objects = [], [], []
    formset.save_m2m = _nothing  # type: ignore[method-assign]


def _nothing() -> None:
    """There are no relations of the rows to save."""
