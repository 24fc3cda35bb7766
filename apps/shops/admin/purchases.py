"""One-time purchases on an app's page: the list, the form, and approving or declining a purchase."""

from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.tenancy.models import Installation
from apps.shops.models import AppPurchase

DECIDE = "shops.add_installation"
_TONES = {"pending": "bo-badge-warning", "active": "bo-badge-success"}


class PurchaseForm(forms.Form):
    """The form for a one-time purchase."""

    name = forms.CharField(
        max_length=255,
        label=gettext_lazy("Description"),
        help_text=gettext_lazy("Staff see this text when they approve or decline the purchase."),
    )
    price = MoneyField(label=gettext_lazy("Price"))
    test = forms.BooleanField(required=False, label=gettext_lazy("Test purchase without payment"))

    def __init__(self, data: QueryDict | None, installation: Installation) -> None:
        super().__init__(data)
        self.fields["price"].label = _("Price in {currency}").format(currency=installation.shop.currency)

    def add_domain_errors(self, error: DomainError) -> None:
        """Add the errors from the service to the form."""
        for field, texts in error.errors.items():
            self.add_error(field if field in self.fields else None, texts)


@dataclass(frozen=True, slots=True)
class PurchaseLine:
    """A purchase in the list on the app's page."""

    row: AppPurchase
    price: str
    tone: str


def get_purchases_context(request: HttpRequest, installation: Installation) -> Context:
    """Return the template context for the purchases of an app."""
    rows = AppPurchase.rows().filter(installation=installation).order_by("-pk")[:50]
    return {"purchases": [_build_line(row) for row in rows], "may_decide": has_permission(request, DECIDE)}


def _build_line(row: AppPurchase) -> PurchaseLine:
    return PurchaseLine(row, formats.format_money(row.price, row.currency), _TONES.get(row.status, ""))
