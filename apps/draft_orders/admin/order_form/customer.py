"""The customer of an order: the contact details and addresses, and the steps that find and choose a customer."""

from django import forms
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.admin.changelist_search import find_by_words
from apps.customers.domain.lookup import get_contact_keys, match_email, match_phone
from apps.customers.models import Customer
from apps.draft_orders.admin.order_form.base import PartForm, Steps, parse_form_id
from apps.draft_orders.domain.inputs import get_default_address
from apps.inventory.domain.item_lookup import MAX_FOUND
from apps.orders.admin.forms import ADDRESS_FIELDS, ADDRESS_KINDS, add_address_errors, create_address_fields
from apps.orders.domain.updates import apply_address_changes
from apps.shops.domain.countries import get_country_choices

CONTACT_FIELDS = ("first_name", "last_name", "email", "phone")


class CustomerForm(PartForm):
    """The form for the customer and the addresses. Without a customer, the contact fields describe a new one."""

    customer = forms.IntegerField(required=False, widget=forms.HiddenInput)
    first_name = forms.CharField(label=gettext_lazy("First name"), required=False, max_length=255)
    last_name = forms.CharField(label=gettext_lazy("Last name"), required=False, max_length=255)
    email = forms.EmailField(label=gettext_lazy("Email"), required=False, max_length=255)
    phone = forms.CharField(label=gettext_lazy("Phone"), required=False, max_length=255)
    billing_same = forms.BooleanField(label=gettext_lazy("The billing address is the shipping address"), required=False)

    def __init__(self, data: QueryDict, *, is_saving: bool = False, focus: str = "") -> None:
        super().__init__(data, is_saving=is_saving, focus=focus)
        for kind in ADDRESS_KINDS:
            self.set_choices(f"{kind}_country_code", [("", _("Choose a country")), *get_country_choices()])

    @property
    def contact(self) -> list[forms.BoundField]:
        return [self[name] for name in CONTACT_FIELDS]

    @property
    def addresses(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        titles = {"shipping": _("Shipping address"), "billing": _("Billing address")}
        return [(kind, title, [self[f"{kind}_{name}"] for name in ADDRESS_FIELDS]) for kind, title in titles.items()]

    @property
    def opened_addresses(self) -> list[str]:
        """Return the kinds of the addresses with errors, and of a billing address that is entered separately."""
        is_separate = "billing_same" not in self.data
        return [
            kind
            for kind, _title, fields in self.addresses
            if any(field.errors for field in fields) or (kind == "billing" and is_separate)
        ]

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        blank = dict.fromkeys(ADDRESS_FIELDS, "")
        for kind in ADDRESS_KINDS:
            values = {name: data.get(f"{kind}_{name}", "") for name in ADDRESS_FIELDS}
            # The country of the shop is preselected, so an address without any other value is blank.
            has_values = any(values.values()) and values != {**blank, "country_code": get_current_shop().country_code}
            address, errors = apply_address_changes(None, values) if has_values else (None, {})
            add_address_errors(self, kind, errors)
            data[f"{kind}_address"] = address
        if data.get("billing_same"):
            data["billing_address"] = data["shipping_address"]
        return data

    @property
    def new_customer(self) -> Attrs | None:
        """Return the entered contact details if no customer is chosen, or None."""
        data = self.cleaned_data
        if data.get("customer"):
            return None
        return {name: data[name] for name in CONTACT_FIELDS if data.get(name)} or None


CustomerForm.base_fields.update(create_address_fields(forms.Select))


class CustomerSteps(Steps):
    """The steps that find and choose a customer.

    Staff who may not view customers find a customer only by the whole email address or phone number, and see nothing
    but the name and the email address.
    """

    search_field = "term"

    def __init__(self, data: QueryDict, *, may_view: bool) -> None:
        super().__init__(data)
        self.may_view = may_view
        self.found: list[Customer] = []

    @cached_property
    def customer(self) -> Customer | None:
        pk = parse_form_id(self.data.get("customer"))
        return Customer.objects.filter(pk=pk).first() if pk else None

    def suggest(self) -> None:
        if len(self.term) > 1:
            self.found = self._find()

    def enter(self) -> None:
        """Choose the customer that matches the entered term."""
        found = self._find()
        if len(found) == 1:
            self._choose(found[0])
            return
        self.found = found
        text = _("No customer matches “{term}”. Enter the contact details of a new customer.")
        if found:
            text = _("“{term}” matches several customers. Choose one.")
        self.error = text.format(term=self.term)

    def choose(self, customer_id: int) -> None:
        rows = Customer.objects.filter(pk=customer_id).select_related("default_address")
        for customer in rows if self.may_view else _find_by_contact(self.term):
            if customer.pk == customer_id:
                self._choose(customer)

    def _find(self) -> list[Customer]:
        if (found := _find_by_contact(self.term)) or not self.may_view:
            return found
        return list(find_by_words(self.term, MAX_FOUND).select_related("default_address"))

    def _choose(self, customer: Customer) -> None:
        """Choose a customer with the default address. The name and phone fields are for new customers only."""
        self.clear()
        self.data["customer"], self.data["email"] = str(customer.pk), customer.email
        address = get_default_address(customer) if self.may_view else None
        for name, value in format_address_fields("shipping", address or {}).items():
            self.data[name] = value
        self.term, self.focus = "", "shipping_title"
        self.message = _("Customer: {name}").format(name=customer)

    def clear(self) -> None:
        """Clear the contact details and addresses too, so that they are not mixed with those of another customer."""
        addresses = [f"{kind}_{name}" for kind in ADDRESS_KINDS for name in ADDRESS_FIELDS]
        for name in ["customer", *CONTACT_FIELDS, *addresses]:
            self.data.pop(name, None)
        self.data["billing_same"] = "on"
        self.data["shipping_country_code"] = self.data["billing_country_code"] = get_current_shop().country_code


def format_address_fields(kind: str, address: ReadOnlyAttrs) -> dict[str, str]:
    return {f"{kind}_{name}": address.get(name) or "" for name in ADDRESS_FIELDS}


def _find_by_contact(term: str) -> list[Customer]:
    """Return the customer with an email address or phone number."""
    key, number = get_contact_keys(email=term if "@" in term else None, phone=None if "@" in term else term)
    exact = [match_email(key)] if key else [match_phone(number)] if number else []
    return list(Customer.objects.select_related("default_address").filter(*exact)[:1]) if exact else []
