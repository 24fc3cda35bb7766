"""Panel pages for locations. Locations of fulfillment services are read-only."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import ThemedSelect, display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.inventory.domain import locations
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import find_province, get_country_choices, localize_country

CHANGE = "inventory.change_location"


class LocationForm(PanelForm[Location]):
    country_code = forms.ChoiceField(label=gettext_lazy("Country"), widget=ThemedSelect)

    class Meta:
        model = Location
        fields = ("name", "address1", "address2", "city", "zip", "province", "country_code", "phone", "priority")

    def prepare(self) -> None:
        self.set_choices("country_code", [("", _("Choose a country")), *get_country_choices()])
        if self.instance._state.adding:
            self.initial.setdefault("country_code", self.instance.shop.country_code)

    def clean_province(self) -> str | None:
        value: str | None = self.cleaned_data.get("province")
        province = find_province(self.data.get("country_code", ""), value) if value else None
        return province.name if province else value


@admin.register(Location)
class LocationAdmin(ShopOwnedAdmin[Location]):
    menu = MenuItem("Settings", "pin_drop", 15)
    search_terms = pgettext_lazy("search", "depot, warehouse, address, pickup, place, store, branch")
    intro = gettext_lazy(
        "Places where you stock items or fulfill orders. You can't edit the location of a fulfillment service."
    )
    form = LocationForm
    list_display = ("name", "place", "status", "priority")
    mobile_hide_labels = ("place",)
    list_filter = ("active", "legacy")
    search_fields = ("name__istartswith", "city__istartswith")
    ordering = ("name", "id")
    actions = None
    readonly_fields = ("units",)
    change_form_template = "panel/inventory/location.html"
    fieldsets = (
        (gettext_lazy("Location"), {"fields": (("name", "priority"), "units")}),
        (
            gettext_lazy("Address"),
            {"fields": (("address1", "address2"), ("zip", "city"), ("province", "country_code"), "phone")},
        ),
    )

    @display(description=gettext_lazy("Address"))
    def place(self, location: Location) -> str:
        return ", ".join(filter(None, (location.city, localize_country(location.country_code))))

    @display(description=gettext_lazy("Status"), label={"active": "success", "service": "info", "off": "danger"})
    def status(self, location: Location) -> tuple[str, str]:
        if not location.active:
            return "off", _("Inactive")
        return ("service", _("Fulfillment service")) if location.legacy else ("active", _("Active"))

    @display(description=gettext_lazy("Available quantity"))
    def units(self, location: Location) -> str:
        """Return the total available quantity, or a dash if it is not loaded. Only the location page loads it."""
        units: int | None = getattr(location, "units", None)
        return "–" if units is None else formats.format_integer(units)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Location | None:
        """Return the location with the total available quantity. Oversold items count as zero.

        The quantity is loaded here, because the page reads the quantity several times.
        """
        location = super().get_object(request, object_id, from_field)
        if location is not None:
            levels = InventoryLevel.rows().filter(location=location.pk, available__gt=0)
            location.units = levels.aggregate(units=Sum("available"))["units"] or 0  # type: ignore[attr-defined]
        return location

    def get_fieldsets(self, request: HttpRequest, obj: Location | None = None) -> Any:
        """Return the fields. A new location has no quantity yet."""
        (title, _fields), address = self.fieldsets
        return self.fieldsets if obj else ((title, {"fields": (("name", "priority"),)}), address)

    def has_change_permission(self, request: HttpRequest, obj: Location | None = None) -> bool:
        return bool(super().has_change_permission(request, obj)) and not (obj is not None and obj.legacy)

    def has_delete_permission(self, request: HttpRequest, obj: Location | None = None) -> bool:
        """Return False, because orders and inventory changes refer to locations. Staff can deactivate a location."""
        return False

    def save_model(self, request: HttpRequest, obj: Location, form: LocationForm, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in LocationForm.Meta.fields}
        actor, now = self.actor(request), timezone.now()
        if change:
            locations.update_location(obj, values, actor=actor, at=now)
        else:
            location = locations.create_location(actor=actor, at=now, **values)
            obj.pk = location.pk
            obj._state.adding = False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        links = {"may_activate": has_permission(request, CHANGE), "activation_url": self.url("activation", object_id)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **links})

    @row_view("activation/", CHANGE)
    def activation_view(self, request: HttpRequest, location: Location) -> HttpResponse:
        """Show the reasons that prevent a deactivation. On POST, activate or deactivate the location."""
        if request.method == "POST":
            return self._toggle(request, location)
        return self.page(
            request,
            "panel/inventory/activation.html",
            (_("Deactivate {name}") if location.active else _("Activate {name}")).format(name=location),
            original=location,
            objections=locations.get_deactivation_objections(location) if location.active else [],
        )

    def _toggle(self, request: HttpRequest, location: Location) -> HttpResponse:
        turn_on = request.POST.get("active") == "on"
        change = locations.activate_location if turn_on else locations.deactivate_location
        try:
            change(location, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
            return HttpResponseRedirect(self.url("activation", location.pk))
        text = _("{name} activated.") if turn_on else _("{name} deactivated.")
        self.message_user(request, text.format(name=location), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", location.pk))
