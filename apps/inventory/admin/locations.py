"""Locations as staff see them: opened, changed, deactivated, activated; those of services read-only."""

from django import forms
from django.contrib import admin, messages
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.ground import languages
from apps.ground.errors import DomainError
from apps.inventory.domain import locations
from apps.inventory.models import InventoryLevel, Location
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm
from apps.panel.theme import ThemedSelect, display
from apps.panel.wording import in_words
from apps.shops.domain.countries import country_choices, find_province, told_country

CHANGE = "inventory.change_location"


class LocationForm(PanelForm[Location]):
    """A location's name, address and priority."""

    country_code = forms.ChoiceField(label=gettext_lazy("Country"), widget=ThemedSelect)

    class Meta:
        model = Location
        fields = ("name", "address1", "address2", "city", "zip", "province", "country_code", "phone", "priority")

    def prepare(self) -> None:
        """The countries to choose from; the shop's own to begin with."""
        self.offer("country_code", [("", _("Choose a country")), *country_choices()])
        if self.instance._state.adding:
            self.initial.setdefault("country_code", self.instance.shop.country_code)

    def clean_province(self) -> str | None:
        """A province is written as its country's list writes it."""
        given: str | None = self.cleaned_data.get("province")
        known = find_province(self.data.get("country_code", ""), given) if given else None
        return known.name if known else given


@admin.register(Location)
class LocationAdmin(ShopOwnedAdmin[Location]):
    """Where the shop stocks goods; the rules are the service's."""

    menu = Menu(
        "Catalog",
        "pin_drop",
        60,
        words=pgettext_lazy("search", "depot, warehouse, address, pickup, place, store, branch"),
    )
    intro = gettext_lazy(
        "Places where you stock goods or fulfill orders. A fulfillment service brings its own, which it alone changes."
    )
    form = LocationForm
    list_display = ("name", "place", "status", "priority")
    list_self_evident = ("place",)
    list_filter = ("active", "legacy")
    search_fields = ("name__istartswith", "city__istartswith")
    ordering = ("name", "id")
    actions = None
    readonly_fields = ("units",)
    change_form_template = "panel/inventory/location.html"
    fieldsets = (
        (None, {"fields": (("name", "priority"), "units")}),
        (
            gettext_lazy("Address"),
            {"fields": ("address1", "address2", "city", "zip", "province", "country_code", "phone")},
        ),
    )

    @display(description=gettext_lazy("Place"))
    def place(self, location: Location) -> str:
        """City and country."""
        return ", ".join(filter(None, (location.city, told_country(location.country_code))))

    @display(description=gettext_lazy("Status"), label={"active": "success", "service": "info", "off": "danger"})
    def status(self, location: Location) -> tuple[str, str]:
        """Whether it works, and for whom."""
        if not location.active:
            return "off", _("Inactive")
        return ("service", _("Fulfillment service")) if location.legacy else ("active", _("Active"))

    @display(description=gettext_lazy("Units"))
    def units(self, location: Location) -> str:
        """How many units lie there; on its own page, for all levels of the location are added up."""
        units: int | None = getattr(location, "units", None)
        return "–" if units is None else languages.count(units)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Location | None:
        """With its units, which the page asks for several times."""
        location = super().get_object(request, object_id, from_field)
        if location is not None:
            levels = InventoryLevel.rows().filter(location=location.pk, available__gt=0)
            location.units = levels.aggregate(units=Sum("available"))["units"] or 0  # type: ignore[attr-defined]
        return location

    def has_change_permission(self, request: HttpRequest, obj: Location | None = None) -> bool:
        """A service's location is its own to change."""
        return bool(super().has_change_permission(request, obj)) and not (obj is not None and obj.legacy)

    def has_delete_permission(self, request: HttpRequest, obj: Location | None = None) -> bool:
        """Locations are deactivated: orders and the ledger refer to them."""
        return False

    def save_model(self, request: HttpRequest, obj: Location, form: LocationForm, change: bool) -> None:
        """Through the service, which completes the region and records it."""
        values = {name: form.cleaned_data[name] for name in LocationForm.Meta.fields}
        actor, now = self.actor(request), timezone.now()
        if change:
            locations.change_location(obj, values, actor=actor, at=now)
        else:
            opened = locations.open_location(actor=actor, at=now, **values)
            obj.pk = opened.pk
            obj._state.adding = False

    def get_urls(self) -> list[URLPattern]:
        """The page that activates and deactivates, besides Django's own."""
        return [
            self.action_url("<path:object_id>/activation/", self.activation_view, "activation"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """With the way to the activation page."""
        links = {"may_activate": may(request, CHANGE), "activation_url": self.url("activation", object_id)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **links})

    def activation_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say what stands in the way; activate or deactivate where nothing does."""
        require(request, CHANGE)
        location: Location = self.row_or_404(request, object_id)
        if request.method == "POST":
            return self._toggle(request, location)
        return self.page(
            request,
            "panel/inventory/activation.html",
            (_("Deactivate {name}") if location.active else _("Activate {name}")).format(name=location),
            original=location,
            objections=locations.objections(location) if location.active else [],
        )

    def _toggle(self, request: HttpRequest, location: Location) -> HttpResponse:
        turn_on = request.POST.get("active") == "on"
        change = locations.activate if turn_on else locations.deactivate
        try:
            change(location, **self.by(request))
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
            return HttpResponseRedirect(self.url("activation", location.pk))
        self.message_user(request, f"{location} is {'active' if turn_on else 'inactive'} now.", messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", location.pk))
