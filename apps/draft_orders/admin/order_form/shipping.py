"""The shipping line of an order."""

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.types import Attrs
from apps.draft_orders.admin.order_form.base import PartForm


class ShippingForm(PartForm):
    shipping_title = forms.CharField(
        label=gettext_lazy("Shipping method"),
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"data-next": "id_shipping_price"}),
    )
    shipping_price = MoneyField(label=gettext_lazy("Shipping price"), required=False)

    def __init__(self, data: QueryDict, *, is_saving: bool = False, focus: str = "") -> None:
        super().__init__(data, is_saving=is_saving, focus=focus)
        self.fields["shipping_price"].widget.attrs["data-next"] = "create-paid"

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        has_price = data.get("shipping_price") is not None or "shipping_price" in self.errors
        if self.is_saving and data.get("shipping_title") and not has_price:
            self.add_error("shipping_price", _("Enter a price. Free shipping has the price 0."))
        return data

    @property
    def shipping_line(self) -> Attrs | None:
        """Return the shipping line in the format of the service, or None."""
        if self.cleaned_data.get("shipping_price") is None:
            return None
        title = self.cleaned_data["shipping_title"] or _("Shipping")
        return {"title": title, "price": self.cleaned_data["shipping_price"]}
