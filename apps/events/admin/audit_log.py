"""The audit log: what happened in the shop, who did it, when. It can only be read."""

from datetime import datetime
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.events.domain import topics
from apps.events.domain.wording import label_of, sentence
from apps.events.models import Event
from apps.ground.retelling import renamed
from apps.panel import home, told
from apps.panel.access import require
from apps.panel.menu import Menu
from apps.panel.requests import Context, StaffRequest
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.screens.filters import Choices, PeriodFilter, Screen, SelectFilter, midnight
from apps.panel.screens.searching import is_from_anywhere
from apps.panel.theme import display
from apps.staff.domain.actors import actor_of, name_of, names_of
from apps.staff.domain.permissions import grant
from apps.staff.models import Membership

grant("staff_audit_log_view", "v", "events.event")


class TopicFilter(SelectFilter):
    """By what happened."""

    title = gettext_lazy("what happened")
    parameter_name = "topic"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """Every topic that can happen."""
        return [(topic.name, label_of(topic.name)) for topic in topics.all_topics()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Only the chosen topic."""
        return queryset.filter(topic=self.value()) if self.value() else queryset


class ActorFilter(SelectFilter):
    """By who did it."""

    title = gettext_lazy("who")
    parameter_name = "who"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The shop's staff, and the kinds of others."""
        members = Membership.rows().select_related("user").order_by("user__first_name", "user__email")[:200]
        people = [(actor_of(member.user), str(member.user)) for member in members]
        return [*people, ("app:", _("Any app")), ("system", _("Backoffice"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Only this actor's."""
        value = self.value()
        if value == "app:":
            return queryset.filter(actor__startswith=value)
        return queryset.filter(actor=value) if value else queryset


class _LogRequest(StaffRequest):
    """A request for a page of the list, which shows the names of its actors."""

    actor_names: dict[str, str]


@admin.register(Event)
class EventAdmin(ReadOnly, ShopOwnedAdmin[Event]):
    """The events of the shop as its audit log."""

    menu = Menu(
        "Activity",
        "history",
        10,
        gettext_lazy("Audit log"),
        words=pgettext_lazy("search", "audit trail, history, changes, who changed what, security, log, activity"),
    )
    intro = gettext_lazy(
        "Everything that staff, apps and Backoffice itself changed in this shop. Entries cannot be edited or removed."
    )
    empty_text = gettext_lazy("Nothing has happened here yet.")
    list_self_evident = ("when", "who", "what", "about")
    list_filter = (TopicFilter, ActorFilter, PeriodFilter)
    search_fields = ("subject_label__icontains",)
    place_in_search = 90
    search_help_text = gettext_lazy("Search by what it was about, e.g. an order's name")
    ordering = ("-id",)
    list_filter_submit = True
    actions = None
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Without the payloads, which nobody reads here."""
        return super().get_queryset(request).defer("payload")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """The log has a search of its own; the panel-wide one would find every change of everything."""
        if is_from_anywhere(request):
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """The page, with the names of its actors looked up at once."""
        page = super().get_changelist_instance(request)
        cast("_LogRequest", request).actor_names = names_of([event.actor for event in page.result_list])
        return page

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """The columns."""

        @display(description=_("When"))
        def when(event: Event) -> datetime:
            return event.created_at

        @display(description=_("Who"))
        def who(event: Event) -> str:
            return cast("_LogRequest", request).actor_names[event.actor]

        @display(description=_("What"))
        def what(event: Event) -> str:
            return sentence(event)

        @display(description=_("About"))
        def about(event: Event) -> str:
            return renamed(event.subject_label) or f"#{event.subject_id}"

        @display(description=_("Changed"))
        def changed(event: Event) -> str:
            return ", ".join(told.names_of_changes(event.subject_type, event.changes)) or "–"

        return when, who, what, about, changed

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """One entry: the fields before and after, where it came from."""
        require(request, "events.view_event")
        event = self.row_or_404(request, object_id)
        return self.page(
            request,
            "panel/event.html",
            sentence(event),
            original=event,
            who=name_of(event.actor),
            changes=_told(event),
        )


def _told(event: Event) -> list[tuple[str, str, str]]:
    """What changed: each field with its value before and after, as staff read them."""
    models = told.models_of(event.subject_type)
    changes = ((name, *_pair(change)) for name, change in sorted(event.changes.items()))
    return [
        (told.name_of(name, models), told.value_of(name, before, models), told.value_of(name, after, models))
        for name, before, after in changes
    ]


def _pair(change: object) -> tuple[object, object]:
    return (change[0], change[1]) if isinstance(change, list) and len(change) == 2 else (None, change)


def _today(request: HttpRequest) -> home.Figure:
    return home.Figure(home.counted(Event.rows().filter(created_at__gte=midnight())), _("changes today"))


home.add_card(
    home.Card(gettext_lazy("Activity"), "history", "events.view_event", Event, _today, order=90, query="period=0")
)
