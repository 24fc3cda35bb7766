"""The log of deliveries as staff see it: what was sent where, every attempt, and sending once more."""

import json
from collections.abc import Iterable
from uuid import UUID

from django.apps import apps
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.events.models import Event
from apps.ground.retelling import renamed
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.screens.filters import Choices, PeriodFilter, Screen
from apps.panel.theme import display
from apps.shops.admin.filters import AppFilter
from apps.webhooks.domain import recovery
from apps.webhooks.domain.engine.schedule import MAX_ATTEMPTS
from apps.webhooks.models import Delivery, Payload

VIEW, CHANGE = "webhooks.view_delivery", "webhooks.change_delivery"
LABELS: dict[str, str] = {
    Delivery.State.DUE: "info",
    Delivery.State.RETRY: "warning",
    Delivery.State.LEASED: "info",
    Delivery.State.DONE: "success",
    Delivery.State.DEAD: "danger",
    Delivery.State.HELD: "warning",
    Delivery.State.CANCELLED: "default",
}
# So much of a body is shown; the whole is what the receiver got.
SHOWN_BYTES = 64 * 1024
# Names are not indexed: they are looked for in so many of the latest deliveries.
NAMED = 10_000
LIVE = 50


class SubscriptionFilter(admin.SimpleListFilter):
    """By subscription; its page leads here."""

    title = gettext_lazy("subscription")
    parameter_name = "subscription"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The one that the address names."""
        value = request.GET.get(self.parameter_name, "")
        return [(value, _("No. {number}").format(number=value))] if value.isdecimal() else []

    def has_output(self) -> bool:
        """Only where one is named."""
        return bool(self.value())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Only the named one's."""
        value = self.value()
        return queryset.filter(subscription_id=value[:18]) if value and value.isdecimal() else queryset


