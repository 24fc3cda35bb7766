from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, TypeVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.audit_log.admin.act_list import ActChangeList
from apps.core.admin.display.acts import DescribedAct, describe_acts, describe_events, shorten
from apps.core.admin.display.changes import ChangeLine
from apps.core.admin.display.subjects import get_subjects, subject_names
from apps.core.admin.lists.filters import PERIODS, Choices, PeriodFilter, Screen, SelectFilter, get_start_of_today
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.admin.lists.typed_filters import DaysFilter
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.staff_request import StaffRequest
from apps.core.admin.templatetags.messages import fold_long
from apps.core.admin.theme import display
from apps.core.events.acts import SYSTEM, exclude_system
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event, get_topic_label
from apps.core.events.topics import get_all_topics
from apps.core.i18n import formats
from apps.core.tenancy.actor_names import get_actor_name, get_staff_actor
from apps.core.tenancy.models import Installation, Membership
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.core.tenancy.permissions import allow, grants
from apps.core.tenancy.shop_owned import ShopOwned

grants.add(allow("staff_audit_log_view", "v", "events.event"))

M = TypeVar("M", bound=Model)
# The list shows this many changes with values, one per line, and only the labels of the others.
_LISTED_CHANGES = 3
# The maximum number of an act's events on its page.
MAX_SHOWN = 200


