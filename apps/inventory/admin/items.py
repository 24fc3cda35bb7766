"""Inventory items as staff see them: the stock grid in place of a list, and each item's customs data."""

from collections.abc import Mapping, Sequence
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Page
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.ground.errors import DomainError
from apps.inventory.domain import grid, low, stock
from apps.inventory.domain.grid import CellsRefused
from apps.inventory.domain.naming import conditions, names_of_items
from apps.inventory.models import HS_CODE, InventoryItem, Location, StockMovement
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.money import MoneyField
from apps.panel.once import once_or_back
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm
from apps.panel.screens.lists import lightened
from apps.panel.screens.paging import BoundedPaginator
from apps.panel.screens.searching import bound_of, is_from_anywhere, united
from apps.panel.theme import ThemedSelect
from apps.panel.wording import in_words, nothing_changed
from apps.shops.domain.countries import country_choices, find_province

VIEW, CHANGE = "inventory.view_inventoryitem", "inventory.change_inventoryitem"
ROWS, COLUMNS, LONGEST_TERM = 50, 6, 200
LOW = "low"
Reason = StockMovement.Reason
REASONS = (Reason.COUNT, Reason.RECEIVED, Reason.DAMAGED, Reason.CORRECTION, Reason.TRANSFER)


class InventoryItemForm(PanelForm[InventoryItem]):
    """What an item costs, and what the customs want to know."""

    cost = MoneyField(help_text=InventoryItem._meta.get_field("cost").help_text, label=gettext_lazy("Cost"))
    country_code_of_origin = forms.ChoiceField(
        label=gettext_lazy("Country of origin"), required=False, widget=ThemedSelect
    )

    class Meta:
        model = InventoryItem
        fields = (
            "tracked",
            "requires_shipping",
            "cost",
            "country_code_of_origin",
            "province_code_of_origin",
            "harmonized_system_code",
        )

    def prepare(self) -> None:
        """The countries to choose from."""
        self.offer("country_code_of_origin", [("", _("Unknown")), *country_choices()])

    def clean_country_code_of_origin(self) -> str | None:
        """Unknown is no code at all."""
        return self.cleaned_data["country_code_of_origin"] or None

    def clean_province_code_of_origin(self) -> str | None:
        """A province of the country, by code or name."""
        given: str | None = self.cleaned_data["province_code_of_origin"]
        if not given:
            return None
        known = find_province(self.cleaned_data.get("country_code_of_origin") or "", given)
        if known is None:
            raise forms.ValidationError(_("The country of origin has no such province."))
        return known.code

    def clean_harmonized_system_code(self) -> str | None:
        """Six to thirteen digits and points; none is no code at all."""
        given: str | None = self.cleaned_data["harmonized_system_code"]
        if given and not HS_CODE.fullmatch(given):
            raise forms.ValidationError(_("Enter six to thirteen digits and points."))
        return given or None


