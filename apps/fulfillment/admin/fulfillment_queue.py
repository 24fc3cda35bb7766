"""The fulfillment queue, which lists fulfillment orders by urgency, and the pages for fulfillment order actions."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias, TypedDict

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import OrderBy, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.lists.search import get_result_limit, select_first_keys, set_truncation_note
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.pages.tour import TourStep
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import attribute_column, display
from apps.core.db.lookups import in_materialized
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.actions import ACTIONS
from apps.fulfillment.admin.filters import (
    PENDING_REQUEST_STATUSES,
    DeliveryFilter,
    LocationFilter,
    RequestFilter,
    ServiceFilter,
    StatusFilter,
    ViewFilter,
    filter_by_view,
    get_view,
)
from apps.fulfillment.admin.fulfill_form import FulfillPages, get_row_or_404
from apps.fulfillment.admin.fulfill_many import MAX_ROWS, FulfillManyPages
from apps.fulfillment.admin.fulfillment_detail import FulfillmentPages
from apps.fulfillment.admin.fulfillment_order_cards import (
    REQUEST_STATUS_COLORS,
    STATUS_COLORS,
    can_fulfill,
    format_duration,
    get_urgency,
    load_cards,
)
from apps.fulfillment.admin.packing_slips import MAX_SLIPS, PackingSlipPages
from apps.fulfillment.admin.permissions import CHANGE, VIEW
from apps.fulfillment.domain.fulfillment_orders.quantities import get_location_manager
from apps.fulfillment.domain.fulfillment_orders.states import Action, NotPossible, get_rule
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import DUE, Status
from apps.orders.admin import search
from apps.orders.admin.page_context import format_items, get_summary_context
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order
from apps.shops.domain.countries import localize_country


class _Annotations(TypedDict):
    due: datetime
    told_items: str


FulfillmentOrderRow: TypeAlias = "WithAnnotations[FulfillmentOrder, _Annotations]"


@admin.register(FulfillmentOrder)
class FulfillmentOrderAdmin(
    FulfillPages,
    FulfillManyPages,
    FulfillmentPages,
    PackingSlipPages,
    ReadOnlyAdminMixin,
    ShopOwnedAdmin[FulfillmentOrder],
):
    menu = MenuItem("Orders", "local_shipping", 20, gettext_lazy("Fulfillment"))
    search_terms = pgettext_lazy(
        "search",
        "shipping, shipment, ship, delivery, dispatch, parcel, package, packing, packing slip, delivery note, "
        "fulfillment, tracking number",
    )
    tour = TourStep(
        30,
        gettext_lazy("Fulfillment"),
        gettext_lazy(
            "Items to pack and ship, most urgent first. The tabs show items that are late, due today, or on hold. "
            "Open an order to fulfill its items and add tracking numbers."
        ),
    )
    intro = gettext_lazy("Fulfillment orders by location, sorted by due date.")
    empty_text = gettext_lazy("No fulfillment orders. New orders appear here when they are assigned to a location.")
    list_display = (
        "order_name",
        "due_at",
        "location_name",
        "items",
        "destination",
        "state",
        "next_step",
    )
    optional_columns = ("method", "request_state")
    mobile_hide_labels = ("location_name", "items", "next_step")
    list_display_links = ("order_name",)
    list_filter = (ViewFilter, DeliveryFilter, LocationFilter, ServiceFilter, StatusFilter, RequestFilter)
    list_filter_submit = True
    search_fields = ("order__name",)
    is_in_palette = False
    search_help_text = gettext_lazy("Order, customer, SKU or city")
    sortable_by = ()
    actions = ("print_slips", "fulfill_many")

    def get_queryset(self, request: HttpRequest) -> QuerySet[FulfillmentOrder]:
        rows = super().get_queryset(request).annotate(due=DUE)
        # The location's ``legacy`` column is enough for the list, so the fulfillment service is not loaded.
        return rows.select_related("order", "assigned_location").only(
            *(field.name for field in FulfillmentOrder._meta.concrete_fields),
            "order__name",
            "order__shipping_address",
            "assigned_location__name",
            "assigned_location__legacy",
        )

    def get_ordering(self, request: HttpRequest) -> Sequence[str | OrderBy]:  # type: ignore[override]
        """Sort by due date. The view "all" shows the newest fulfillment orders first."""
        return ("-id",) if get_view(request) == "all" else (DUE.asc(), "id")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder], search_term: str
    ) -> tuple[QuerySet[FulfillmentOrder], bool]:
        """Search the orders in the same way as the list of orders, for example by number, customer, SKU or city."""
        term = search_term.strip()
        if not term:
            return queryset, False
        limit = get_result_limit(request)
        customers = search.find_customers(term, self.shop(request), limit)
        set_truncation_note(request, search.get_cut_note(term, customers))
        order_ids = select_first_keys(list(search.find_orders(Order.rows(), term, customers, limit)), limit=limit)
        return queryset.filter(in_materialized(order_ids, "order")), False

    def get_search_note(self, term: str) -> str:
        return search.get_length_note(term)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        rows: list[FulfillmentOrderRow] = list(changelist.result_list)
        changelist.result_list = rows
        item_texts = _get_item_texts([row.pk for row in rows])
        for row in rows:
            row.told_items = item_texts[row.pk]
        return changelist

    order_name = attribute_column("order.name", gettext_lazy("Order"))
    location_name = attribute_column("assigned_location.name", gettext_lazy("From"))
    items = attribute_column("told_items", gettext_lazy("Items"))

    @display(description=gettext_lazy("Age"), label={"danger": "danger", "warning": "warning", "": "default"})
    def due_at(self, row: FulfillmentOrderRow) -> tuple[str, str]:
        """Return how long the items have been waiting, or the deadline if there is one."""
        now = timezone.now()
        kind, text = get_urgency(row, now)
        if kind == "danger":
            return kind, text
        if row.is_unfinished and (row.fulfill_by or row.due > now):
            return "", _("Due {time}").format(time=formats.format_date(row.due, "j M, H:i"))
        return kind, format_duration(now - row.due) if row.is_unfinished else formats.format_date(row.due, "j M, H:i")

    @display(description=gettext_lazy("To"))
    def destination(self, row: FulfillmentOrder) -> str:
        """Return the customer and place. A delivery method other than shipping comes first."""
        method = "" if row.method_type == FulfillmentOrder.Method.SHIPPING else row.get_method_type_display()
        address = row.order.shipping_address or {}
        name = " ".join(filter(None, (address.get("first_name"), address.get("last_name"))))
        country = localize_country(address.get("country_code"), address.get("country"))
        place = ", ".join(filter(None, (name, address.get("city"), country)))
        return ": ".join(filter(None, (method, place))) or "–"

    @display(description=gettext_lazy("Delivery method"))
    def method(self, row: FulfillmentOrder) -> str:
        return row.presented_name or row.get_method_type_display()

    @display(description=gettext_lazy("Status"), label=REQUEST_STATUS_COLORS | STATUS_COLORS)
    def state(self, row: FulfillmentOrder) -> tuple[str, str] | None:
        """Return the request that has to be answered, or the status. Most rows are open and show no status."""
        if row.request_status in PENDING_REQUEST_STATUSES:
            return row.request_status, row.get_request_status_display()
        if row.status == Status.OPEN:
            return None
        return row.status, row.get_status_display()

    @display(description=gettext_lazy("Request"), label=REQUEST_STATUS_COLORS)
    def request_state(self, row: FulfillmentOrder) -> tuple[str, str]:
        text = row.get_request_status_display() if row.assigned_location.legacy else "–"
        return row.request_status, text

    @display(description=gettext_lazy("Next step"), empty_value="–")
    def next_step(self, row: FulfillmentOrder) -> str | None:
        if can_fulfill(row):
            # A relative path makes the page smaller, because every row has this link.
            path = self.url("fulfill", row.order_id).removeprefix(self.url("changelist"))
            address = f"{path}?location={row.assigned_location_id}"
            return format_html(
                '<span class="bo"><a href="{}">{}<span class="bo-hidden"> {}</span></a></span>',
                address,
                _("Fulfill"),
                row.order.name,
            )
        return None

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return self.list_display if has_permission(request, CHANGE) else self.list_display[:-1]

    @admin.action(description=gettext_lazy("Print packing slips"), permissions=["view"])
    def print_slips(self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder]) -> HttpResponse:
        return HttpResponseRedirect(f"{self.url('slips')}?ids={self._join_ids(request, queryset, MAX_SLIPS)}")

    @admin.action(description=gettext_lazy("Fulfill selected orders…"), permissions=["fulfill"])
    def fulfill_many(self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder]) -> HttpResponse:
        return HttpResponseRedirect(f"{self.url('fulfill_many')}?ids={self._join_ids(request, queryset, MAX_ROWS)}")

    def _join_ids(self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder], limit: int) -> str:
        """Return the ids of the first rows for a URL, and tell the user if others are left out."""
        ids = list(queryset.values_list("pk", flat=True)[: limit + 1])
        if len(ids) > limit:
            text = _("You selected more than {limit} fulfillment orders. Only the first {limit} are included.")
            self.message_user(request, text.format(limit=limit), messages.WARNING)
        return ",".join(map(str, ids[:limit]))

    def has_fulfill_permission(self, request: HttpRequest) -> bool:
        return has_permission(request, CHANGE)

    @row_view("change/", VIEW, CHANGE, name="change")
    def order_view(self, request: HttpRequest, row: FulfillmentOrder) -> HttpResponse:
        """Redirect to the order page, which shows all fulfillment orders of the order."""
        return HttpResponseRedirect(get_fulfillment_order_url(row))

    @extra_view("<path:object_id>/do/<str:name>/", CHANGE, name="act", keyed=True)
    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        if name not in ACTIONS:
            raise Http404(f"No action {name}")
        action, rows = Action(name), FulfillmentOrder.rows().select_related("order", "assigned_location__service")
        row, action_definition = get_row_or_404(rows, object_id), ACTIONS[action]
        try:
            get_rule(action, (row.status, row.request_status), get_location_manager(row))
        except NotPossible:
            text = _(
                "This action is not available now. Fulfillment order status: {status}. Request status: {request}."
            ).format(
                status=lowercase_label(row.get_status_display()),
                request=lowercase_label(row.get_request_status_display()),
            )
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(get_fulfillment_order_url(row))
        (card,) = load_cards([row])
        form = action_definition.form(
            row, [line for line in card.lines if line.fulfillable_quantity], get_post_data(request)
        )
        if form.is_bound and form.is_valid():
            try:
                action_definition.run(row, form, self.event_kwargs(request))
            except DomainError as error:
                form.add_domain_error(error)
            else:
                self.message_user(request, action_definition.success_message, messages.SUCCESS)
                return HttpResponseRedirect(get_fulfillment_order_url(row))
        title = f"{row.order}: {lowercase_label(str(action_definition.label).removesuffix('…'))}"
        summary = get_summary_context(get_line_items(row.order))
        form.thumbnails = summary["thumbnails"]
        return self.page(
            request,
            "panel/fulfillment/action_form.html",
            title,
            card=card,
            doing=action_definition,
            form=form,
            back=get_fulfillment_order_url(row),
            **summary,
        )


def get_fulfillment_order_url(row: FulfillmentOrder) -> str:
    return f"{reverse('admin:orders_order_change', args=(row.order_id,))}#fulfillment-order-{row.pk}"


def _get_item_texts(pks: Sequence[int]) -> dict[int, str]:
    """Return a short description of each fulfillment order's open items, keyed by fulfillment order id."""
    rows = FulfillmentOrderLine.rows().filter(fulfillment_order_id__in=pks, fulfillable_quantity__gt=0)
    items_by_pk: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for pk, units, name in rows.order_by("fulfillment_order_id", "pk").values_list(
        "fulfillment_order_id", "fulfillable_quantity", "line_item__name"
    ):
        items_by_pk[pk].append((units, name))
    return defaultdict(lambda: "–", {pk: format_items(items) for pk, items in items_by_pk.items()})


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Late"),
        gettext_lazy("fulfillment orders past their deadline"),
        FulfillmentOrder,
        "view=late",
        lambda request: filter_by_view(FulfillmentOrder.rows(), "late"),
        order=10,
        is_urgent=True,
    ),
    dashboard.Task(
        gettext_lazy("To fulfill"),
        gettext_lazy("fulfillment orders due today, late or without a deadline"),
        FulfillmentOrder,
        "view=today",
        lambda request: filter_by_view(FulfillmentOrder.rows(), "today"),
        order=20,
    ),
)
