"""Base classes for inlines in a ``PanelAdmin``, and helpers for inline rows that services save."""

from typing import Any, TypeVar

from django.db.models import Model
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest

from apps.panel.admin_base.forms import ShopOwnedForm
from apps.panel.staff_request import as_staff_request
from apps.panel.theme import ThemedStackedInline, ThemedTabularInline
from apps.staff.domain.actor_names import get_staff_actor

Child = TypeVar("Child", bound=Model)
Parent = TypeVar("Parent", bound=Model)
Rows = TypeVar("Rows", bound=BaseModelFormSet[Any, Any])


class ShopOwnedTabularInline(ThemedTabularInline[Child, Parent]):
    """An inline that shows shop-owned rows as a table in the parent's form."""

    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


class ShopOwnedStackedInline(ThemedStackedInline[Child, Parent]):
    """An inline that shows shop-owned rows one below the other in the parent's form."""

    form: type[ModelForm[Child]] = ShopOwnedForm[Child]
    extra = 0
    tab = True


def add_actor_to_formset(request: HttpRequest, formset: type[Rows]) -> type[Rows]:
    """Return a subclass of the formset with the current user as ``actor``, for rows that services save."""
    return type(formset.__name__, (formset,), {"actor": get_staff_actor(as_staff_request(request).user)})


def mark_formset_saved(formset: BaseModelFormSet[Any, Any]) -> None:
    """Set the attributes that Django expects on a saved formset, after a service has saved the rows."""
    formset.new_objects, formset.changed_objects, formset.deleted_objects = [], [], []
    formset.save_m2m = _save_no_m2m  # type: ignore[method-assign]


def _save_no_m2m() -> None:
    """Do nothing, because the rows have no many-to-many relations."""
