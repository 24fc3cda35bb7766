"""The form of a draft order without its lines, and the form values of stored draft orders."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import format_amount_input
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.admin.order_form.customer import CustomerForm, format_address_fields
from apps.draft_orders.admin.order_form.discounts import DiscountForm, format_discount
from apps.draft_orders.admin.order_form.shipping import ShippingForm
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.admin.forms import ADDRESS_KINDS


class DraftForm(CustomerForm, ShippingForm, DiscountForm):
    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    discount_codes = forms.CharField(
        label=gettext_lazy("Discount codes"),
        required=False,
        max_length=10_000,
        help_text=gettext_lazy("Separated by commas."),
    )
    tax_exempt = forms.BooleanField(label=gettext_lazy("Don't charge taxes"), required=False)
    note = forms.CharField(
        label=gettext_lazy("Note"), required=False, max_length=5000, widget=forms.Textarea(attrs={"rows": 2})
    )
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False, help_text=gettext_lazy("Separated by commas."))

    @property
    def has_discount(self) -> bool:
        """Return True if the user entered a discount on the order or a code."""
        return any(self[name].value() for name in ("discount", "discount_reason", "discount_codes"))

    @property
    def values(self) -> Attrs:
        """Return the values in the format of the service, except for the codes, which are one text."""
        data = self.cleaned_data
        names = ("email", "shipping_address", "billing_address", "note", "tags", "tax_exempt")
        return {
            **{name: data[name] for name in names},
            "customer_id": data["customer"],
            "applied_discount": self.applied_discount,
            "discount_codes": data["discount_codes"],
            "shipping_line": self.shipping_line,
        }


def get_empty_data() -> QueryDict:
    country = get_current_shop().country_code
    return _build_data({"billing_same": True, "shipping_country_code": country, "billing_country_code": country})


def get_stored_data(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> QueryDict:
    """Return the form values of a stored draft order."""
    values: dict[str, Any] = {
        "seen_version": draft.version,
        "customer": draft.customer_id,
        "email": draft.email,
        "note": draft.note,
        "tags": draft.tags,
        "discount_codes": ", ".join(draft.discount_codes),
        "tax_exempt": draft.tax_exempt,
        "billing_same": draft.billing_address == draft.shipping_address,
        **format_discount(draft.applied_discount, draft.currency),
    }
    for kind in ADDRESS_KINDS:
        values |= format_address_fields(kind, getattr(draft, f"{kind}_address") or {})
    if draft.shipping_line:
        values["shipping_title"] = draft.shipping_line["title"]
        values["shipping_price"] = format_amount_input(Decimal(draft.shipping_line["price"]), draft.currency)
    for number, line in enumerate(lines):
        row = {
            "id": line.pk,
            "variant": line.variant_id,
            "name": line.name,
            "title": line.title,
            "price": format_amount_input(line.price, draft.currency),
            "quantity": line.quantity,
            "taxable": line.taxable,
            "requires_shipping": line.requires_shipping,
            **format_discount(line.applied_discount, draft.currency),
        }
        values |= {f"line-{number}-{name}": value for name, value in row.items()}
    return _build_data(values)


def _build_data(values: ReadOnlyAttrs) -> QueryDict:
    """Return values as a browser sends them. Checkboxes that are not selected are missing."""
    data = QueryDict(mutable=True)
    for name, value in values.items():
        if value is True:
            data[name] = "on"
        elif value not in (None, False):
            data[name] = str(value)
    return data
