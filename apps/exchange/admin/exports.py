"""Exports in the panel: ask for a file, and fetch it."""

from datetime import timedelta

from django.contrib import admin, messages
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.events.admin.audit_log import ActorFilter, TopicFilter
from apps.events.models import Event
from apps.exchange.admin.forms import AuditExportForm, ExportForm, ListExportForm, Matching
from apps.exchange.domain import exports
from apps.exchange.domain.kinds import exporters, named, offered
from apps.exchange.kinds import KINDS
from apps.exchange.kinds.audit_log import AUDIT_LOG
from apps.exchange.models import Export, Format
from apps.ground.attrs import Attrs
from apps.ground.rows import ShopOwned
from apps.jobs.domain.waiting import waits_since
from apps.panel.access import MissingPermission, may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.requests import in_shop
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.screens.choosing import RowsRefused, chosen_ids, list_at, listed_ids
from apps.panel.screens.extensions import add_action, add_list_header
from apps.panel.screens.filters import PERIODS, midnight
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.staff.models import User

VIEW_EXPORT = "exchange.view_export"
# The address of the page that asks for a file says so which list one comes from.
LIST_VAR = "list"


@admin.action(description=gettext_lazy("Export the chosen"))
def export_chosen(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Ask for a file of the chosen rows, and lead to it."""
    try:
        ids = chosen_ids(request, queryset, most=exports.MOST)
    except RowsRefused as refusal:
        screen.message_user(request, in_words(refusal), messages.ERROR)
        return None
    [kind] = (name for name, exporter in offered().items() if exporter.model is screen.model)
    export = exports.start(
        kind=kind,
        format=Format.CSV,
        filters={"ids": ids},
        user=_person(request),
        actor=screen.actor(request),
        at=timezone.now(),
    )
    return HttpResponseRedirect(reverse("admin:exchange_export_change", args=[export.pk]))


for kind in KINDS:
    # The audit log is narrowed by a form of its own, and a document is asked for where it belongs.
    if kind.exporter is not None and kind.exporter.document is None and kind is not AUDIT_LOG:
        add_action(kind.exporter.model, export_chosen, permission=kind.exporter.permission)
        add_list_header(kind.exporter.model, f"panel/exchange/above_{kind.name}.html")
add_list_header(Event, "panel/exchange/audit_export.html")


@admin.register(Export)
class ExportAdmin(ReadOnly, ShopOwnedAdmin[Export]):
    """A person's own exports: made by a worker, there for two days."""

    menu = Menu(
        "Sales",
        "download",
        60,
        gettext_lazy("Exports"),
        words=pgettext_lazy(
            "search", "csv, excel, download, spreadsheet, backup, export products, export customers, export orders"
        ),
    )
    intro = gettext_lazy("Files that you asked for. Only you can fetch them, for two days.")
    empty_text = gettext_lazy("You have no export yet.")
    list_display = ("what", "format", "status", "row_count", "created_at", "expires_at")
    list_before_template = "panel/exchange/exports.html"
    ordering = ("-id",)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        """The person's own."""
        return super().get_queryset(request).filter(user=in_shop(request).user)

    @display(description=gettext_lazy("Kind"), ordering="kind")
    def what(self, export: Export) -> str:
        """What it holds."""
        return export.kind_label

    @display(
        description=gettext_lazy("State"),
        label={"ready": "success", "waiting": "info", "failed": "danger", "expired": "default"},
    )
    def status(self, export: Export) -> tuple[str, str]:
        """Where it stands."""
        return export.state, export.get_state_display()

    def changelist_view(self, request: HttpRequest, extra_context: Attrs | None = None) -> HttpResponse:
        """With the way to a new one, for those who may take something out."""
        return super().changelist_view(request, {**(extra_context or {}), "may_export": bool(_allowed(request))})

    def get_urls(self) -> list[URLPattern]:
        """Asking for a file and fetching it."""
        return [
            self.action_url("new/", self.new_view, "new", keyed=True),
            self.action_url("<path:object_id>/file/<str:key>/", self.file_view, "file"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Attrs | None = None
    ) -> HttpResponse:
        """How far a file is, and the way to it."""
        require(request, VIEW_EXPORT)
        export: Export = self.row_or_404(request, object_id)
        ready = export.is_open_to(int(request.user.pk or 0), timezone.now())
        link = self.url("file", export.pk, export.key) if ready else ""
        job = exports.job_of(export) if export.state == Export.State.WAITING else None
        shown = {"original": export, "link": link, "job": job, "waits": waits_since(job)}
        return self.page(request, "panel/exchange/export.html", f"{export}", **shown)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Attrs | None = None) -> HttpResponse:
        """What happened to it, for who may export at all."""
        require(request, VIEW_EXPORT)
        return super().history_view(request, object_id, extra_context)

    def new_view(self, request: HttpRequest) -> HttpResponse:
        """Choose what goes out."""
        form = self._form(request)
        if request.method == "POST" and form.is_valid():
            export = exports.start(**form.chosen, user=_person(request), actor=self.actor(request), at=timezone.now())
            return HttpResponseRedirect(self.url("change", export.pk))
        title = _("Export the audit log") if isinstance(form, AuditExportForm) else _("Export")
        context = {"form": form, "button": _("Make the file")}
        return self.page(request, "panel/orders/form.html", title, **context)

    def _form(self, request: HttpRequest) -> ExportForm | ListExportForm | AuditExportForm:
        """The form for what is to go out; the audit log has one of its own, and a list that something narrows."""
        needed = {name: exporter.permission for name, exporter in offered().items()}
        allowed = _allowed(request)
        if not allowed:
            raise MissingPermission(*needed.values())
        asked = request.GET.get("kind", allowed[0])
        if asked == AUDIT_LOG.name or allowed == [AUDIT_LOG.name]:
            require(request, needed[AUDIT_LOG.name])
            topics, people = (kind(request, {}, Event, self).lookup_choices for kind in (TopicFilter, ActorFilter))
            return AuditExportForm(posted(request), topics=topics, people=people, initial=_as_listed(request))
        if LIST_VAR in request.GET and asked in allowed:
            return ListExportForm(
                posted(request), kind=named(asked), matching=_matching(request, exporters()[asked].model)
            )
        kinds = [(name, named(name).label) for name in allowed if name != AUDIT_LOG.name]
        initial = {"kind": asked, "status": request.GET.get("status", "")}
        return ExportForm(posted(request), kinds=kinds, initial=initial)

    def file_view(self, request: HttpRequest, object_id: str, key: str) -> HttpResponse | FileResponse:
        """The file, for the person who asked for it and still may."""
        require(request, VIEW_EXPORT)
        export: Export = self.row_or_404(request, object_id)
        require(request, exporters()[export.kind].permission)
        if export.key != key or not export.is_open_to(int(request.user.pk or 0), timezone.now()):
            raise Http404(_("The export is no longer there"))
        name = f"{export.kind}-{timezone.localtime(export.created_at):%Y-%m-%d}.{export.format}"
        response = FileResponse(default_storage.open(export.place), as_attachment=True, filename=name)
        add_never_cache_headers(response)
        return response


def _allowed(request: HttpRequest) -> list[str]:
    """What the person may take out."""
    return [name for name, exporter in offered().items() if may(request, exporter.permission)]


def _as_listed(request: HttpRequest) -> Attrs:
    """The form's values that narrow the file like the list one comes from."""
    period = request.GET.get("period", "")
    since = (midnight() - timedelta(days=int(period))).date() if period in PERIODS else None
    return {**request.GET.dict(), "since": since}


def _matching(request: HttpRequest, model: type[ShopOwned]) -> Matching:
    """What the list shows that a person comes from, as its address narrows it."""
    screen = admin.site.get_model_admin(model)
    assert isinstance(screen, ShopOwnedAdmin)
    if not screen.has_view_or_change_permission(request):
        raise MissingPermission(f"{model._meta.app_label}.view_{model._meta.model_name}")
    listed = list_at(screen, request, request.GET[LIST_VAR])
    try:
        return Matching(listed_ids(listed, most=exports.MOST), listed.narrowed_by)
    except RowsRefused as refusal:
        return Matching([], listed.narrowed_by, in_words(refusal))


def _person(request: HttpRequest) -> User:
    """Who is asking; nobody gets here without a login."""
    assert isinstance(request.user, User)
    return request.user
