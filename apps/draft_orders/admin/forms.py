"""The forms of the page that creates an order: its values, and one form per line."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.catalog.models import Variant
from apps.core.admin.display.money import MoneyField, format_amount_input
from apps.core.admin.forms.error_display import SentenceErrorList
from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.models import Address
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.admin.forms import ADDRESS_FIELDS, ADDRESS_KINDS
from apps.orders.domain.create.lines import MAX_QUANTITY
from apps.orders.domain.updates import apply_address_changes
from apps.shops.domain.countries import get_country_choices

AMOUNT, PERCENTAGE = "fixed_amount", "percentage"
_MISSING = {
    "title": gettext_lazy("Enter a title."),
    "price": gettext_lazy("Enter a price."),
    "quantity": gettext_lazy("Enter a quantity."),
}
CONTACT_FIELDS = ("first_name", "last_name", "phone")


class DiscountForm(forms.Form):
    """A form with the fields of a discount, of the whole order or of one line."""

    discount = forms.CharField(
        label=gettext_lazy("Discount"),
        required=False,
        max_length=20,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "size": "8"}),
    )
    discount_type = forms.ChoiceField(label=gettext_lazy("Discount type"), required=False)
    discount_reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=255)

    def __init__(self, data: QueryDict, *, prefix: str | None = None, is_saving: bool = False) -> None:
        """Create the form. Values that are only missing are errors if the form ``is_saving``."""
        super().__init__(data, prefix=prefix, error_class=SentenceErrorList)
        self.is_saving = is_saving
        self.set_choices("discount_type", [(AMOUNT, self.amount_label), (PERCENTAGE, "%")])
        for field in self.fields.values():
            if not isinstance(field.widget, forms.HiddenInput | forms.CheckboxInput):
                field.widget.attrs |= {"class": "bo-input", "autocomplete": "off"}

    def set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = choices

    @property
    def currency(self) -> str:
        return get_current_shop().currency

    @property
    def amount_label(self) -> str:
        return self.currency

    def clean_discount(self) -> Decimal | None:
        text = self.cleaned_data["discount"].strip()
        if not text:
            return None
        if self.data.get(self.add_prefix("discount_type")) == PERCENTAGE:
            return self._clean_percentage(text)
        return MoneyField().clean(text)

    def _clean_percentage(self, text: str) -> Decimal:
        try:
            number = normalize_number(text.rstrip("% "), "")
        except InvalidNumber as error:
            raise forms.ValidationError(str(error)) from error
        message = _("Enter a percentage of up to 100.")
        field = forms.DecimalField(
            min_value=0,
            max_value=100,
            decimal_places=6,
            error_messages={"min_value": message, "max_value": message},
        )
        return cast("Decimal", field.clean(number))

    @property
    def applied_discount(self) -> Attrs | None:
        """Return the discount in the format of the service, or None."""
        value = self.cleaned_data.get("discount")
        if not value:
            return None
        return {
            "value_type": self.cleaned_data["discount_type"] or AMOUNT,
            "value": value,
            "title": self.cleaned_data.get("discount_reason", ""),
        }


def format_discount(discount: ReadOnlyAttrs | None, currency: str, prefix: str = "") -> dict[str, str]:
    """Return the form values of a stored discount."""
    if not discount:
        return {}
    value = Decimal(str(discount["value"]))
    kind = discount["value_type"]
    text = format_amount_input(value, currency) if kind == AMOUNT else f"{value.normalize():f}"
    reason = discount.get("title") or discount.get("description") or ""
    return {f"{prefix}discount": text, f"{prefix}discount_type": kind, f"{prefix}discount_reason": reason}


class LineForm(DiscountForm):
    """A line of the order: a variant or, without one, a custom item with its own title and price.

    ``name`` is the displayed name, in case the variant is deleted while the form is open. ``row`` is the calculated
    line.
    """

    id = forms.IntegerField(required=False, widget=forms.HiddenInput)
    variant = forms.IntegerField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(required=False, max_length=1100, widget=forms.HiddenInput)
    title = forms.CharField(label=pgettext_lazy("line item", "Title"), required=False, max_length=255)
    price = MoneyField(label=gettext_lazy("Price per item"), required=False)
    quantity = forms.IntegerField(
        label=gettext_lazy("Quantity"),
        required=False,
        min_value=1,
        max_value=MAX_QUANTITY,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "size": "5", "maxlength": "7"}),
        error_messages={"invalid": gettext_lazy("Enter a whole number.")},
    )
    taxable = forms.BooleanField(label=gettext_lazy("Taxable"), required=False)
    requires_shipping = forms.BooleanField(label=gettext_lazy("Requires shipping"), required=False)

    def __init__(
        self,
        data: QueryDict,
        number: int,
        *,
        variants: Mapping[int, Variant],
        is_saving: bool = False,
        focus: str = "",
    ) -> None:
        self.number, prefix = number, f"line-{number}"
        pk = data.get(f"{prefix}-variant", "")
        self.catalog_row = variants.get(int(pk)) if pk.isdecimal() else None
        self.is_custom = not pk
        self.row: DraftOrderLine | None = None
        super().__init__(data, prefix=prefix, is_saving=is_saving)
        self.fields["title"].widget.attrs["autofocus"] = focus == f"{prefix}-title"

    @property
    def amount_label(self) -> str:
        return _("{currency} per item").format(currency=super().amount_label)

    @property
    def display_name(self) -> str:
        if self.catalog_row:
            return self.catalog_row.full_name
        return str(self[("title" if self.is_custom else "name")].value() or "") or _("Custom item")

    @property
    def stock_text(self) -> str:
        """Return the quantity in stock, if it is tracked."""
        if self.catalog_row is None or not self.catalog_row.inventory_item.tracked:
            return ""
        return _("{count} in stock").format(count=formats.format_integer(self.catalog_row.inventory_quantity))

    @property
    def is_short(self) -> bool:
        """Return True if the stock is too low for the quantity, and the variant must not be oversold."""
        variant, quantity = self.catalog_row, self.cleaned_data.get("quantity") if self.is_valid() else None
        if variant is None or quantity is None or not variant.inventory_item.tracked:
            return False
        return variant.inventory_policy == Variant.InventoryPolicy.DENY and quantity > variant.inventory_quantity

    @property
    def amounts(self) -> ReadOnlyAttrs:
        """Return the calculated price and totals of the line, formatted."""
        if self.row is None:
            return {}
        names = ("price", "gross_price", "net_price")
        return {name: formats.format_money(getattr(self.row, name), self.currency) for name in names}

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        if not self.is_custom and self.catalog_row is None:
            self.add_error(None, _("This product was deleted. Remove the line."))
        missing = [name for name in self._required if name not in self.errors and data.get(name) in (None, "")]
        for name in missing if self.is_saving else ():
            self.add_error(name, _MISSING[name])
        return data

    @property
    def _required(self) -> Sequence[str]:
        return ("title", "price", "quantity") if self.is_custom else ("quantity",)

    @property
    def is_complete(self) -> bool:
        """Return True if the line can be calculated."""
        return self.is_valid() and all(self.cleaned_data.get(name) not in (None, "") for name in self._required)

    @property
    def values(self) -> Attrs:
        """Return the line in the format of the service."""
        data = self.cleaned_data
        line = {"quantity": data["quantity"], "applied_discount": self.applied_discount}
        if data.get("id"):
            line["id"] = data["id"]
        if not self.is_custom:
            return {**line, "variant_id": data["variant"]}
        own = {name: data[name] for name in ("title", "price", "taxable", "requires_shipping")}
        return {**line, **own, "variant_id": None}


class DraftForm(DiscountForm):
    """All values of a draft order except its lines.

    If no customer is chosen, the contact fields describe a new customer.
    """

    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    customer = forms.IntegerField(required=False, widget=forms.HiddenInput)
    first_name = forms.CharField(label=gettext_lazy("First name"), required=False, max_length=255)
    last_name = forms.CharField(label=gettext_lazy("Last name"), required=False, max_length=255)
    email = forms.EmailField(label=gettext_lazy("Email"), required=False, max_length=255)
    phone = forms.CharField(label=gettext_lazy("Phone"), required=False, max_length=255)
    shipping_title = forms.CharField(label=gettext_lazy("Shipping method"), required=False, max_length=255)
    shipping_price = MoneyField(label=gettext_lazy("Shipping price"), required=False)
    discount_codes = forms.CharField(
        label=gettext_lazy("Discount codes"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy("Separated by commas."),
    )
    tax_exempt = forms.BooleanField(label=gettext_lazy("Don't charge taxes"), required=False)
    billing_same = forms.BooleanField(label=gettext_lazy("The billing address is the shipping address"), required=False)
    note = forms.CharField(
        label=gettext_lazy("Note"), required=False, max_length=5000, widget=forms.Textarea(attrs={"rows": 2})
    )
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False, help_text=gettext_lazy("Separated by commas."))

    def __init__(self, data: QueryDict, *, is_saving: bool = False, focus: str = "") -> None:
        super().__init__(data, is_saving=is_saving)
        self.fields["shipping_title"].widget.attrs |= {
            "data-next": "id_shipping_price",
            "autofocus": focus == "shipping_title",
        }
        self.fields["shipping_price"].widget.attrs["data-next"] = "create-paid"
        for kind in ADDRESS_KINDS:
            self.set_choices(f"{kind}_country_code", [("", _("Choose a country")), *get_country_choices()])

    def get_address_fields(self, kind: str) -> list[forms.BoundField]:
        return [self[f"{kind}_{name}"] for name in ADDRESS_FIELDS]

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        for kind in ADDRESS_KINDS:
            values = {name: data.get(f"{kind}_{name}", "") for name in ADDRESS_FIELDS}
            # The country is preselected, so an address without any other value is blank.
            has_values = any(value for name, value in values.items() if name != "country_code")
            address, errors = apply_address_changes(None, values) if has_values else (None, {})
            for name, messages in errors.items():
                field = f"{kind}_{'country_code' if name == 'country' else name}"
                self.add_error(field if field in self.fields else None, messages)
            data[f"{kind}_address"] = address
        if data.get("billing_same"):
            data["billing_address"] = data["shipping_address"]
        has_price = data.get("shipping_price") is not None or "shipping_price" in self.errors
        if self.is_saving and data.get("shipping_title") and not has_price:
            self.add_error("shipping_price", _("Enter a price. Free shipping has the price 0."))
        return data

    @property
    def new_customer(self) -> Attrs | None:
        """Return the entered contact details if no customer is chosen, or None."""
        data = self.cleaned_data
        if data.get("customer"):
            return None
        contact = {name: data[name] for name in ("email", *CONTACT_FIELDS) if data.get(name)}
        return contact or None

    @property
    def values(self) -> Attrs:
        """Return the values in the format of the service."""
        data, shipping_line = self.cleaned_data, None
        if data.get("shipping_price") is not None:
            title = data["shipping_title"] or _("Shipping")
            shipping_line = {"title": title, "price": data["shipping_price"]}
        names = ("email", "shipping_address", "billing_address", "note", "tags", "tax_exempt")
        return {
            **{name: data[name] for name in names},
            "customer_id": data["customer"],
            "applied_discount": self.applied_discount,
            "discount_codes": data["discount_codes"].split(","),
            "shipping_line": shipping_line,
        }


def _address_field(name: str) -> forms.Field:
    if name == "country_code":
        return forms.ChoiceField(label=gettext_lazy("Country"), required=False)
    column: Any = Address._meta.get_field(name)
    return forms.CharField(label=capfirst(column.verbose_name), required=False, max_length=255)


DraftForm.base_fields.update(
    {f"{kind}_{name}": _address_field(name) for kind in ADDRESS_KINDS for name in ADDRESS_FIELDS}
)


def get_form_data(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> QueryDict:
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
        values |= get_address_data(kind, getattr(draft, f"{kind}_address") or {})
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
    return to_form_data(values)


def get_address_data(kind: str, address: ReadOnlyAttrs) -> dict[str, str]:
    return {f"{kind}_{name}": address.get(name) or "" for name in ADDRESS_FIELDS}


def to_form_data(values: ReadOnlyAttrs) -> QueryDict:
    """Return values as a browser sends them. Checkboxes that are not selected are missing."""
    data = QueryDict(mutable=True)
    for name, value in values.items():
        if value is True:
            data[name] = "on"
        elif value not in (None, False):
            data[name] = str(value)
    return data
