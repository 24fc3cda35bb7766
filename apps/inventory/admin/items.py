"""Panel pages for inventory items: the stock grid, and a page with the customs data of each item."""

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

from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.error_display import format_errors, format_unchanged_error
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.lists.changelist import strip_markup
from apps.core.admin.lists.paginator import BoundedPaginator
from apps.core.admin.lists.search import get_result_limit, is_palette_search, union_first_rows
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import ThemedSelect
from apps.core.exceptions import DomainError
from apps.inventory.domain import low_stock, stock, stock_grid, transfers
from apps.inventory.domain.hooks import get_item_names, get_search_conditions
from apps.inventory.domain.incoming import find_incoming
from apps.inventory.domain.stock_grid import CellsRefused
from apps.inventory.models import HS_CODE, InventoryItem, InventoryLevel, Location, StockMovement
from apps.shops.domain.countries import find_province, get_country_choices

VIEW, CHANGE = "inventory.view_inventoryitem", "inventory.change_inventoryitem"
GRID_ROWS, GRID_COLUMNS, MAX_TERM_LENGTH = 50, 6, 200
LOW_STOCK = "low"
Reason = StockMovement.Reason
REASONS = (Reason.COUNT, Reason.RECEIVED, Reason.DAMAGED, Reason.CORRECTION, Reason.TRANSFER)


class InventoryItemForm(PanelForm[InventoryItem]):
    cost = MoneyField(
        required=False, help_text=InventoryItem._meta.get_field("cost").help_text, label=gettext_lazy("Cost")
    )
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
        self.set_choices("country_code_of_origin", [("", _("Unknown")), *get_country_choices()])

    def clean_country_code_of_origin(self) -> str | None:
        return self.cleaned_data["country_code_of_origin"] or None

    def clean_province_code_of_origin(self) -> str | None:
        value: str | None = self.cleaned_data["province_code_of_origin"]
        if not value:
            return None
        province = find_province(self.cleaned_data.get("country_code_of_origin") or "", value)
        if province is None:
            raise forms.ValidationError(_("Enter a state or province of the country of origin."))
        return province.code

    def clean_harmonized_system_code(self) -> str | None:
        value: str | None = self.cleaned_data["harmonized_system_code"]
        if value and not HS_CODE.fullmatch(value):
            raise forms.ValidationError(_("Enter 6 to 13 digits and periods."))
        return value or None


