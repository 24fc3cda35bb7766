"""Subscriptions as staff see them: who is told of what, whether it arrives, and what to do where it does not."""

from collections.abc import Callable
from datetime import datetime
from typing import TypedDict

from django import forms
from django.contrib import admin, messages
from django.db.models import DateTimeField, Exists, F, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.ground import languages
from apps.ground.tenancy import every_shop
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context, in_shop
from apps.panel.screens.bases import PanelAdmin, ReadOnly
from apps.panel.theme import display
from apps.webhooks.admin import configuration
from apps.webhooks.domain import examples, recovery, trying
from apps.webhooks.domain import subscriptions as service
from apps.webhooks.models import Delivery, Subscription

VIEW, CHANGE = "webhooks.view_subscription", "webhooks.change_subscription"
LATEST = 20
# Numbers beyond it are shown as "1,000 or more": counting on would read a whole log.
COUNTED = 1000
LABELS = {
    "well": "success",
    "new": "info",
    "failing": "warning",
    "held": "warning",
    "paused": "info",
    "disabled": "danger",
}
_WORDS = {
    "well": gettext_lazy("Arrives"),
    "new": gettext_lazy("Nothing sent yet"),
    "failing": gettext_lazy("Failing"),
    "held": gettext_lazy("Some are held"),
    "paused": gettext_lazy("Paused"),
    "disabled": gettext_lazy("Disabled"),
}


class Tried(TypedDict):
    """A stored event, and what a filter would make of it."""

    event: object
    fits: bool


class RecoverForm(forms.Form):
    """Since when a receiver shall get what it did not get."""

    since = forms.DateTimeField(
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}), label=gettext_lazy("Since")
    )


