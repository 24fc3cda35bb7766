"""Panel pages for webhook subscriptions: forms, health, recent deliveries, and actions to test, pause or replay."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.db.models import DateTimeField, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.forms.error_display import add_domain_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.forms.times import ShopDateTimeField
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import PanelAdmin, ReadOnlyAdminMixin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context, as_staff_request
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.messages import define_text, translate
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.admin.tokens import OVERLAPS, get_overlap, render_secret_once
from apps.shops.admin.uninstall_preview import uninstall_counts
from apps.shops.domain import app_registration
from apps.webhooks.admin import app_config
from apps.webhooks.admin.staff_subscriptions import SubscriptionForm, get_displayed_values, require_staff_subscription
from apps.webhooks.admin.topic_names import describe_sections, find_topics, format_topic, render_example
from apps.webhooks.domain import delivery_tests, replay
from apps.webhooks.domain import subscriptions as service
from apps.webhooks.domain.engine.headers import get_signature_header
from apps.webhooks.models import Attempt, Delivery, Health, Subscription
from apps.webhooks.models.deliveries import get_error_label
from apps.webhooks.models.subscriptions import decode_warnings

VIEW_PERMISSION, CHANGE_PERMISSION = "webhooks.view_subscription", "webhooks.change_subscription"
ADD_PERMISSION, DELETE_PERMISSION = "webhooks.add_subscription", "webhooks.delete_subscription"
RESEND_PERMISSION = "webhooks.change_delivery"
LATEST_DELIVERIES = 20
_PAUSED = define_text("webhooks.paused", "Paused by staff.")
# Larger counts are shown as "1,000 or more", because exact counts could require reading the whole log.
COUNT_LIMIT = 1000
# The color and label of each status.
_STATUSES = {
    "well": ("success", gettext_lazy("Working")),
    "new": ("info", gettext_lazy("Nothing sent yet")),
    "failing": ("warning", gettext_lazy("Failing")),
    "held": ("warning", gettext_lazy("Some deliveries held")),
    "paused": ("info", gettext_lazy("Paused")),
    "disabled": ("danger", gettext_lazy("Disabled")),
}


class ReplayForm(forms.Form):
    since = ShopDateTimeField(gettext_lazy("Since"))


class RateLimitForm(forms.ModelForm[Subscription]):
    class Meta:
        model = Subscription
        fields = ("ordered", "max_in_flight", "max_per_second")
        labels = {
            "ordered": gettext_lazy("Deliver each resource's events in order"),
            "max_in_flight": gettext_lazy("Concurrent deliveries"),
            "max_per_second": gettext_lazy("Deliveries per second"),
        }
        help_texts = {
            "ordered": "",
            "max_per_second": gettext_lazy("Leave blank for no limit. Deliveries over the limit are sent later."),
        }


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnlyAdminMixin, PanelAdmin[Subscription]):
    """Webhook subscriptions of apps, which staff can view, pause, test and replay, and of staff, who can edit them."""

    menu = MenuItem("Apps", "webhook", 30, gettext_lazy("Webhooks"))
    search_terms = pgettext_lazy("search", "api, callback, event")
    add_title = gettext_lazy("Add webhook")
    intro = gettext_lazy(
        "Webhooks send the events of this shop to other systems. Each app manages its own webhooks. You can add "
        "webhooks for your own systems."
    )
    empty_text = gettext_lazy("No webhooks yet. Add a webhook to send events of this shop to another system.")
    list_before_template = "panel/webhooks/subscriptions.html"
    list_display = ("topic_name", "app_name", "address", "status", "delivered_at")
    mobile_hide_labels = ("app_name", "address")
    list_display_links = ("topic_name",)
    list_filter = ("state",)
    search_fields = ("topic__istartswith", "uri__icontains", "app__name__icontains")
    search_help_text = gettext_lazy("Topic, address or app")
    is_in_palette = False
    ordering = ("topic", "id")
    sortable_by = ()
    actions = None

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return has_permission(request, ADD_PERMISSION)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Subscription]:
        """Return all subscriptions that receive events of this shop, annotated with the results of their deliveries."""
        shop = self.shop(request)
        # ``rows()`` only returns deliveries of this shop, even for a configured subscription, which covers all shops.
        deliveries = Delivery.rows().filter(subscription=OuterRef("pk"))
        with all_shops_scope():
            subscriptions = service.get_subscriptions_for_shop(shop)
        return (
            subscriptions.select_related("app")
            .annotate(
                delivered_at=_last_finished_at(deliveries, Delivery.State.DONE),
                given_up_at=_last_finished_at(deliveries, Delivery.State.DEAD),
                is_retrying=Exists(deliveries.filter(state=Delivery.State.RETRY)),
                has_held=Exists(deliveries.filter(state=Delivery.State.HELD)),
            )
            .order_by(*self.ordering)
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Subscription], search_term: str
    ) -> tuple[QuerySet[Subscription], bool]:
        """Search by the name of a topic in the user's language, too."""
        found, may_have_duplicates = super().get_search_results(request, queryset, search_term)
        topics = find_topics(search_term.strip())
        return found | queryset.filter(Q(topic__in=topics)) if topics else found, may_have_duplicates

    @display(description=gettext_lazy("Topic"))
    def topic_name(self, subscription: Subscription) -> SafeString:
        return format_topic(subscription.topic)

    app_name = attribute_column("app.name", gettext_lazy("App"))
    delivered_at = attribute_column("delivered_at", gettext_lazy("Last delivery"), empty_value="–")

    @display(description=gettext_lazy("Address"))
    def address(self, subscription: Subscription) -> str:
        return subscription.uri[:80]

    @display(description=gettext_lazy("Status"), label={key: color for key, (color, _label) in _STATUSES.items()})
    def status(self, subscription: Subscription) -> tuple[str, str]:
        state = get_status_key(subscription)
        return state, str(_STATUSES[state][1])

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD_PERMISSION)
        form = SubscriptionForm(get_post_data(request))

        def create() -> HttpResponse:
            shop, event = self.shop(request), self.event_kwargs(request)
            subscription = service.create_staff_subscription(shop, form.values, **event)
            self.message_user(request, _("Webhook added. Send a test to check the address."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", subscription.pk))

        if request.method == "POST" and form.is_valid():
            try:
                return cast("HttpResponse", submit_once_or_redirect(request, create, keyed=True))
            except DomainError as error:
                add_domain_errors(form, error)
        return self.page(request, "panel/webhooks/form.html", _("Add webhook"), form=form)

    @row_view("edit/", CHANGE_PERMISSION)
    def edit_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        require_staff_subscription(subscription)
        form = SubscriptionForm(get_post_data(request), subscription=subscription)
        displayed_values = get_displayed_values(subscription)
        if request.method == "POST" and form.is_valid() and has_changed_since_render(request, *displayed_values):
            form.add_error(None, EDIT_CONFLICT)
        if request.method == "POST" and form.is_valid():
            try:
                service.update_subscription(subscription, form.values, **self.event_kwargs(request))
            except DomainError as error:
                add_domain_errors(form, error)
            else:
                self.message_user(request, _("Saved."), messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", subscription.pk))
        return self.page(
            request,
            "panel/webhooks/form.html",
            _("Edit webhook"),
            original=subscription,
            form=form,
            seen=compute_fingerprint(*displayed_values),
        )

    @row_view("delete/", DELETE_PERMISSION, name="delete")
    def remove_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        require_staff_subscription(subscription)
        if request.method == "POST":
            service.delete_subscription(subscription, **self.event_kwargs(request))
            self.message_user(request, _("Webhook deleted."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        return self.page(request, "panel/webhooks/remove.html", _("Delete webhook"), original=subscription)

    @row_view("secret/", CHANGE_PERMISSION, post_only=True, keyed=True)
    def secret_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        """Show the secret that signs the webhooks of staff, or replace the secret and show the new one."""
        require_staff_subscription(subscription)
        app, onward = subscription.app, self.url("change", subscription.pk)
        secret, title = app.api_secret, _("Signing secret")
        if "overlap" in request.POST:
            overlap = get_overlap(request)
            if overlap is None:
                self.message_user(request, _("Choose how long the old secret stays valid."), messages.ERROR)
                return HttpResponseRedirect(onward)
            title = _("New secret")
            secret = app_registration.replace_secret(app, overlap=overlap, **self.event_kwargs(request))
        return render_secret_once(
            self,
            request,
            title,
            continue_url=onward,
            app=app,
            template="panel/webhooks/secret.html",
            secret=secret,
            header=get_signature_header(),
        )

    @row_view("change/", VIEW_PERMISSION, CHANGE_PERMISSION, name="change")
    def detail_view(
        self, request: HttpRequest, subscription: Subscription, pace: RateLimitForm | None = None
    ) -> HttpResponse:
        deliveries = Delivery.rows().filter(subscription=subscription)
        undelivered = deliveries.filter(state__in=replay.REPLAYABLE_STATES)
        trials, filter_error = _try_filter(subscription, request.GET.get("filter", subscription.filter))
        return self.page(
            request,
            "panel/webhooks/subscription.html",
            str(subscription)[:120],
            original=subscription,
            warnings=decode_warnings(subscription.warnings),
            state=_STATUSES[get_status_key(subscription)],
            counts=list(_count_by_state(deliveries)),
            missing_since=undelivered.order_by("pk").values_list("triggered_at", flat=True).first(),
            latest=_get_latest(deliveries),
            last_error=_get_last_error(subscription),
            log=f"{reverse('admin:webhooks_delivery_changelist')}?subscription={subscription.pk}",
            trials=trials,
            tried_filter=request.GET.get("filter", subscription.filter),
            filter_error=filter_error,
            may_change=has_permission(request, CHANGE_PERMISSION),
            is_own=subscription.shop_id is not None,
            is_staff_owned=subscription.app.is_shop_app,
            may_delete=has_permission(request, DELETE_PERMISSION),
            may_resend=has_permission(request, RESEND_PERMISSION),
            header=get_signature_header(),
            overlaps=OVERLAPS,
            pace=pace or RateLimitForm(instance=subscription),
            is_waiting=deliveries.filter(state=Delivery.State.DUE).exists(),
        )

    @extra_view("topics/", VIEW_PERMISSION)
    def topics_view(self, request: HttpRequest) -> HttpResponse:
        if topic := request.GET.get("topic"):
            return render_example(request, self.shop(request), topic)
        return self.page(request, "panel/webhooks/topics.html", _("Webhook topics"), sections=describe_sections())

    @extra_view("configuration/<int:app_id>/", keyed=True)
    def configuration_view(self, request: HttpRequest, app_id: int) -> HttpResponse:
        return app_config.apply_config_view(self, request, app_id)

    @row_view("pause/", CHANGE_PERMISSION, post_only=True)
    def pause_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        pause = partial(service.pause_subscription, reason=_PAUSED)
        return self._change_own(request, subscription, pause, _("Webhook paused. New events are held."))

    @row_view("resume/", CHANGE_PERMISSION, post_only=True)
    def resume_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        message = _("Webhook resumed. You can now replay the held deliveries.")
        return self._change_own(request, subscription, service.resume_subscription, message)

    @row_view("pace/", CHANGE_PERMISSION, name="pace", post_only=True)
    def rate_limit_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        form = RateLimitForm(request.POST)
        if not form.is_valid():
            return self.detail_view(request, subscription, pace=form)
        pace = partial(service.update_subscription, values=form.cleaned_data)
        return self._change_own(request, subscription, pace, _("Saved. The limits also apply to waiting deliveries."))

    @row_view("test/", CHANGE_PERMISSION, post_only=True)
    def test_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        delivery = delivery_tests.send_test_delivery(subscription, shop_id=self.shop(request).pk, at=timezone.now())
        self.message_user(request, _("Test sent. This page shows the result."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:webhooks_delivery_change", args=(delivery.pk,)))

    @row_view("recover/", CHANGE_PERMISSION, name="recover", post_only=True)
    def replay_view(self, request: HttpRequest, subscription: Subscription) -> HttpResponse:
        """Replay all dead letters, or the deliveries that failed or were held since a given time."""
        form = ReplayForm(request.POST)
        if "all" in request.POST:
            replay.replay_dead_letters(subscription, **self.event_kwargs(request))
        elif form.is_valid():
            replay.replay_since(subscription, since=form.cleaned_data["since"], **self.event_kwargs(request))
        else:
            self.message_user(request, _("Enter a date and time."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", subscription.pk))
        self.message_user(request, _("The deliveries are being replayed in the background."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", subscription.pk))

    def _change_own(
        self, request: HttpRequest, subscription: Subscription, change: Callable[..., object], success_message: str
    ) -> HttpResponse:
        """Change a subscription that belongs to this shop, and redirect to its page with a message."""
        if subscription.shop_id is None:
            message, level = (
                _("This webhook covers all shops that use the app. Only the app's developer can change it."),
                messages.ERROR,
            )
        elif change(subscription, **self.event_kwargs(request)):
            message, level = success_message, messages.SUCCESS
        else:
            message, level = _("No changes."), messages.INFO
        self.message_user(request, message, level)
        return HttpResponseRedirect(self.url("change", subscription.pk))


def get_status_key(subscription: Subscription) -> str:
    """Return the status of an annotated subscription, a key of ``_STATUSES``."""
    if subscription.state != Subscription.State.LIVE:
        return subscription.state
    delivered: datetime | None = subscription.delivered_at  # type: ignore[attr-defined]
    last_failed_at: datetime | None = subscription.given_up_at  # type: ignore[attr-defined]
    if subscription.is_retrying or (last_failed_at and (delivered is None or last_failed_at > delivered)):  # type: ignore[attr-defined]
        return "failing"
    if subscription.has_held:  # type: ignore[attr-defined]
        return "held"
    return "well" if delivered else "new"


def _last_finished_at(deliveries: QuerySet[Delivery], state: Delivery.State) -> Subquery:
    latest = deliveries.filter(state=state).order_by("-pk").values(moment=F("finished_at"))[:1]
    return Subquery(latest, output_field=DateTimeField())


def _get_latest(deliveries: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Return the latest deliveries with the response code of their last attempts."""
    last_attempt = Attempt.rows().filter(delivery=OuterRef("pk")).order_by("-number", "-pk")
    latest = deliveries.select_related("event").defer("event__payload").order_by("-pk")
    return latest.annotate(response_code=Subquery(last_attempt.values("status")[:1]))[:LATEST_DELIVERIES]


def _get_last_error(subscription: Subscription) -> str:
    """Return the last error of a subscription that does not deliver, or an empty string."""
    if subscription.state == Subscription.State.LIVE:
        return ""
    with all_shops_scope():
        error = Health.objects.filter(subscription=subscription).values_list("last_error", flat=True).first() or ""
    return get_error_label(translate(error))


def _count_by_state(deliveries: QuerySet[Delivery]) -> Iterator[tuple[str, str]]:
    """Yield the label of each state that deliveries have, and their number."""
    for state in Delivery.State:
        number = deliveries.filter(state=state)[:COUNT_LIMIT].count()
        text = formats.format_integer(number)
        if number:
            yield str(state.label), _("{number} or more").format(number=text) if number == COUNT_LIMIT else text


def _try_filter(subscription: Subscription, text: str) -> tuple[list[dict[str, object]], str]:
    """Try a filter on the latest events of the topic; return the results, and the error if the filter is invalid."""
    trials: list[dict[str, object]] = []
    for event in delivery_tests.get_recent_events(subscription, LATEST_DELIVERIES):
        result = delivery_tests.dry_run_filter(event, api_version=subscription.api_version, text=text)
        if result.error:
            return [], result.error
        trials.append({"event": event, "fits": bool(result.is_match)})
    return trials, ""


def _get_disabled(request: HttpRequest) -> QuerySet[Subscription]:
    with all_shops_scope():
        return service.get_subscriptions_for_shop(as_staff_request(request).shop).filter(
            state=Subscription.State.DISABLED
        )


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Disabled webhooks"),
        gettext_lazy("webhooks that no longer deliver events"),
        Subscription,
        "state__exact=disabled",
        _get_disabled,
        order=85,
    )
)
uninstall_counts.register(
    gettext_noop("webhook subscriptions"),
    lambda installation: service.get_api_subscriptions(installation.shop, installation.app_id).count(),
)
