"""Panel pages for creating exports and downloading their files."""

from datetime import timedelta

from django.contrib import admin, messages
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.audit_log.admin.audit_log import ActorFilter, TopicFilter
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.lists.filters import PERIODS, get_start_of_today
from apps.core.admin.lists.selection import InvalidSelection, get_change_list, get_listed_ids, get_selected_ids
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.model_admin.registry import ListAction, list_actions, list_headers
from apps.core.admin.permissions import MissingPermission, has_permission, require_permission
from apps.core.admin.staff_request import as_staff_request
from apps.core.admin.theme import attribute_column, display
from apps.core.events.models import Event
from apps.core.jobs.metrics import find_stall
from apps.core.tenancy.models import User
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.imports_exports.admin.form_summary import summarize_export
from apps.imports_exports.admin.forms import AuditExportForm, ExportForm, ListExportForm, MatchingRows
from apps.imports_exports.domain import exports
from apps.imports_exports.domain.resources import get_exporters, get_offered_exporters, resources
from apps.imports_exports.models import Export, Format
from apps.imports_exports.resources import RESOURCES
from apps.imports_exports.resources.audit_log import AUDIT_LOG

VIEW_EXPORT = "imports_exports.view_export"
# Query parameter with the filters and search of the list to export.
LIST_VAR = "list"


@admin.action(description=gettext_lazy("Export"))
def export_selected(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Create an export of the selected rows and redirect to the export's page."""
    try:
        ids = get_selected_ids(request, queryset, limit=exports.MAX_SELECTED)
    except InvalidSelection as error:
        screen.message_user(request, format_errors(error), messages.ERROR)
        return None
    [kind] = (name for name, exporter in get_offered_exporters().items() if exporter.model is screen.model)
    export = exports.create_export(
        kind=kind,
        format=Format.CSV,
        filters={"ids": ids},
        user=_get_user(request),
        **screen.event_kwargs(request),
    )
    return HttpResponseRedirect(reverse("admin:imports_exports_export_change", args=[export.pk]))


for kind in RESOURCES:
    # Skip the audit log, which has a separate export form, and documents, which are created on other pages.
    if kind.exporter is not None and kind.exporter.document is None and kind is not AUDIT_LOG:
        list_actions.add(ListAction(kind.exporter.model, export_selected, kind.exporter.permission))
        template = f"panel/imports_exports/list_header_{kind.name}.html"
        list_headers.register((kind.exporter.model, "exports"), template)
list_headers.register((Event, "exports"), "panel/imports_exports/audit_export.html")


@admin.register(Export)
class ExportAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Export]):
    """Admin for a staff member's own exports. The files expire after two days."""

    menu = MenuItem("Settings", "download", 60, gettext_lazy("Exports"))
    search_terms = pgettext_lazy(
        "search", "csv, excel, download, spreadsheet, backup, export products, export customers, export orders"
    )
    intro = gettext_lazy("Only you can download your export files. The files are deleted after two days.")
    empty_text = gettext_lazy("No exports yet.")
    list_display = ("resource_label", "format", "status", "row_count", "created_at", "expires_at", "download")
    list_before_template = "panel/imports_exports/exports.html"
    list_notice_template = "panel/list_workers.html"
    ordering = ("-id",)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        return super().get_queryset(request).filter(user=as_staff_request(request).user)

    resource_label = attribute_column("kind_label", gettext_lazy("Resource"), ordering="kind")

    @display(
        description=gettext_lazy("Status"),
        label={"ready": "success", "waiting": "info", "failed": "danger", "expired": "default"},
    )
    def status(self, export: Export) -> tuple[str, str]:
        return export.state, export.get_state_display()

    @display(description=gettext_lazy("File"))
    def download(self, export: Export) -> str:
        """Return a link to the file. The list only contains exports of the user."""
        if not export.is_downloadable_by(export.user_id, timezone.now()):
            return "–"
        url = self.url("file", export.pk, export.key)
        return format_html('<a href="{}">{}<span class="bo-hidden"> {}</span></a>', url, _("Download"), export)

    def changelist_view(self, request: HttpRequest, extra_context: Attrs | None = None) -> HttpResponse:
        context = {**(extra_context or {}), "may_export": bool(_get_allowed_resources(request))}
        return super().changelist_view(request, context)

    @row_view("change/", VIEW_EXPORT, name="change")
    def detail_view(self, request: HttpRequest, export: Export) -> HttpResponse:
        ready = export.is_downloadable_by(int(request.user.pk or 0), timezone.now())
        link = self.url("file", export.pk, export.key) if ready else ""
        job = exports.get_export_job(export) if export.state == Export.State.WAITING else None
        context = {"original": export, "link": link, "job": job, "waits": find_stall(job)}
        return self.page(request, "panel/imports_exports/export.html", f"{export}", **context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Attrs | None = None) -> HttpResponse:
        require_permission(request, VIEW_EXPORT)
        return super().history_view(request, object_id, extra_context)

    @extra_view("new/")
    def new_view(self, request: HttpRequest) -> HttpResponseBase:
        """Show the form to choose what to export. On POST, create the export, or only describe the input."""
        form = self._create_form(request)
        summary = summarize_export(form, _get_user(request))
        if request.method == "POST" and request.POST.get("step") != "summary" and form.is_valid():
            return submit_once_or_redirect(request, lambda: self._create_export(request, form), keyed=True)
        return self.page(request, "panel/imports_exports/new_export.html", str(form.title), form=form, summary=summary)

    def _create_export(
        self, request: HttpRequest, form: ExportForm | ListExportForm | AuditExportForm
    ) -> HttpResponseRedirect:
        export = exports.create_export(**form.export_options, user=_get_user(request), **self.event_kwargs(request))
        return HttpResponseRedirect(self.url("change", export.pk))

    def _create_form(self, request: HttpRequest) -> ExportForm | ListExportForm | AuditExportForm:
        """Return the export form. The audit log and filtered lists have their own forms."""
        needed = {name: exporter.permission for name, exporter in get_offered_exporters().items()}
        allowed = _get_allowed_resources(request)
        if not allowed:
            raise MissingPermission(*needed.values())
        selected = request.GET.get("kind", allowed[0])
        if selected == AUDIT_LOG.name or allowed == [AUDIT_LOG.name]:
            require_permission(request, needed[AUDIT_LOG.name])
            topics, people = (kind(request, {}, Event, self).lookup_choices for kind in (TopicFilter, ActorFilter))
            initial = _get_initial_filters(request)
            return AuditExportForm(get_post_data(request), topics=topics, people=people, initial=initial)
        if LIST_VAR in request.GET and selected in allowed:
            matching = _get_matching_rows(request, get_exporters()[selected].model)
            return ListExportForm(get_post_data(request), kind=resources[selected], matching=matching)
        is_fixed = "kind" in request.GET and selected in allowed
        names = [selected] if is_fixed else [name for name in allowed if name != AUDIT_LOG.name]
        kinds = [(name, resources[name].label) for name in names]
        initial = {"kind": selected, "status": request.GET.get("status", "")}
        return ExportForm(get_post_data(request), kinds=kinds, initial=initial, is_fixed=is_fixed)

    @row_view("file/<str:key>/", VIEW_EXPORT)
    def file_view(self, request: HttpRequest, export: Export, key: str) -> HttpResponse | FileResponse:
        """Return the file to the user who created the export, if the user still has the permission to export."""
        require_permission(request, get_exporters()[export.kind].permission)
        if export.key != key or not export.is_downloadable_by(int(request.user.pk or 0), timezone.now()):
            raise Http404(_("This export is no longer available"))
        name = f"{export.kind}-{timezone.localtime(export.created_at):%Y-%m-%d}.{export.format}"
        response = FileResponse(default_storage.open(export.path), as_attachment=True, filename=name)
        add_never_cache_headers(response)
        return response