class ViewFilter(admin.SimpleListFilter):
    """The views of the audit log. Changes by Backoffice are hidden unless a filter asks for them."""

    title = pgettext_lazy("list", "view")
    parameter_name = "view"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("people", _("Staff and apps")), ("all", _("All, including Backoffice"))]

    def value(self) -> str:
        return "all" if super().value() == "all" or self._shows_backoffice else "people"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._shows_backoffice = request.GET.get(ActorFilter.parameter_name) == SYSTEM
        super().__init__(request, *args, **kwargs)

    def choices(self, changelist: ChangeList) -> Any:
        for value, title in self.lookup_choices:
            yield {"selected": self.value() == value, "display": title}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset if self.value() == "all" else exclude_system(queryset)


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
        # Apps that were uninstalled also have events.
        others = Installation.rows().exclude(app__api_key__startswith=SHOP_APP_PREFIX)
        installations = others.order_by("app__name", "app").values_list("app", "app__name").distinct()
        apps = [(f"app:{pk}", _("{name} (app)").format(name=name)) for pk, name in installations[:200]]
        return [*people, *apps, ("app:", _("Any app")), (SYSTEM, _("Backoffice"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        value = self.value()
        if value == "app:":
            return queryset.filter(actor__startswith=value)
        return queryset.filter(actor=value) if value else queryset


class KindFilter(SelectFilter):
    title = gettext_lazy("type of object")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        registered = [model for model in admin.site._registry if issubclass(model, ShopOwned) and model is not Event]
        models = dict.fromkeys([*registered, *subject_names])
        kinds = [(model._meta.label_lower, capfirst(str(model._meta.verbose_name_plural))) for model in models]
        return sorted(kinds, key=lambda kind: kind[1].casefold())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset.filter(subject_type=self.value()) if self.value() else queryset


class ObjectFilter(SelectFilter):
    """The filter for the events of one object, such as ``orders.order:17``. Pages of events link to it."""

    title = gettext_lazy("object")
    parameter_name = "object"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        value = str(request.GET.get(self.parameter_name, ""))
        event = self._filter(Event.rows(), value).order_by("-id").defer("payload").first() if value else None
        if event is None:
            return [(value, value)] if value else []
        return [(value, get_subjects(request, [event])[event.pk].name)]

    def has_output(self) -> bool:
        return bool(self.value())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return self._filter(queryset, str(self.value())) if self.value() else queryset

    def _filter(self, rows: QuerySet[Event], value: str) -> QuerySet[Event]:
        subject_type, _separator, number = value.partition(":")
        is_id = number.isascii() and number.isdecimal() and len(number) <= 18
        return rows.filter(subject_type=subject_type, subject_id=int(number)) if is_id else rows.none()


class ActPeriodFilter(PeriodFilter):
    """The period filter. It also limits the groups, so that the list does not search older acts for recent events."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        rows = super().queryset(request, queryset)
        value = self.value()
        if value not in PERIODS:
            return rows
        return rows.filter(group__gte=_get_first_group(get_start_of_today() - timedelta(days=int(value))))


class ActDaysFilter(DaysFilter):
    """The filter by days. Like the period filter, it also limits the groups."""

    title = gettext_lazy("date")
    parameter_name = "date"
    field = "created_at"

    def filter_rows(self, rows: QuerySet[M], values: Sequence[date | None]) -> QuerySet[M]:
        rows = super().filter_rows(rows, values)
        since, until = (datetime.combine(day, time(), get_current_timezone()) if day else None for day in values)
        if since:
            rows = rows.filter(group__gte=_get_first_group(since))
        # A group is not newer than its events.
        return rows.filter(group__lt=_build_group(until + timedelta(days=2))) if until else rows


def _get_first_group(since: datetime) -> UUID:
    """Return the lower limit of the groups of events. Jobs end within a day, so groups are not much older."""
    return _build_group(since - timedelta(days=1))


def _build_group(moment: datetime) -> UUID:
    return UUID(int=int(moment.timestamp() * 1000) << 80)


class _LogRequest(StaffRequest):
    described_acts: dict[int, DescribedAct]


@admin.register(Event)
class EventAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Event]):
    """The audit log. Each row is an act: the events of one request, job or command."""

    menu = MenuItem("Activity", "history", 10, gettext_lazy("Audit log"))
    search_terms = pgettext_lazy("search", "audit trail, history, changes, who changed what, security, log, activity")
    intro = gettext_lazy(
        "What staff, apps and Backoffice changed in this shop. Open an entry to see all changes. Entries can't be "
        "edited or deleted."
    )
    empty_text = gettext_lazy("No changes.")
    mobile_hide_labels = ("when", "actor", "description", "subject", "changed")
    list_filter = (ViewFilter, ActorFilter, KindFilter, ObjectFilter, TopicFilter, ActPeriodFilter, ActDaysFilter)
    search_fields = ("subject_label__icontains",)
    is_in_palette = False
    search_help_text = gettext_lazy("Object, such as #1001")
    ordering = ("-id",)
    list_filter_submit = True
    actions = None
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("payload")

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ActChangeList]:
        return ActChangeList

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        page = super().get_changelist_instance(request)
        described = describe_acts(request, cast("ActChangeList", page).acts)
        cast("_LogRequest", request).described_acts = {act.lead.event.pk: act for act in described}
        return page

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        def get_act(event: Event) -> DescribedAct:
            return cast("_LogRequest", request).described_acts[event.pk]

        @display(description=_("Date"))
        def when(event: Event) -> datetime:
            return event.created_at

        @display(description=_("Done by"))
        def actor(event: Event) -> str:
            return get_act(event).lead.actor_name

        @display(description=_("Event"))
        def description(event: Event) -> str | SafeString:
            act = get_act(event)
            if not act.more:
                return act.lead.text
            return format_html('{} <span class="bo-subtle bo-small">+ {}</span>', act.lead.text, act.more)

        @display(description=_("Object"))
        def subject(event: Event) -> str | SafeString:
            found = get_act(event).lead.subject
            name = shorten(found.name)
            return format_html('<a href="{}">{}</a>', found.url, name) if found.url else name

        @display(description=_("Changes"))
        def changed(event: Event) -> str | SafeString:
            return _format_changes(get_act(event).lead.visible_changes) or "–"

        return when, actor, description, subject, changed

    @row_view("change/", "events.view_event", name="change")
    def detail_view(self, request: HttpRequest, event: Event) -> HttpResponse:
        """Show an event and the other events of its act."""
        of_act = Event.rows().filter(group=event.group).order_by("id").defer("payload")
        others = list(of_act.exclude(pk=event.pk)[: MAX_SHOWN + 1])
        described, *described_others = describe_events(request, [event, *others[:MAX_SHOWN]])
        return self.page(
            request,
            "panel/event.html",
            describe_event(event),
            original=event,
            who=get_actor_name(event.actor),
            changes=described.changes,
            subject=described.subject,
            object_filter=f"{event.subject_type}:{event.subject_id}",
            others=described_others,
            unshown=formats.format_integer(MAX_SHOWN) if len(others) > MAX_SHOWN else "",
        )


def _format_changes(changes: Sequence[ChangeLine]) -> SafeString:
    lines = [_format_change(change) for change in changes[:_LISTED_CHANGES]]
    if others := changes[_LISTED_CHANGES:]:
        lines.append(", ".join(change.name for change in others))
    return format_html_join("\n", "{}", ((line,) for line in lines))


def _format_change(change: ChangeLine) -> str:
    if change.note:
        return format_html("{}: {}", change.name, change.note)
    before, after = fold_long(change.before), fold_long(change.after) or "–"
    return format_html("{}: {} → {}" if before else "{}: {}{}", change.name, before, after)


def _today(request: HttpRequest) -> dashboard.Figure:
    rows = exclude_system(Event.rows().filter(created_at__gte=get_start_of_today()))
    counted = rows.order_by("-created_at", "-id").values("group")[:MAX_COUNTED_ROWS]
    number = counted.aggregate(number=Count("group", distinct=True))["number"]
    return dashboard.Figure(formats.format_integer(number), _("changes by staff and apps today"))


dashboard.cards.add(
    dashboard.Card(gettext_lazy("Activity"), "history", "events.view_event", Event, _today, order=90, query="period=0")
)
