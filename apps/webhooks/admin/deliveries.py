"""Panel pages for the log of webhook deliveries, with all attempts and the *Replay* action."""

import json
from uuid import UUID

from django.apps import apps
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.lists.filters import Choices, PeriodFilter, Screen
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import attribute_column, display
from apps.core.events.models import Event
from apps.core.events.timelines import get_topic_label
from apps.core.i18n.formats import lowercase_label
from apps.shops.admin.filters import AppFilter
from apps.webhooks.admin.topic_names import find_topics, format_topic
from apps.webhooks.domain import replay
from apps.webhooks.domain.engine.retry_policy import MAX_ATTEMPTS
from apps.webhooks.models import Delivery, Payload

VIEW_PERMISSION, CHANGE_PERMISSION = "webhooks.view_delivery", "webhooks.change_delivery"
STATE_COLORS: dict[str, str] = {
    Delivery.State.DUE: "info",
    Delivery.State.RETRY: "warning",
    Delivery.State.LEASED: "info",
    Delivery.State.DONE: "success",
    Delivery.State.DEAD: "danger",
    Delivery.State.HELD: "warning",
    Delivery.State.CANCELLED: "default",
}
# The delivery page shows at most this many bytes of a body. The endpoint received the complete body.
MAX_DISPLAYED_BYTES = 64 * 1024
# A search for an object name reads only this many of the latest deliveries, because the names are not indexed.
NAME_SEARCH_LIMIT = 10_000
LIVE_ROWS = 50


class SubscriptionFilter(admin.SimpleListFilter):
    """A filter by subscription, used by links on the subscription page."""

    title = gettext_lazy("webhook")
    parameter_name = "subscription"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """Offer only the subscription in the current URL."""
        value = request.GET.get(self.parameter_name, "")
        return [(value, _("No. {number}").format(number=value))] if value.isdecimal() else []

    def has_output(self) -> bool:
        """Hide the filter unless a subscription is selected."""
        return bool(self.value())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        value = self.value()
        return queryset.filter(subscription_id=value[:18]) if value and value.isdecimal() else queryset


