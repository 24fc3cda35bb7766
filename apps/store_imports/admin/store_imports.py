"""Panel pages that move a store here: connect to the store, choose what to bring, and follow the import."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages.first_steps import FirstStep, first_steps
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import translate
from apps.core.jobs.metrics import find_active_job, find_stall
from apps.core.jobs.models import Job
from apps.core.types import Attrs
from apps.imports_exports.admin.csv_response import create_csv_response
from apps.store_imports.admin import report
from apps.store_imports.admin.forms import ConnectionForm
from apps.store_imports.domain import background_runs, connections
from apps.store_imports.domain.errors import StoreImportEnded
from apps.store_imports.domain.progress import describe_remaining, estimate_remaining
from apps.store_imports.domain.selection import GROUPS, find_missing_references, get_stream_label, select_streams
from apps.store_imports.models import ImportProblem, StoreConnection, StoreImport

VIEW, ADD = "store_imports.view_storeimport", "store_imports.add_storeimport"
_State = StoreConnection.State
_LABELS = {"ready": "info", "running": "warning", "paused": "default", "failed": "danger", "done": "success"}


@admin.register(StoreImport)
class StoreImportAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[StoreImport]):
    """Admin for imports of whole stores, which background jobs run."""

    menu = MenuItem("Settings", "add_business", 90, gettext_lazy("Move a store here"))
    search_terms = pgettext_lazy(
        "search", "migrate, migration, import a store, switch platform, shopify, transfer shop, copy store"
    )
    intro = gettext_lazy(
        "Bring over the products, customers, orders and pages of another store. The store is only read, and stays open."
    )
    empty_text = gettext_lazy("No store has been moved here yet. To start, choose Connect a store…")
    list_display = ("source_url", "status", "created_at", "finished_at")
    list_before_template = "panel/store_imports/list_header.html"
    list_notice_template = "panel/list_workers.html"
    ordering = ("-id",)
    is_in_palette = False
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoreImport]:
        return super().get_queryset(request).select_related("connection")

    @display(description=gettext_lazy("Status"), label=_LABELS)
    def status(self, store_import: StoreImport) -> tuple[str, str]:
        row = _find_connection(store_import) or store_import
        return row.state, row.get_state_display()

    @extra_view("connect/", ADD)
    def connect_view(self, request: HttpRequest) -> HttpResponse:
        """Check the address and the token of a store, and save the connection.

        The form has no key, because the check takes seconds and must not run in a transaction. A second submission
        saves the same connection.
        """
        # Error reports must not contain the token.
        request.sensitive_post_parameters = ["token"]  # type: ignore[attr-defined]
        form = ConnectionForm(get_post_data(request), initial=_get_initial(request))
        if request.method == "POST" and form.is_valid():
            platform = form.cleaned_data["platform"]
            try:
                store = connections.check_connection(**form.cleaned_data)
                connection = connections.save_connection(store, platform=platform, at=timezone.now())
            except DomainError as error:
                form.add_error(None, format_errors(error))
            else:
                return HttpResponseRedirect(self.url("change", connection.store_import_id))
        scopes = [scope for group in GROUPS for scope in group.scopes]
        title = _("Connect a store")
        response = self.page(request, "panel/store_imports/connect.html", title, form=form, scopes=scopes)
        add_never_cache_headers(response)
        return response

    @row_view("change/", VIEW, name="change")
    def detail_view(self, request: HttpRequest, store_import: StoreImport) -> HttpResponse:
        """Show what to bring, the progress, or the report of an import."""
        connection = _find_connection(store_import)
        rows = report.list_streams(request, store_import, connection.streams if connection else ())
        states = [row.state for row in rows if row.state is not None]
        problems = report.get_problems(request, store_import)
        state = connection.state if connection else store_import.state
        if state == _State.DONE:
            rows = report.select_imported(rows, store_import)
        context: Attrs = {
            "original": store_import,
            "connection": connection,
            "state": state,
            "streams": rows,
            "has_begun": bool(states),
            "problems": list(report.build_problem_rows(list(problems[: report.MAX_SHOWN_PROBLEMS]))),
            "problem_count": problems.count(),
            "failed": ImportProblem.objects.filter(store_import=store_import, is_failure=True).count(),
            "notes": problems.filter(is_failure=False).count(),
            "may_start": has_permission(request, ADD) and store_import.ended_at is None,
            "ended": store_import.ended_at and StoreImportEnded(store_import.ended_at).sentence,
            "settings": report.list_settings(connection.settings) if connection else [],
        }
        if connection is not None:
            context |= self._get_run_context(request, connection)
        if connection is not None and connection.state == _State.RUNNING:
            context["remaining"] = describe_remaining(estimate_remaining(states))
        return self.page(request, "panel/store_imports/store_import.html", store_import.source_url, **context)

    def _get_run_context(self, request: HttpRequest, connection: StoreConnection) -> Attrs:
        if connection.state == _State.RUNNING:
            job = find_active_job(background_runs.RUN_TASK, import_id=connection.store_import_id, run=connection.run)
            is_retried = job is not None and job.state == Job.State.WAITING and bool(job.error)
            return {
                "job": job,
                "waits": find_stall(job),
                "retry_error": translate(job.error) if job is not None and is_retried else "",
            }
        has_token = bool(connection.token)
        has_ended = connection.store_import.ended_at is not None
        is_choosable = connection.state == _State.READY and has_token and not has_ended
        missing = find_missing_references(select_streams(connection.streams)) if connection.streams else ()
        return {
            "has_token": has_token,
            "groups": report.list_groups(request, connection) if is_choosable else [],
            "missing_references": [
                (get_stream_label(reference.stream), get_stream_label(reference.needed)) for reference in missing
            ],
        }

    @row_view("start/", ADD, post_only=True, keyed=True)
    def start_view(self, request: HttpRequest, store_import: StoreImport) -> HttpResponse:
        """Start an import with the chosen groups, or continue it with the streams of the last start."""
        connection = _find_connection(store_import)
        allowed = {name for group in report.get_allowed_groups(request) for name in group.streams}
        if connection is not None:
            wanted = _get_wanted_streams(request, connection)
            try:
                background_runs.start_run(
                    connection, streams=[name for name in wanted if name in allowed], **self.event_kwargs(request)
                )
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
            else:
                text = _("The import has started. You can leave this page, the import continues.")
                self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", store_import.pk))

    @row_view("pause/", ADD, post_only=True, keyed=True)
    def pause_view(self, request: HttpRequest, store_import: StoreImport) -> HttpResponse:
        """Pause an import, or stop it by deleting the token as well."""
        connection, stops = _find_connection(store_import), "stop" in request.POST
        if connection is not None and background_runs.pause_run(
            connection, deletes_token=stops, **self.event_kwargs(request)
        ):
            text = (
                _("The import was stopped, and the token was deleted.")
                if stops
                else _("The import was paused. It ends after the current page.")
            )
            self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", store_import.pk))

    @row_view("problems/", VIEW)
    def problems_view(self, request: HttpRequest, store_import: StoreImport) -> FileResponse:
        """Return a CSV file with all objects that were not imported, or not completely."""
        problems = report.get_problems(request, store_import)
        rows = (
            {
                "objects": row.stream,
                "source_id": row.source_id,
                "result": "not imported" if row.is_failure else "imported with a note",
                "reason": row.reason,
                "id": row.target_id,
            }
            for row in report.iterate_problem_rows(problems)
        )
        columns = ("objects", "source_id", "result", "reason", "id")
        return create_csv_response(f"store-import-{store_import.pk}.csv", columns, rows)


def _find_connection(store_import: StoreImport) -> StoreConnection | None:
    return StoreConnection.rows().filter(store_import=store_import).select_related("store_import").first()


def _get_initial(request: HttpRequest) -> Attrs:
    """Return the address and platform of the import that the user wants to continue."""
    number = request.GET.get("import", "")
    rows = StoreConnection.rows().select_related("store_import")
    is_id = number.isascii() and number.isdecimal() and len(number) <= 18
    connection = rows.filter(store_import_id=int(number)).first() if is_id else None
    if connection is None:
        return {}
    return {"address": connection.store_import.source_url, "platform": connection.platform}


def _get_wanted_streams(request: HttpRequest, connection: StoreConnection) -> Sequence[str]:
    if "continue" in request.POST:
        return connection.streams
    chosen = request.POST.getlist("group")
    return [name for group in GROUPS if group.name in chosen for name in group.streams]


first_steps.add(
    FirstStep(
        "store_imports_storeimport_connect",
        gettext_lazy("Move a store here"),
        gettext_lazy(
            "Bring over products, customers and orders from a store on another platform. The store stays open."
        ),
        "add_business",
        ADD,
        StoreImport.rows,
        order=30,
    )
)
