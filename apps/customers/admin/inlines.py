from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, cast

from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet, ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import (
    ShopOwnedStackedInline,
    ShopOwnedTabularInline,
    add_actor_to_formset,
    mark_formset_saved,
)
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.core.admin.staff_request import EventKwargs
from apps.core.admin.theme import display
from apps.core.tenancy.actor_names import get_actor_name
from apps.customers.admin.forms import AddressForm
from apps.customers.domain import addresses
from apps.customers.models import Address, ConsentChange, Customer


class AddressFormSet(BaseInlineFormSet[Address, Customer, ModelForm[Address]]):
    """Formset for a customer's addresses. ``save`` calls the domain functions, which record each change."""

    actor = ""

    def clean(self) -> None:
        super().clean()
        default_forms = [
            form
            for form in self._get_filled_forms()
            if "is_default" in form.changed_data and form.cleaned_data["is_default"]
        ]
        for form in default_forms[1:]:
            form.add_error("is_default", _("Only one address can be the default."))

    def _get_filled_forms(self) -> list[AddressForm]:
        filled = (form for form in self.forms if form not in self.deleted_forms and getattr(form, "cleaned_data", None))
        return [cast("AddressForm", form) for form in filled]

    def save(self, commit: bool = True) -> list[Address]:
        """Save the changes through the domain functions. Return an empty list, because everything is already saved."""
        mark_formset_saved(self)
        by: EventKwargs = {"actor": self.actor, "at": timezone.now()}
        customer = Customer.objects.get(pk=self.instance.pk)
        default: Address | None = None
        for form in self._get_filled_forms():
            if not form.has_changed():
                continue
            row = form.instance
            if form.instance._state.adding:
                row = addresses.create_address(customer, form.values, **by)
            elif set(form.changed_data) - {"is_default"}:
                current = Address.objects.select_related("customer").get(pk=row.pk)
                row = addresses.update_address(current, form.values, **by)
            if "is_default" in form.changed_data and form.cleaned_data["is_default"]:
                default = row
        if default is not None:
            addresses.set_default_address(Address.objects.select_related("customer").get(pk=default.pk), **by)
        deleted_ids = [form.instance.pk for form in self.deleted_forms if form.instance.pk]
        if deleted_ids:
            addresses.delete_addresses(customer, deleted_ids, **by)
        return []


class AddressInline(ShopOwnedStackedInline[Address, Customer]):
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
        return Address.rows().select_related("customer").order_by(*self.ordering)

    def get_formset(
        self, request: HttpRequest, obj: Customer | None = None, **kwargs: Any
    ) -> type[BaseInlineFormSet[Address, Customer, ModelForm[Address]]]:
        return add_actor_to_formset(request, super().get_formset(request, obj, **kwargs))


class ConsentInline(ReadOnlyAdminMixin, ShopOwnedTabularInline[ConsentChange, Customer]):
    model = ConsentChange
    verbose_name = gettext_lazy("consent")
    verbose_name_plural = gettext_lazy("consent history")
    fields = readonly_fields = ("channel", "state", "opt_in_level", "consent_updated_at", "collected_from", "by")
    ordering = ("-id",)
    can_delete = False
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsentChange]:
        return ConsentChange.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Recorded by"))
    def by(self, change: ConsentChange) -> str:
        return self._get_actor_name(change.actor)

    @cached_property
    def _get_actor_name(self) -> Callable[[str], str]:
        """Return a function that looks up each actor name once per request."""
        return cache(get_actor_name)
