"""What stands in a customer's form besides the customer: addresses, and the history of consents."""

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, cast

from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet, ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.customers.admin.forms import AddressForm
from apps.customers.domain import addresses
from apps.customers.models import Address, ConsentChange, Customer
from apps.panel.requests import By
from apps.panel.screens.bases import ReadOnly
from apps.panel.screens.inlines import ShopOwnedStackedInline, ShopOwnedTabularInline, nothing_to_save, saved_by
from apps.panel.theme import display
from apps.staff.domain.actors import name_of


class AddressFormSet(BaseInlineFormSet[Address, Customer, ModelForm[Address]]):
    """The addresses of one customer; saving goes through the services, which record each change."""

    actor = ""

    def clean(self) -> None:
        """One address at most is the default."""
        super().clean()
        chosen = [
            form for form in self._kept() if "is_default" in form.changed_data and form.cleaned_data["is_default"]
        ]
        for form in chosen[1:]:
            form.add_error("is_default", _("Only one address can be the default."))

    def _kept(self) -> list[AddressForm]:
        filled = (form for form in self.forms if form not in self.deleted_forms and getattr(form, "cleaned_data", None))
        return [cast("AddressForm", form) for form in filled]

    def save(self, commit: bool = True) -> list[Address]:
        """Write what changed; nothing is left for the caller to save."""
        nothing_to_save(self)
        by: By = {"actor": self.actor, "at": timezone.now()}
        customer = Customer.objects.get(pk=self.instance.pk)
        default: Address | None = None
        for form in self._kept():
            if not form.has_changed():
                continue
            row = form.instance
            if form.instance._state.adding:
                row = addresses.create_address(customer, form.values, **by)
            elif set(form.changed_data) - {"is_default"}:
                stored = Address.objects.select_related("customer").get(pk=row.pk)
                row = addresses.update_address(stored, form.values, **by)
            if "is_default" in form.changed_data and form.cleaned_data["is_default"]:
                default = row
        if default is not None:
            addresses.set_default(Address.objects.select_related("customer").get(pk=default.pk), **by)
        gone = [form.instance.pk for form in self.deleted_forms if form.instance.pk]
        if gone:
            addresses.delete_addresses(customer, gone, **by)
        return []


class AddressInline(ShopOwnedStackedInline[Address, Customer]):
    """The addresses, the most recently used first."""

    model = Address
    form = AddressForm
    formset = AddressFormSet
    fields = (
        ("first_name", "last_name"),
        "company",
        ("address1", "address2"),
        ("zip", "city"),
        ("province", "country_code"),
        "phone",
        "is_default",
    )
    ordering = ("-updated_at", "-id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Address]:
        """The shop's addresses, each with its customer."""
        return Address.rows().select_related("customer").order_by(*self.ordering)

    def get_formset(
        self, request: HttpRequest, obj: Customer | None = None, **kwargs: Any
    ) -> type[BaseInlineFormSet[Address, Customer, ModelForm[Address]]]:
        """A set that knows who saves."""
        return saved_by(request, super().get_formset(request, obj, **kwargs))


class ConsentInline(ReadOnly, ShopOwnedTabularInline[ConsentChange, Customer]):
    """The history of consents, newest first."""

    model = ConsentChange
    verbose_name = gettext_lazy("consent")
    verbose_name_plural = gettext_lazy("consent history")
    fields = readonly_fields = ("channel", "state", "opt_in_level", "consent_updated_at", "collected_from", "by")
    ordering = ("-id",)
    can_delete = False
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsentChange]:
        """The shop's rows."""
        return ConsentChange.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Recorded by"))
    def by(self, change: ConsentChange) -> str:
        """Who recorded it."""
        return self._name_of(change.actor)

    @cached_property
    def _name_of(self) -> Callable[[str], str]:
        """The names of this request, of which each is looked up once."""
        return cache(name_of)