@admin.register(InventoryItem)
class InventoryItemAdmin(ShopOwnedAdmin[InventoryItem]):
    menu = MenuItem("Products", "inventory_2", 50, gettext_lazy("Inventory"))
    search_terms = pgettext_lazy(
        "search",
        "stock, quantity, counting, stocktaking, warehouse, sku, available, low stock, sold out, reorder",
    )
    form = InventoryItemForm
    search_fields = ("sku__istartswith",)
    palette_order = 60
    fieldsets = (
        (None, {"fields": ("tracked", "requires_shipping", "cost")}),
        (
            gettext_lazy("Customs"),
            {"fields": ("country_code_of_origin", "province_code_of_origin", "harmonized_system_code")},
        ),
    )
    change_form_template = "panel/inventory/item.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False, because items are created together with their variants."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: InventoryItem | None = None) -> bool:
        """Return False, because items are deleted together with their variants."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[InventoryItem], search_term: str
    ) -> tuple[QuerySet[InventoryItem], bool]:
        if not search_term:
            return queryset, False
        most = get_result_limit(request)
        parts = [queryset.filter(condition) for condition in get_search_conditions(search_term, most)]
        return union_first_rows(queryset, parts, limit=most, newest=not is_palette_search(request)), False

    def palette_titles(self, rows: Sequence[InventoryItem]) -> Mapping[int, str]:
        return get_item_names(rows)

    def palette_details(self, instance: InventoryItem) -> Sequence[str]:
        return [instance.sku] if instance.sku else []

    def save_model(self, request: HttpRequest, obj: InventoryItem, form: InventoryItemForm, change: bool) -> None:
        item = InventoryItem.objects.get(pk=obj.pk)
        values = {name: form.cleaned_data[name] for name in InventoryItemForm.Meta.fields}
        stock.update_item(item, values, **self.event_kwargs(request))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        item = self.get_object(request, object_id)
        if item is None:
            return super().change_view(request, object_id, form_url, extra_context)
        incoming = find_incoming([item.pk]).get(item.pk)
        page = {"title": get_item_names([item])[item.pk], "incoming": incoming}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **page})

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Show the stock grid. On POST, save either all changed cells or none."""
        require_permission(request, VIEW, CHANGE)
        cell_errors: Mapping[stock_grid.CellKey, str] = {}
        if request.method == "POST":
            require_permission(request, CHANGE)
            try:
                return cast("HttpResponse", submit_once_or_redirect(request, lambda: self._save(request)))
            except CellsRefused as error:
                cell_errors = error.cells
                self.message_user(request, format_errors(error), messages.ERROR)
            except DomainError as error:
                self.message_user(request, format_unchanged_error(error), messages.ERROR)
        return self._grid(request, cell_errors)

    def _save(self, request: HttpRequest) -> HttpResponse:
        cells = stock_grid.parse_cells(request.POST.dict())
        reason = request.POST.get("reason")
        movement_reason = Reason(reason) if reason in REASONS else Reason.COUNT
        levels = stock_grid.save_cells(cells, reason=movement_reason, **self.event_kwargs(request)) if cells else []
        text = ngettext("{number} quantity changed.", "{number} quantities changed.", len(levels))
        changed = text.format(number=len(levels)) if levels else _("Nothing was changed.")
        self.message_user(request, changed, messages.SUCCESS if levels else messages.INFO)
        return HttpResponseRedirect(request.get_full_path())

    def _grid(self, request: HttpRequest, cell_errors: Mapping[stock_grid.CellKey, str]) -> HttpResponse:
        term = request.GET.get("q", "").strip().replace("\x00", "")[:MAX_TERM_LENGTH]
        only_low = request.GET.get("stock") == LOW_STOCK
        items = low_stock.get_low_items() if only_low else InventoryItem.rows()
        queryset, _may_repeat = self.get_search_results(request, items.order_by("-id"), term)
        paginator = BoundedPaginator(queryset, GRID_ROWS)
        page = paginator.get_page(request.GET.get("p"))
        all_locations = list(Location.rows().filter(active=True).order_by("legacy", "priority", "name", "id"))
        selected = {value for value in request.GET.getlist("location") if value.isdecimal()}
        locations = [location for location in all_locations if str(location.pk) in selected][
            :GRID_COLUMNS
        ] or all_locations[:GRID_COLUMNS]
        query = request.GET.copy()
        query.pop("p", None)
        response = self.page(
            request,
            "panel/inventory/grid.html",
            _("Inventory"),
            term=term,
            only_low=only_low,
            low_at=self.shop(request).low_stock_at,
            settings=reverse("admin:shops_shop_change", args=[self.shop(request).pk]),
            page_of_items=page,
            pages=paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1),
            rows=self._rows(request, page, locations, cell_errors),
            places=locations,
            all_places=all_locations,
            columns=GRID_COLUMNS,
            reasons=[(reason.value, reason.label) for reason in REASONS],
            chosen_reason=request.POST.get("reason", Reason.COUNT.value),
            editable=has_permission(request, CHANGE),
            query=query.urlencode(),
        )
        return strip_markup(response)

    def _rows(
        self,
        request: HttpRequest,
        page: Page[InventoryItem],
        locations: list[Location],
        cell_errors: Mapping[stock_grid.CellKey, str],
    ) -> list[Context]:
        items = list(page.object_list)
        names = get_item_names(items)
        level_rows = InventoryLevel.rows().filter(item__in=items, location__in=locations)
        levels = {(level.item_id, level.location_id): level for level in level_rows}
        incoming = transfers.get_incoming(item.pk for item in items)
        typed = stock_grid.get_submitted_cells(request.POST.dict()) if cell_errors else {}

        def cell(item: InventoryItem, location: Location) -> Context:
            key = (item.pk, location.pk)
            level = levels.get(key)
            now = level.available if level else None
            return {
                "name": stock_grid.get_cell_name(item, location, now),
                "now": now,
                "shown": typed[key][1] if key in typed else "" if now is None else now,
                "place": location,
                "refused": cell_errors.get(key, ""),
                "editable": not location.legacy,
                "incoming": incoming.get(key, 0),
                "low": level is not None and level.is_low and item.tracked,
            }

        return [
            {"item": item, "name": names[item.pk], "cells": [cell(item, location) for location in locations]}
            for item in items
        ]


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Low stock"),
        gettext_lazy("items at or below the low-stock threshold at a location"),
        InventoryItem,
        f"stock={LOW_STOCK}",
        lambda request: low_stock.get_low_items(),
        order=40,
    )
)