@admin.register(InventoryItem)
class InventoryItemAdmin(ShopOwnedAdmin[InventoryItem]):
    """Items come and go with the variants that they belong to."""

    menu = Menu(
        "Catalog",
        "inventory_2",
        50,
        gettext_lazy("Stock"),
        words=pgettext_lazy(
            "search",
            "inventory, quantity, counting, stocktaking, warehouse, sku, available, low stock, sold out, reorder",
        ),
    )
    form = InventoryItemForm
    search_fields = ("sku__istartswith",)
    place_in_search = 60
    fieldsets = (
        (None, {"fields": ("tracked", "requires_shipping", "cost")}),
        (
            gettext_lazy("Customs"),
            {"fields": ("country_code_of_origin", "province_code_of_origin", "harmonized_system_code")},
        ),
    )
    change_form_template = "panel/inventory/item.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They come with variants."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: InventoryItem | None = None) -> bool:
        """They go with variants."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[InventoryItem], search_term: str
    ) -> tuple[QuerySet[InventoryItem], bool]:
        """By SKU, and by what the catalog calls them."""
        if not search_term:
            return queryset, False
        most = bound_of(request)
        parts = [queryset.filter(each) for each in conditions(search_term, most)]
        return united(queryset, parts, most=most, newest=not is_from_anywhere(request)), False

    def names_in_search(self, rows: Sequence[InventoryItem]) -> Mapping[int, str]:
        """As the catalog calls them."""
        return names_of_items(rows)

    def told_in_search(self, instance: InventoryItem) -> Sequence[str]:
        """Its SKU, where it has one."""
        return [instance.sku] if instance.sku else []

    def save_model(self, request: HttpRequest, obj: InventoryItem, form: InventoryItemForm, change: bool) -> None:
        """Through the service, which tells whoever shows the item."""
        item = InventoryItem.objects.get(pk=obj.pk)
        values = {name: form.cleaned_data[name] for name in InventoryItemForm.Meta.fields}
        stock.update_item(item, values, **self.by(request))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """Under the name that the catalog gives it."""
        item = self.get_object(request, object_id)
        named = {"title": names_of_items([item])[item.pk]} if item is not None else {}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **named})

    # --- the grid ---

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Items by locations; saving writes all changed cells or none."""
        require(request, VIEW, CHANGE)
        refused: Mapping[grid.Key, str] = {}
        if request.method == "POST":
            require(request, CHANGE)
            try:
                return cast("HttpResponse", once_or_back(request, lambda: self._save(request)))
            except CellsRefused as refusal:
                refused = refusal.cells
                self.message_user(request, in_words(refusal), messages.ERROR)
            except DomainError as refusal:
                self.message_user(request, nothing_changed(refusal), messages.ERROR)
        return self._grid(request, refused)

    def _save(self, request: HttpRequest) -> HttpResponse:
        cells = grid.read_cells(request.POST.dict())
        reason = request.POST.get("reason")
        why = Reason(reason) if reason in REASONS else Reason.COUNT
        levels = grid.write_cells(cells, reason=why, **self.by(request)) if cells else []
        told = ngettext("{number} level changed.", "{number} levels changed.", len(levels))
        changed = told.format(number=len(levels)) if levels else _("Nothing was changed.")
        self.message_user(request, changed, messages.SUCCESS if levels else messages.INFO)
        return HttpResponseRedirect(request.get_full_path())

    def _grid(self, request: HttpRequest, refused: Mapping[grid.Key, str]) -> HttpResponse:
        term = request.GET.get("q", "").strip().replace("\x00", "")[:LONGEST_TERM]
        only_low = request.GET.get("stock") == LOW
        items = low.low_items() if only_low else InventoryItem.rows()
        queryset, _may_repeat = self.get_search_results(request, items.order_by("-id"), term)
        paginator = BoundedPaginator(queryset, ROWS)
        page = paginator.get_page(request.GET.get("p"))
        all_places = list(Location.rows().filter(active=True).order_by("legacy", "priority", "name", "id"))
        chosen = {value for value in request.GET.getlist("location") if value.isdecimal()}
        places = [place for place in all_places if str(place.pk) in chosen][:COLUMNS] or all_places[:COLUMNS]
        answer = self.page(
            request,
            "panel/inventory/grid.html",
            _("Stock"),
            term=term,
            only_low=only_low,
            low_at=self.shop(request).low_stock_at,
            settings=reverse("admin:shops_shop_change", args=[self.shop(request).pk]),
            page_of_items=page,
            pages=paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1),
            rows=self._rows(request, page, places, refused),
            places=places,
            all_places=all_places,
            columns=COLUMNS,
            reasons=[(reason.value, reason.label) for reason in REASONS],
            chosen_reason=request.POST.get("reason", Reason.COUNT.value),
            editable=may(request, CHANGE),
            query=self._query_without_page(request),
        )
        return lightened(answer)

    def _rows(
        self, request: HttpRequest, page: Page[InventoryItem], places: list[Location], refused: Mapping[grid.Key, str]
    ) -> list[Context]:
        items = list(page.object_list)
        names, levels = names_of_items(items), grid.levels_of(items, places)
        typed = grid.typed_in(request.POST.dict()) if refused else {}

        def cell(item: InventoryItem, place: Location) -> Context:
            key = (item.pk, place.pk)
            level = levels.get(key)
            now = level.available if level else None
            return {
                "name": grid.name_of(item, place, now),
                "now": now,
                "shown": typed[key].text if key in typed else "" if now is None else now,
                "place": place,
                "refused": refused.get(key, ""),
                "editable": not place.legacy,
                "low": level is not None and level.is_low,
            }

        return [
            {"item": item, "name": names[item.pk], "cells": [cell(item, place) for place in places]} for item in items
        ]

    def _query_without_page(self, request: HttpRequest) -> str:
        query = request.GET.copy()
        query.pop("p", None)
        return query.urlencode()


home.add_task(
    home.Task(
        gettext_lazy("Low stock"),
        gettext_lazy("items of which few are left at a location"),
        InventoryItem,
        f"stock={LOW}",
        lambda request: low.low_items(),
        order=40,
    )
)
