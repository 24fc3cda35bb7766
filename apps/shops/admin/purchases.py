from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.tenancy.models import Installation
from apps.shops.models import AppPurchase

CREATE, DECIDE = "shops.add_installation", "shops.change_apppurchase"
TONES = {"pending": "bo-badge-warning", "active": "bo-badge-success"}


class PurchaseForm(forms.Form):
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


@dataclass(frozen=True, slots=True)
class PurchaseLine:
    row: AppPurchase
    price: str
    tone: str


def get_purchases_context(request: HttpRequest, installation: Installation) -> Context:
    rows = AppPurchase.rows().filter(installation=installation).order_by("-pk")[:50]
    return {
        "purchases": [_build_line(row) for row in rows],
        "may_create": has_permission(request, CREATE),
        "may_decide": has_permission(request, DECIDE),
    }


def _build_line(row: AppPurchase) -> PurchaseLine:
    return PurchaseLine(row, formats.format_money(row.price, row.currency), TONES.get(row.status, ""))
