"""The bases of rows that are edited within their parent's form, which a ``PanelAdmin`` must be: it saves them."""

from apps.panel.screens.forms import ShopOwnedForm
from apps.panel.theme import ThemedStackedInline, ThemedTabularInline


class ShopOwnedTabularInline(ThemedTabularInline):
    """Rows of the shop as a table within their parent's form."""

    form = ShopOwnedForm
    extra = 0
    tab = True


class ShopOwnedStackedInline(ThemedStackedInline):
    """Rows of the shop, one below the other, within their parent's form."""

    form = ShopOwnedForm
    extra = 0
    tab = True