class PaceForm(forms.ModelForm[Subscription]):
    """How its deliveries go out."""

    class Meta:
        model = Subscription
        fields = ("ordered", "max_in_flight", "max_per_second")
        labels = {
            "ordered": gettext_lazy("One resource's events go out one after another"),
            "max_in_flight": gettext_lazy("Calls at once"),
            "max_per_second": gettext_lazy("Calls a second"),
        }
        help_texts = {
            "ordered": "",
            "max_per_second": gettext_lazy(
                "Empty: as many as come. What waits for its turn is sent later; nothing is lost."
            ),
        }


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnly, PanelAdmin[Subscription]):
    """Apps make and change subscriptions; staff watch, pause, test, and have sent once more."""

    menu = Menu(
        "Apps",
        "webhook",
        30,
        gettext_lazy("Webhooks"),
        words=pgettext_lazy("search", "api, callback, notification, event"),
    )
    intro = gettext_lazy("What apps are told of, and whether it arrives. Apps manage their subscriptions themselves.")
    empty_text = gettext_lazy("No app of this shop has subscribed to anything.")
    list_before_template = "panel/webhooks/subscriptions.html"
    list_display = ("topic_name", "app_name", "address", "status", "delivered_at")
    list_self_evident = ("app_name", "address")
    list_display_links = ("topic_name",)
    list_filter = ("state",)
    search_fields = ("topic__istartswith", "uri__icontains", "app__name__icontains")
    ordering = ("topic", "id")
    sortable_by = ()
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Subscription]:
        """All that hear of this shop, each with what became of this shop's deliveries."""
        shop = self.shop(request)
        # One of a configuration file belongs to no shop; what was sent of this shop does.
        sent = Delivery.rows().filter(subscription=OuterRef("pk"))
        with every_shop():
            told = service.told_in(shop)
        return (
            told.select_related("app")
            .annotate(
                delivered_at=_last(sent, Delivery.State.DONE),
                given_up_at=_last(sent, Delivery.State.DEAD),
                is_retrying=Exists(sent.filter(state=Delivery.State.RETRY)),
                has_held=Exists(sent.filter(state=Delivery.State.HELD)),
            )
            .order_by(*self.ordering)
        )

    @display(description=gettext_lazy("Topic"))
    def topic_name(self, subscription: Subscription) -> str:
        """What it is about."""
        return subscription.topic

    @display(description=gettext_lazy("App"))
    def app_name(self, subscription: Subscription) -> str:
        """Who is told."""
        return subscription.app.name

    @display(description=gettext_lazy("Where"))
    def address(self, subscription: Subscription) -> str:
        """The receiver."""
        return subscription.uri[:80]

    @display(description=gettext_lazy("State"), label=LABELS)
    def status(self, subscription: Subscription) -> tuple[str, str]:
        """Whether it arrives."""
        state = glance(subscription)
        return state, str(_WORDS[state])

    @display(description=gettext_lazy("Last arrived"), empty_value="–")
    def delivered_at(self, subscription: Subscription) -> datetime | None:
        """When something last arrived."""
        moment: datetime | None = subscription.delivered_at  # type: ignore[attr-defined]
        return moment

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Subscription], search_term: str
    ) -> tuple[QuerySet[Subscription], bool]:
        """The panel-wide search is for the shop's data."""
        match = request.resolver_match
        if match and match.url_name == "search":
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def get_urls(self) -> list[URLPattern]:
        """What can be done with one."""
        return [
            self.action_url("<path:object_id>/pause/", self.pause_view, "pause"),
            self.action_url("<path:object_id>/resume/", self.resume_view, "resume"),
            self.action_url("<path:object_id>/pace/", self.pace_view, "pace"),
            self.action_url("<path:object_id>/test/", self.test_view, "test"),
            self.action_url("<path:object_id>/recover/", self.recover_view, "recover"),
            self.action_url("topics/", self.topics_view, "topics"),
            self.action_url("configuration/<int:app_id>/", self.configuration_view, "configuration", keyed=True),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """One subscription: its health, what was sent lately, and what its filter makes of what happened."""
        require(request, VIEW, CHANGE)
        subscription = self.row_or_404(request, object_id)
        sent = Delivery.rows().filter(subscription=subscription)
        missing = sent.filter(state__in=recovery.OVER)
        tried, refusal = _tried(subscription, request.GET.get("filter", subscription.filter))
        return self.page(
            request,
            "panel/webhooks/subscription.html",
            str(subscription)[:120],
            original=subscription,
            state=(LABELS[glance(subscription)], _WORDS[glance(subscription)]),
            counts=[(state.label, _count(sent, state)) for state in Delivery.State],
            missing_since=missing.order_by("pk").values_list("triggered_at", flat=True).first(),
            latest=sent.select_related("event").defer("event__payload").order_by("-pk")[:LATEST],
            log=f"{reverse('admin:webhooks_delivery_changelist')}?subscription={subscription.pk}",
            tried=tried,
            tried_filter=request.GET.get("filter", subscription.filter),
            refusal=refusal,
            may_change=may(request, CHANGE),
            is_own=subscription.shop_id is not None,
            pace=(extra_context or {}).get("pace") or PaceForm(instance=subscription),
            is_waiting=sent.filter(state=Delivery.State.DUE).exists(),
        )

    def topics_view(self, request: HttpRequest) -> HttpResponse:
        """Every topic with an example of its payload."""
        require(request, VIEW)
        return self.page(request, "panel/webhooks/topics.html", _("Webhook topics"), families=examples.described())

    def configuration_view(self, request: HttpRequest, app_id: int) -> HttpResponse:
        """Apply the configuration file of an app that this shop keeps."""
        return configuration.answer(self, request, app_id)

    def pause_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Hold what is for it back."""

        def pause(subscription: Subscription) -> bool:
            return service.pause(subscription, reason=gettext_noop("Paused by staff."), **self.by(request))

        return self._move(request, object_id, pause, _("It is paused: what happens is held for it."))

    def resume_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let it be told again."""

        def resume(subscription: Subscription) -> bool:
            return service.resume(subscription, **self.by(request))

        said = _("It is told again. What was held meanwhile is sent once you ask for it.")
        return self._move(request, object_id, resume, said)

    def pace_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say how fast it is called."""

        def pace(subscription: Subscription) -> bool:
            return bool(service.update_subscription(subscription, form.cleaned_data, **self.by(request)))

        form = PaceForm(request.POST)
        if request.method == "POST" and not form.is_valid():
            return self.change_view(request, object_id, extra_context={"pace": form})
        return self._move(request, object_id, pace, _("Saved; it holds for what waits, too."))

    def test_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send it an example now."""
        require(request, CHANGE)
        subscription = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        made = trying.send_test(subscription, shop_id=self.shop(request).pk, at=timezone.now())
        self.message_user(request, _("A test is on its way; this page shows what became of it."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:webhooks_delivery_change", args=(made.pk,)))

    def recover_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send what did not arrive since a moment, or all that was given up."""
        require(request, CHANGE)
        subscription = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        form = RecoverForm(request.POST)
        if "all" in request.POST:
            recovery.recover_dead(subscription, **self.by(request))
        elif form.is_valid():
            recovery.recover(subscription, since=form.cleaned_data["since"], **self.by(request))
        else:
            self.message_user(request, _("Say since when: a day and a time."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", subscription.pk))
        self.message_user(request, _("A background job sends it once more."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", subscription.pk))

    def _move(
        self, request: HttpRequest, object_id: str, move: Callable[[Subscription], bool], done: str
    ) -> HttpResponse:
        """Change a subscription that is this shop's own."""
        require(request, CHANGE)
        subscription = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if subscription.shop_id is None:
            said, level = _("It holds for all shops of the app: its developer manages it."), messages.ERROR
        elif move(subscription):
            said, level = done, messages.SUCCESS
        else:
            said, level = _("Nothing had to be changed."), messages.INFO
        self.message_user(request, said, level)
        return HttpResponseRedirect(self.url("change", subscription.pk))


def glance(subscription: Subscription) -> str:
    """How an annotated subscription fares: a key of ``LABELS``."""
    if subscription.state != Subscription.State.LIVE:
        return subscription.state
    delivered: datetime | None = subscription.delivered_at  # type: ignore[attr-defined]
    given_up: datetime | None = subscription.given_up_at  # type: ignore[attr-defined]
    if subscription.is_retrying or (given_up and (delivered is None or given_up > delivered)):  # type: ignore[attr-defined]
        return "failing"
    if subscription.has_held:  # type: ignore[attr-defined]
        return "held"
    return "well" if delivered else "new"


def _last(sent: QuerySet[Delivery], state: Delivery.State) -> Subquery:
    """When the latest delivery ended so."""
    latest = sent.filter(state=state).order_by("-pk").values(moment=F("finished_at"))[:1]
    return Subquery(latest, output_field=DateTimeField())


def _count(sent: QuerySet[Delivery], state: Delivery.State) -> str:
    number = sent.filter(state=state)[:COUNTED].count()
    counted = languages.count(number)
    return _("{number} or more").format(number=counted) if number == COUNTED else counted


def _tried(subscription: Subscription, text: str) -> tuple[list[Tried], str]:
    """What a filter makes of the latest events of the topic; what is wrong with it."""
    tried: list[Tried] = []
    for event in trying.events_to_try(subscription, LATEST):
        found = trying.dry_run(event, api_version=subscription.api_version, text=text)
        if found.error:
            return [], found.error
        tried.append({"event": event, "fits": bool(found.fits)})
    return tried, ""


def _disabled(request: HttpRequest) -> QuerySet[Subscription]:
    with every_shop():
        return service.told_in(in_shop(request).shop).filter(state=Subscription.State.DISABLED)


home.add_task(
    home.Task(
        gettext_lazy("Disabled webhooks"),
        gettext_lazy("their apps are not told any more"),
        Subscription,
        "state__exact=disabled",
        _disabled,
        order=85,
    )
)