class TriggeredFilter(PeriodFilter):
    field = "triggered_at"


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Delivery]):
    menu = MenuItem("Apps", "outbox", 40, gettext_lazy("Webhook deliveries"))
    search_terms = pgettext_lazy("search", "api, callback, webhook log")
    intro = gettext_lazy(
        "All webhook deliveries from this shop to apps. Deliveries are deleted after 30 days, failed deliveries after "
        "90 days."
    )
    empty_text = gettext_lazy("No webhooks have been sent recently.")
    list_before_template = "panel/webhooks/deliveries.html"
    list_notice_template = "panel/list_workers.html"
    list_display = ("topic_and_kind", "event_subject", "app_name", "status", "attempt_count", "triggered_at", "problem")
    mobile_hide_labels = ("event_subject", "app_name", "problem")
    list_display_links = ("topic_and_kind",)
    list_filter = ("state", "kind", AppFilter, TriggeredFilter, SubscriptionFilter)
    list_filter_submit = True
    list_select_related = ("app", "event")
    search_fields = ("topic",)
    is_in_palette = False
    search_help_text = gettext_lazy("Topic, object or webhook ID")
    ordering = ("-id",)
    sortable_by = ()
    actions = ("send_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """Return deliveries without the large JSON columns of their events."""
        return super().get_queryset(request).defer("event__payload", "event__changes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """Search by topic, object or webhook ID."""
        return _search_deliveries(queryset, search_term.strip()), False

    @display(description=gettext_lazy("Topic"))
    def topic_and_kind(self, delivery: Delivery) -> SafeString:
        """Return the topic. If the delivery is not for an event, append the kind of delivery, e.g. ``test``."""
        is_event = delivery.kind == Delivery.Kind.EVENT
        return format_topic(delivery.topic, "" if is_event else lowercase_label(delivery.get_kind_display()))

    @display(description=gettext_lazy("Object"), empty_value="–")
    def event_subject(self, delivery: Delivery) -> str | None:
        event = delivery.event
        return (event.label or f"#{event.subject_id}") if event else None

    app_name = attribute_column("app.name", gettext_lazy("App"))
    problem = attribute_column("problem", gettext_lazy("Error"), empty_value="–")

    @display(description=gettext_lazy("Status"), label=STATE_COLORS)
    def status(self, delivery: Delivery) -> tuple[str, str]:
        return delivery.state, delivery.get_state_display()

    @display(description=gettext_lazy("Attempts"))
    def attempt_count(self, delivery: Delivery) -> str:
        return _("{attempts} of {limit}").format(attempts=delivery.attempts, limit=MAX_ATTEMPTS)

    def has_again_permission(self, request: HttpRequest) -> bool:
        """Return True if the user may use the *Replay* action. Django's admin calls this method."""
        return has_permission(request, CHANGE_PERMISSION)

    @admin.action(description=gettext_lazy("Replay"), permissions=("again",))
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        delivery_ids = list(queryset.values_list("pk", flat=True))
        sent_count = replay.replay_deliveries(delivery_ids)
        message = _(
            "{moved} of {number} deliveries are being sent again. "
            "Deliveries that are in progress or were erased can't be sent again."
        )
        self.message_user(request, message.format(moved=sent_count, number=len(delivery_ids)))

    @row_view("change/", VIEW_PERMISSION, CHANGE_PERMISSION, name="change")
    def detail_view(self, request: HttpRequest, delivery: Delivery) -> HttpResponse:
        # The payload can be missing, because payloads and deliveries are deleted separately.
        payload = Payload.rows().filter(pk=delivery.payload_id).first()
        body = bytes(payload.body) if payload else b""
        return self.page(
            request,
            "panel/webhooks/delivery.html",
            f"{get_topic_label(delivery.topic)} → {delivery.endpoint.uri}"[:120],
            original=delivery,
            state=(STATE_COLORS[delivery.state], delivery.get_state_display()),
            attempts=list(delivery.log.order_by("number", "pk")),
            body=_format_body(body),
            is_cut=len(body) > MAX_DISPLAYED_BYTES,
            size=len(body),
            most=MAX_ATTEMPTS,
            is_waiting=delivery.state in {Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED},
            may_send=has_permission(request, CHANGE_PERMISSION)
            and bool(body)
            and delivery.state != Delivery.State.LEASED,
        )

    @row_view("again/", CHANGE_PERMISSION, post_only=True)
    def again_view(self, request: HttpRequest, delivery: Delivery) -> HttpResponse:
        if replay.replay_deliveries([delivery.pk]):
            self.message_user(request, _("The delivery is being sent again."), messages.SUCCESS)
        else:
            message = _("This delivery can't be sent again: it is in progress, or its content was erased.")
            self.message_user(request, message, messages.WARNING)
        return HttpResponseRedirect(self.url("change", delivery.pk))

    @extra_view("live/", VIEW_PERMISSION, CHANGE_PERMISSION)
    def live_view(self, request: HttpRequest) -> HttpResponse:
        """Show the latest deliveries on a page that refreshes every few seconds, for app developers."""
        rows = self.get_queryset(request).select_related("app", "event")[:LIVE_ROWS]
        display_rows = [
            (row, STATE_COLORS[row.state], row.get_state_display(), self.event_subject(row)) for row in rows
        ]
        if "rows" in request.GET:
            return render(request, "panel/webhooks/live_rows.html", {"rows": display_rows})
        return self.page(request, "panel/webhooks/live.html", _("Live deliveries"), rows=display_rows, count=LIVE_ROWS)


def _search_deliveries(queryset: QuerySet[Delivery], term: str) -> QuerySet[Delivery]:
    if not term:
        return queryset
    try:
        return queryset.filter(key=UUID(term))
    except ValueError:
        pass
    if term.isdecimal() and len(term) <= 18:
        # With the labels of all models, the query can use the index on type and ID.
        labels = [model._meta.label_lower for model in apps.get_models()]
        events = Event.rows().filter(subject_type__in=labels, subject_id=int(term))
        return queryset.filter(event__in=events.values("pk"))
    if "/" in term:
        return queryset.filter(topic__istartswith=term)
    newest = Delivery.rows().order_by("-pk").values_list("pk", flat=True)
    oldest = list(newest[NAME_SEARCH_LIMIT - 1 : NAME_SEARCH_LIMIT])
    matches = queryset.filter(Q(event__subject_label__icontains=term) | Q(topic__in=find_topics(term)))
    return matches.filter(pk__gte=oldest[0]) if oldest else matches


def _format_body(body: bytes) -> str:
    if len(body) > MAX_DISPLAYED_BYTES:
        return body[:MAX_DISPLAYED_BYTES].decode(errors="replace")
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode(errors="replace")
