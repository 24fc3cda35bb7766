"""One-time purchases on an app's page: what was asked, asking, and deciding."""

from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground import languages
from apps.ground.errors import DomainError
from apps.panel.access import may
from apps.panel.money import MoneyField
from apps.panel.requests import Context
from apps.shops.models import AppPurchase, Installation

DECIDE = "shops.add_installation"
_TONES = {"pending": "bo-badge-warning", "active": "bo-badge-success"}


class PurchaseForm(forms.Form):
    """What an app's maker asks a shop to pay for."""

    name = forms.CharField(
        max_length=255, label=gettext_lazy("What for"), help_text=gettext_lazy("What the shop reads when it decides.")
    )
    price = MoneyField(label=gettext_lazy("Price"))
    test = forms.BooleanField(required=False, label=gettext_lazy("A test: no money is meant"))

    def __init__(self, data: QueryDict | None, installation: Installation) -> None:
        super().__init__(data)
        self.fields["price"].label = _("Price in {currency}").format(currency=installation.shop.currency)

    def refuse(self, refusal: DomainError) -> None:
        """Show what the service refused."""
        for field, texts in refusal.errors.items():
            self.add_error(field if field in self.fields else None, texts)


@dataclass(frozen=True, slots=True)
class Line:
    """A purchase as the page lists it."""

    row: AppPurchase
    price: str
    tone: str


def listed(request: HttpRequest, installation: Installation) -> Context:
    """What the app's page shows of them."""
    rows = AppPurchase.rows().filter(installation=installation).order_by("-pk")[:50]
    return {"purchases": [_line(row) for row in rows], "may_decide": may(request, DECIDE)}


def _line(row: AppPurchase) -> Line:
    return Line(row, languages.money(row.price, row.currency), _TONES.get(row.status, ""))