def _get_allowed_resources(request: HttpRequest) -> list[str]:
    return [name for name, exporter in get_offered_exporters().items() if has_permission(request, exporter.permission)]


def _get_initial_filters(request: HttpRequest) -> Attrs:
    """Return the current filters of the audit log as initial values of the export form."""
    period = request.GET.get("period", "")
    since = (get_start_of_today() - timedelta(days=int(period))).date() if period in PERIODS else None
    days = {"since": request.GET.get("date_from") or since, "until": request.GET.get("date_to")}
    return {**request.GET.dict(), **days}


def _get_matching_rows(request: HttpRequest, model: type[ShopOwned]) -> MatchingRows:
    screen = admin.site.get_model_admin(model)
    assert isinstance(screen, ShopOwnedAdmin)
    if not screen.has_view_or_change_permission(request):
        raise MissingPermission(f"{model._meta.app_label}.view_{model._meta.model_name}")
    rows_of_list = get_change_list(screen, request, request.GET[LIST_VAR])
    try:
        return MatchingRows(get_listed_ids(rows_of_list, limit=exports.MAX_SELECTED), rows_of_list.filter_texts)
    except InvalidSelection as error:
        return MatchingRows([], rows_of_list.filter_texts, format_errors(error))


def _get_user(request: HttpRequest) -> User:
    # The panel requires a login.
    assert isinstance(request.user, User)
    return request.user
