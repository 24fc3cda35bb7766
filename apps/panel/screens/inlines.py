"""The bases of rows that are edited within their parent's form, which a ``PanelAdmin`` must be: it saves them."""

from typing import TypeVar

from django.db.models import Model
from django.forms import ModelForm

from apps.panel.screens.forms import ShopOwnedForm
from apps.panel.theme import ThemedStackedInline, ThemedTabularInline

Child = TypeVar("Child", bound=Model)
Parent = TypeVar("Parent", bound=Model)


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