class TriggeredFilter(PeriodFilter):
    """By when what they tell of happened."""

    field = "triggered_at"


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly, ShopOwnedAdmin[Delivery]):
    """What went out, what waits, and what was given up."""

    menu = Menu(
        "Apps",
        "outbox",
        40,
        gettext_lazy("Webhook deliveries"),
        words=pgettext_lazy("search", "api, callback, notification, webhook log"),
    )
    intro = gettext_lazy(
        "Everything that apps were told of this shop. The log is kept for a while after the last attempt."
    )
    empty_text = gettext_lazy("Nothing has been sent to an app lately.")
    list_before_template = "panel/webhooks/deliveries.html"
    list_display = ("what", "about", "app_name", "status", "tries", "triggered_at", "problem")
    list_self_evident = ("about", "app_name", "problem")
    list_display_links = ("what",)
    list_filter = ("state", "kind", AppFilter, TriggeredFilter, SubscriptionFilter)
    list_filter_submit = True
    list_select_related = ("app", "event")
    search_fields = ("topic",)
    place_in_search = 90
    search_help_text = gettext_lazy("A topic, the number or name of what it is about, or the webhook's ID")
    ordering = ("-id",)
    sortable_by = ()
    actions = ("send_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """Without what events hold."""
        return super().get_queryset(request).defer("event__payload", "event__changes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """By topic, by what it is about, or by the id that the receiver saw; not in the panel-wide search."""
        match = request.resolver_match
        if match and match.url_name == "search":
            return queryset.none(), False
        return _found(queryset, search_term.strip()), False

    @display(description=gettext_lazy("Topic"))
    def what(self, delivery: Delivery) -> str:
        """What it tells."""
        return delivery.topic if delivery.kind == Delivery.Kind.EVENT else f"{delivery.topic} ({delivery.kind})"

    @display(description=gettext_lazy("About"), empty_value="–")
    def about(self, delivery: Delivery) -> str | None:
        """Which thing."""
        event = delivery.event
        return (renamed(event.subject_label) or f"#{event.subject_id}") if event else None

    @display(description=gettext_lazy("App"))
    def app_name(self, delivery: Delivery) -> str:
        """Who is told."""
        return delivery.app.name

    @display(description=gettext_lazy("State"), label=LABELS)
    def status(self, delivery: Delivery) -> tuple[str, str]:
        """What became of it."""
        return delivery.state, delivery.get_state_display()

    @display(description=gettext_lazy("Attempts"))
    def tries(self, delivery: Delivery) -> str:
        """How many of how many."""
        return _("{attempts} of {limit}").format(attempts=delivery.attempts, limit=MAX_ATTEMPTS)

    @display(description=gettext_lazy("Problem"), empty_value="–")
    def problem(self, delivery: Delivery) -> str:
        """The last failure."""
        return delivery.problem

    def get_urls(self) -> list[URLPattern]:
        """The live view and sending once more."""
        return [
            self.action_url("live/", self.live_view, "live"),
            self.action_url("<path:object_id>/again/", self.again_view, "again"),
            *super().get_urls(),
        ]

    def has_again_permission(self, request: HttpRequest) -> bool:
        """Whether the bulk action is offered."""
        return may(request, CHANGE)

    @admin.action(description=gettext_lazy("Send once more"), permissions=("again",))
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Send the chosen ones once more, with their ids and bytes."""
        chosen = list(queryset.values_list("pk", flat=True))
        moved = recovery.replay(chosen, at=timezone.now())
        self.message_user(
            request,
            _("{moved} of {number} go out once more; others are under way, or were erased.").format(
                moved=moved, number=len(chosen)
            ),
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """One delivery, with all attempts."""
        require(request, VIEW, CHANGE)
        delivery = self.row_or_404(request, object_id)
        # Bytes go in steps of their own, some time after what they were sent in.
        kept = Payload.rows().filter(pk=delivery.payload_id).first()
        body = bytes(kept.body) if kept else b""
        return self.page(
            request,
            "panel/webhooks/delivery.html",
            f"{delivery.topic} → {delivery.endpoint.uri}"[:120],
            original=delivery,
            state=(LABELS[delivery.state], delivery.get_state_display()),
            attempts=list(delivery.log.order_by("number", "pk")),
            body=_readable(body),
            is_cut=len(body) > SHOWN_BYTES,
            size=len(body),
            most=MAX_ATTEMPTS,
            is_waiting=delivery.state in {Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED},
            may_send=may(request, CHANGE) and bool(body) and delivery.state != Delivery.State.LEASED,
        )

    def again_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send one once more."""
        require(request, CHANGE)
        delivery = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if recovery.replay([delivery.pk], at=timezone.now()):
            self.message_user(request, _("It goes out once more."), messages.SUCCESS)
        else:
            self.message_user(request, _("It is under way already, or its content was erased."), messages.WARNING)
        return HttpResponseRedirect(self.url("change", delivery.pk))

    def live_view(self, request: HttpRequest) -> HttpResponse:
        """What goes out, as it goes out: for the person who develops against it."""
        require(request, VIEW, CHANGE)
        rows = self.get_queryset(request).select_related("app", "event")[:LIVE]
        shown = [(row, LABELS[row.state], row.get_state_display(), self.about(row)) for row in rows]
        if "rows" in request.GET:
            return render(request, "panel/webhooks/live_rows.html", {"rows": shown})
        return self.page(request, "panel/webhooks/live.html", _("Deliveries, live"), rows=shown, count=LIVE)


def _found(queryset: QuerySet[Delivery], term: str) -> QuerySet[Delivery]:
    if not term:
        return queryset
    try:
        return queryset.filter(key=UUID(term))
    except ValueError:
        pass
    if term.isdecimal() and len(term) <= 18:
        about = Event.rows().filter(subject_type__in=_labels(), subject_id=int(term))
        return queryset.filter(event__in=about.values("pk"))
    if "/" in term:
        return queryset.filter(topic__istartswith=term)
    oldest = list(Delivery.rows().order_by("-pk").values_list("pk", flat=True)[NAMED - 1 : NAMED])
    named = queryset.filter(event__subject_label__icontains=term)
    return named.filter(pk__gte=oldest[0]) if oldest else named


def _labels() -> Iterable[str]:
    """Every kind of thing, so that the index over kind and number is used."""
    return [model._meta.label_lower for model in apps.get_models()]


def _readable(body: bytes) -> str:
    """A body for people, at most as much as is shown."""
    if len(body) > SHOWN_BYTES:
        return body[:SHOWN_BYTES].decode(errors="replace")
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode(errors="replace")
