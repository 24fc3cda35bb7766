from datetime import datetime
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.display import fields
from apps.core.admin.lists.filters import Choices, PeriodFilter, Screen, SelectFilter, get_start_of_today
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.staff_request import StaffRequest
from apps.core.admin.theme import display
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event, get_topic_label
from apps.core.events.topics import get_all_topics
from apps.core.tenancy.actor_names import get_actor_name, get_actor_names, get_staff_actor
from apps.core.tenancy.models import Membership
from apps.core.tenancy.permissions import allow, grants

grants.add(allow("staff_audit_log_view", "v", "events.event"))


class TopicFilter(SelectFilter):
    title = gettext_lazy("event")
    parameter_name = "topic"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(topic.name, get_topic_label(topic.name)) for topic in get_all_topics()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset.filter(topic=self.value()) if self.value() else queryset


class ActorFilter(SelectFilter):
    title = gettext_lazy("done by")
    parameter_name = "who"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        members = Membership.rows().select_related("user").order_by("user__first_name", "user__email")[:200]
        people = [(get_staff_actor(member.user), str(member.user)) for member in members]
        return [*people, ("app:", _("Any app")), ("system", _("Backoffice"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        value = self.value()
        if value == "app:":
            return queryset.filter(actor__startswith=value)
        return queryset.filter(actor=value) if value else queryset


class _LogRequest(StaffRequest):
    actor_names: dict[str, str]


@admin.register(Event)
class EventAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Event]):
    menu = MenuItem("Activity", "history", 10, gettext_lazy("Audit log"))
    search_terms = pgettext_lazy("search", "audit trail, history, changes, who changed what, security, log, activity")
    intro = gettext_lazy("All changes in this shop by staff, apps and Backoffice. Entries can't be edited or deleted.")
    empty_text = gettext_lazy("No changes yet.")
    mobile_hide_labels = ("when", "actor", "description", "subject")
    list_filter = (TopicFilter, ActorFilter, PeriodFilter)
    search_fields = ("subject_label__icontains",)
    is_in_palette = False
    search_help_text = gettext_lazy("Object, such as #1001")
    ordering = ("-id",)
    list_filter_submit = True
    actions = None
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("payload")

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        page = super().get_changelist_instance(request)
        cast("_LogRequest", request).actor_names = get_actor_names([event.actor for event in page.result_list])
        return page

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        @display(description=_("Date"))
        def when(event: Event) -> datetime:
            return event.created_at

        @display(description=_("Done by"))
        def actor(event: Event) -> str:
            return cast("_LogRequest", request).actor_names[event.actor]

        @display(description=_("Event"))
        def description(event: Event) -> str:
            return describe_event(event)

        @display(description=_("Object"))
        def subject(event: Event) -> str:
            return event.label or f"#{event.subject_id}"

        @display(description=_("Changes"))
        def changed(event: Event) -> str:
            return ", ".join(fields.get_changed_field_labels(event.subject_type, event.changes)) or "–"

        return when, actor, description, subject, changed

    @row_view("change/", "events.view_event", name="change")
    def detail_view(self, request: HttpRequest, event: Event) -> HttpResponse:
        return self.page(
            request,
            "panel/event.html",
            describe_event(event),
            original=event,
            who=get_actor_name(event.actor),
            changes=_format_changes(event),
        )


def _format_changes(event: Event) -> list[tuple[str, str, str]]:
    models = fields.get_subject_models(event.subject_type)
    rows = []
    for name, change in sorted(event.changes.items()):
        values = change if isinstance(change, list) and len(change) == 2 else [None, change]
        before, after = (fields.format_field_value(name, value, models) for value in values)
        rows.append((fields.get_field_label(name, models), before, after))
    return rows


def _today(request: HttpRequest) -> dashboard.Figure:
    return dashboard.Figure(
        dashboard.format_capped_count(Event.rows().filter(created_at__gte=get_start_of_today())), _("changes today")
    )


dashboard.cards.add(
    dashboard.Card(gettext_lazy("Activity"), "history", "events.view_event", Event, _today, order=90, query="period=0")
)
