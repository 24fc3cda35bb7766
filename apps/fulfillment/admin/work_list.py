"""What is to be sent, late ones first; and what staff do to a fulfillment order, from there or from its order."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias, TypedDict

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import OrderBy, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.fulfillment.admin.access import CHANGE, VIEW
from apps.fulfillment.admin.blocks import LABELS, REQUEST_LABELS, can_send, filled, urgency_of
from apps.fulfillment.admin.doings import DOINGS
from apps.fulfillment.admin.filters import (
    LocationFilter,
    RequestFilter,
    ServiceFilter,
    StatusFilter,
    ViewFilter,
    in_view,
    view_of,
)
from apps.fulfillment.admin.parcels import Parcels
from apps.fulfillment.admin.sending import Sending
from apps.fulfillment.admin.slips import MOST, Slips
from apps.fulfillment.domain.states import Action, NotPossible, rule_for
from apps.fulfillment.domain.units import place
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import DUE
from apps.ground import languages
from apps.ground.errors import DomainError
from apps.ground.languages import lowered
from apps.ground.lookups import among
from apps.orders.models import Order
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.requests import Context
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.theme import display
from apps.panel.tour import Step
from apps.shops.domain.countries import told_country

SHOWN_ITEMS = 3


class _Told(TypedDict):
    due: datetime
    told_items: str


Told: TypeAlias = "WithAnnotations[FulfillmentOrder, _Told]"


@admin.register(FulfillmentOrder)
class FulfillmentOrderAdmin(Sending, Parcels, Slips, ReadOnly, ShopOwnedAdmin[FulfillmentOrder]):
    """The work list."""

    menu = Menu(
        "Sales",
        "local_shipping",
        20,
        gettext_lazy("To send"),
        words=pgettext_lazy(
            "search",
            "shipping, shipment, ship, delivery, dispatch, parcel, package, packing, packing slip, delivery note, "
            "fulfillment, tracking number",
        ),
    )
    tour = Step(
        30,
        gettext_lazy("What is to be sent"),
        gettext_lazy(
            "Everything that waits to be packed, the most urgent first: what is late, due today or held. Open "
            "a row to send it with its tracking number."
        ),
    )
    intro = gettext_lazy(
        "What is to be sent, by location. What is due first stands first: by its deadline, else by its age."
    )
    empty_text = gettext_lazy("Nothing here: what is ordered appears as soon as it is routed to a location.")
    list_display = ("order_name", "due_at", "place", "items", "destination", "state", "request_state", "next_step")
    list_self_evident = ("place", "items", "next_step")
    list_display_links = ("order_name",)
    list_filter = (ViewFilter, LocationFilter, ServiceFilter, StatusFilter, RequestFilter)
    list_filter_submit = True
    search_fields = ("order__name",)
    place_in_search = 60
    search_help_text = gettext_lazy("The number of an order, such as #1001")
    sortable_by = ()
    actions = ("print_slips",)

    # --- the list ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[FulfillmentOrder]:
        """With when each is due, and of its order what the list shows."""
        rows = super().get_queryset(request).annotate(due=DUE)
        # The location's service is asked for nowhere in the list: whether it has one, its row says.
        return rows.select_related("order", "assigned_location").only(
            *(field.name for field in FulfillmentOrder._meta.concrete_fields),
            "order__name",
            "order__shipping_address",
            "assigned_location__name",
            "assigned_location__legacy",
        )

    def get_ordering(self, request: HttpRequest) -> Sequence[str | OrderBy]:  # type: ignore[override]
        """What is due first stands first; among all, what is new."""
        return ("-id",) if view_of(request) == "all" else (DUE.asc(), "id")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder], search_term: str
    ) -> tuple[QuerySet[FulfillmentOrder], bool]:
        """By the order's name or number; the panel-wide search finds the order itself."""
        term = search_term.strip()
        match = request.resolver_match
        if match and match.url_name == "search":
            return queryset.none(), False
        if not term:
            return queryset, False
        named = Q(name=term) | Q(name=f"#{term.removeprefix('#')}")
        if (number := term.removeprefix("#")).isdecimal() and len(number) <= 18:
            named |= Q(number=int(number))
        found = Order.rows().filter(named).order_by().values("pk")
        return queryset.filter(among(found, "order")), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Look up at once what the page's rows hold."""
        changelist = super().get_changelist_instance(request)
        rows: list[Told] = list(changelist.result_list)
        changelist.result_list = rows
        told = _items_of([row.pk for row in rows])
        for row in rows:
            row.told_items = told[row.pk]
        return changelist

    @display(description=gettext_lazy("Order"))
    def order_name(self, row: FulfillmentOrder) -> str:
        """The order's name."""
        return row.order.name

    @display(description=gettext_lazy("Due"), label={"danger": "danger", "warning": "warning", "": "default"})
    def due_at(self, row: Told) -> tuple[str, str]:
        """Late, waiting, or when it is due."""
        kind, text = urgency_of(row, timezone.now())
        return (kind, text) if text else ("", languages.dated(row.due, "j M, H:i"))

    @display(description=gettext_lazy("From"))
    def place(self, row: FulfillmentOrder) -> str:
        """The location."""
        return row.assigned_location.name

    @display(description=gettext_lazy("Items"))
    def items(self, row: Told) -> str:
        """Units and names."""
        return row.told_items

    @display(description=gettext_lazy("To"))
    def destination(self, row: FulfillmentOrder) -> str:
        """Who gets it, and where."""
        address = row.order.shipping_address or {}
        name = " ".join(filter(None, (address.get("first_name"), address.get("last_name"))))
        return ", ".join(filter(None, (name, address.get("city"), _country(address)))) or "–"

    @display(description=gettext_lazy("Status"), label=LABELS)
    def state(self, row: FulfillmentOrder) -> tuple[str, str]:
        """How far it is."""
        return row.status, row.get_status_display()

    @display(description=gettext_lazy("Request"), label=REQUEST_LABELS)
    def request_state(self, row: FulfillmentOrder) -> tuple[str, str]:
        """What its service said; nothing at the merchant's own locations."""
        told = row.get_request_status_display() if row.assigned_location.legacy else "–"
        return row.request_status, told

    @display(description=gettext_lazy("Next"), empty_value="–")
    def next_step(self, row: FulfillmentOrder) -> str | None:
        """The way to what is done next."""
        if can_send(row):
            # From the address of the list: it stands in each row.
            path = self.url("fulfil", row.order_id).removeprefix(self.url("changelist"))
            address = f"{path}?location={row.assigned_location_id}"
            return format_html(
                '<span class="bo"><a href="{}">{}<span class="bo-hidden"> {}</span></a></span>',
                address,
                _("Fulfil"),
                row.order.name,
            )
        return None

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """The next step for those who may take it."""
        return self.list_display if may(request, CHANGE) else self.list_display[:-1]

    @admin.action(description=gettext_lazy("Print packing slips"), permissions=["view"])
    def print_slips(self, request: HttpRequest, queryset: QuerySet[FulfillmentOrder]) -> HttpResponse:
        """The sheets of the chosen ones, in the order of the list."""
        chosen = ",".join(str(pk) for pk in queryset.values_list("pk", flat=True)[:MOST])
        return HttpResponseRedirect(f"{self.url('slips')}?ids={chosen}")

    # --- pages ---

    def get_urls(self) -> list[URLPattern]:
        """The actions of a fulfillment order, besides Django's pages."""
        return [
            *self.sending_urls(),
            *self.parcel_urls(),
            *self.slip_urls(),
            self.action_url("<path:object_id>/do/<str:name>/", self.act_view, "act", keyed=True),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """It is shown on its order's page, beside the others."""
        require(request, VIEW, CHANGE)
        return HttpResponseRedirect(page_of(self.row_or_404(request, object_id)))

    def act_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask what an action needs to know; then do it."""
        require(request, CHANGE)
        found: FulfillmentOrder = self.row_or_404(request, object_id)
        row = FulfillmentOrder.rows().select_related("order", "assigned_location__service").get(pk=found.pk)
        action = _action(name)
        doing = DOINGS[action]
        try:
            rule_for(action, (row.status, row.request_status), place(row))
        except NotPossible:
            said = _("This is not possible now: the fulfillment order is {status}, its request: {request}.").format(
                status=lowered(row.get_status_display()), request=lowered(row.get_request_status_display())
            )
            self.message_user(request, said, messages.ERROR)
            return HttpResponseRedirect(page_of(row))
        (block,) = filled([row])
        form = doing.form(row, [line for line in block.lines if line.fulfillable_quantity], posted(request))
        if form.is_bound and form.is_valid():
            try:
                doing.run(row, form, form.cleaned_data, self.by(request))
            except DomainError as refusal:
                form.refuse(refusal)
            else:
                self.message_user(request, doing.done, messages.SUCCESS)
                return HttpResponseRedirect(page_of(row))
        title = f"{row.order}: {lowered(str(doing.label).removesuffix('…'))}"
        return self.page(
            request, "panel/fulfillment/act.html", title, block=block, doing=doing, form=form, back=page_of(row)
        )


def page_of(row: FulfillmentOrder) -> str:
    """Where a fulfillment order is shown."""
    return f"{reverse('admin:orders_order_change', args=(row.order_id,))}#fulfillment-order-{row.pk}"


def _action(name: str) -> Action:
    found = next((action for action in DOINGS if action.value == name), None)
    if found is None:
        raise Http404(f"No action {name}")
    return found


def _country(address: dict[str, str]) -> str:
    return told_country(address.get("country_code"), address.get("country"))


def _items_of(pks: Sequence[int]) -> dict[int, str]:
    """What fulfillment orders hold that is yet to be sent, in a few words."""
    rows = FulfillmentOrderLine.rows().filter(fulfillment_order_id__in=pks, fulfillable_quantity__gt=0)
    told: dict[int, list[str]] = defaultdict(list)
    for pk, units, name in rows.order_by("fulfillment_order_id", "pk").values_list(
        "fulfillment_order_id", "fulfillable_quantity", "line_item__name"
    ):
        told[pk].append(f"{units} × {name}")
    return defaultdict(
        lambda: "–",
        {
            pk: ", ".join(names[:SHOWN_ITEMS])
            + (_(" and {count} more").format(count=len(names) - SHOWN_ITEMS) if len(names) > SHOWN_ITEMS else "")
            for pk, names in told.items()
        },
    )


home.add_task(
    home.Task(
        gettext_lazy("Late"),
        gettext_lazy("should have been sent already"),
        FulfillmentOrder,
        "view=late",
        lambda request: in_view(FulfillmentOrder.rows(), "late"),
        order=10,
        is_urgent=True,
    )
)
home.add_task(
    home.Task(
        gettext_lazy("To send today"),
        gettext_lazy("due by the end of the day, late ones included"),
        FulfillmentOrder,
        "view=today",
        lambda request: in_view(FulfillmentOrder.rows(), "today"),
        order=20,
    )
)
