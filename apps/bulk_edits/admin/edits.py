"""Panel pages for bulk edits: choose changes, preview the first rows, start, stop or undo the edit, read the report."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.bulk_edits.admin.forms import EditForm, describe_operations
from apps.bulk_edits.admin.result_display import list_changes, translate_rows
from apps.bulk_edits.domain import edits
from apps.bulk_edits.domain.targets import edit_targets
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.bulk_edits.targets import TARGETS
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.lists.selection import InvalidSelection, get_selected_ids
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.model_admin.registry import ListAction, list_actions, list_headers
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.jobs.metrics import find_active_job, find_stall
from apps.core.sanitizing import SafeCsvWriter
from apps.core.tenancy.actor_names import get_actor_name
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs

VIEW = "bulk_edits.view_bulkedit"
MAX_SHOWN = 200
State, RowResult = BulkEdit.State, EditedRow.Fate
STATE_COLORS: dict[str, str] = {
    State.DRAFT: "warning",
    State.RUNNING: "info",
    State.DONE: "success",
    State.STOPPED: "default",
    State.FAILED: "danger",
    State.UNDOING: "info",
    State.UNDONE: "default",
}


@admin.action(description=gettext_lazy("Edit…"))
def edit_selected(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Create a draft with the selected rows, or with all rows of the list, and redirect to its form."""
    try:
        ids = get_selected_ids(request, queryset, limit=edits.MAX_ROWS)
    except InvalidSelection as error:
        screen.message_user(request, format_errors(error), messages.ERROR)
        return None
    [kind] = (kind for kind in edit_targets.values() if kind.model is screen.model)
    edit = edits.create_draft(kind, ids, actor=screen.actor(request), at=timezone.now())
    return HttpResponseRedirect(reverse("admin:bulk_edits_bulkedit_change", args=[edit.pk]))


for target in TARGETS:
    list_actions.add(ListAction(target.model, edit_selected, target.permission))
    list_headers.register((target.model, "bulk edits"), "panel/bulk_edits/list_header.html")


@admin.register(BulkEdit)
class BulkEditAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[BulkEdit]):
    """Admin for bulk edits. To view an edit, staff need permission to view the edited rows."""

    menu = MenuItem("Activity", "edit_note", 25, gettext_lazy("Bulk edits"))
    search_terms = pgettext_lazy("search", "many, several, mass, batch, price change, undo")
    intro = gettext_lazy(
        "Change many rows at once. To start, open the list of products, variants, customers or orders. Select rows "
        "and choose Edit, or filter the list and choose Edit all in the menu of the list."
    )
    empty_text = gettext_lazy("No bulk edits yet.")
    list_display = ("target_label", "change", "total", "status", "created_at", "finished_at")
    list_display_links = ("target_label",)
    list_filter = ("state",)
    list_notice_template = "panel/list_workers.html"
    ordering = ("-id",)
    sortable_by = ()
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[BulkEdit]:
        """Return the edits. In the list, only return edits that the user may view, and do not load the row ids."""
        rows = super().get_queryset(request)
        if request.resolver_match and request.resolver_match.url_name == "bulk_edits_bulkedit_changelist":
            visible = [kind.name for kind in edit_targets.values() if has_permission(request, kind.view_permission)]
            return rows.filter(kind__in=visible).defer("ids")
        return rows

    def has_view_permission(self, request: HttpRequest, obj: BulkEdit | None = None) -> bool:
        return has_permission(request, VIEW) and (
            obj is None or has_permission(request, edit_targets[obj.kind].view_permission)
        )

    target_label = attribute_column("kind_label", gettext_lazy("Resource"))

    @display(description=gettext_lazy("Change"))
    def change(self, edit: BulkEdit) -> str:
        return "; ".join(describe_operations(edit.operations)) or "–"

    @display(description=gettext_lazy("Status"), label=STATE_COLORS)
    def status(self, edit: BulkEdit) -> tuple[str, str]:
        return edit.state, edit.get_state_display()

    def get_row_or_404(self, request: HttpRequest, object_id: str) -> BulkEdit:
        """Return the edit if the user may view the rows that it changes."""
        edit: BulkEdit = super().get_row_or_404(request, object_id)
        require_permission(request, edit_targets[edit.kind].view_permission)
        return edit

    @row_view("change/", VIEW, name="change")
    def detail_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        """Show the form with the preview, or the edit's progress and report."""
        may_change = has_permission(request, edit_targets[edit.kind].permission)
        if edit.state == State.DRAFT and may_change:
            form = EditForm(None, kind=edit_targets[edit.kind], operations=edit.operations)
            return self._render_draft(request, edit, form)
        live = edit.state in {State.RUNNING, State.UNDOING}
        rows = EditedRow.objects.filter(edit=edit, dry=False).order_by("row_id")
        counts = dict(rows.order_by().values_list("fate").annotate(Count("pk")))
        return self.page(
            request,
            "panel/bulk_edits/report.html",
            f"{edit}",
            original=edit,
            row_page=_get_row_page(edit),
            badge=STATE_COLORS[edit.state],
            who=get_actor_name(edit.actor),
            operations=describe_operations(edit.operations),
            done=sum(counts.values()),
            counts=[(row_result.label, counts[row_result]) for row_result in RowResult if row_result in counts],
            left=translate_rows(rows.filter(fate__in=(RowResult.REFUSED, RowResult.KEPT))[:MAX_SHOWN]),
            changed=translate_rows(rows.filter(fate__in=(RowResult.CHANGED, RowResult.UNDONE))[: edits.PREVIEW_ROWS]),
            live=live,
            waits=find_stall(find_active_job(edits.RUN_TASK, edits.UNDO_TASK, edit_id=edit.pk)),
            may_stop=may_change and edit.state == State.RUNNING,
            may_undo=may_change
            and edit.state in {State.DONE, State.STOPPED, State.FAILED}
            and RowResult.CHANGED in counts,
        )

    def _render_draft(self, request: HttpRequest, edit: BulkEdit, form: EditForm) -> HttpResponse:
        names = edit_targets[edit.kind].model._meta
        noun = str(names.verbose_name if edit.total == 1 else names.verbose_name_plural)
        context: Attrs = {"original": edit, "row_page": _get_row_page(edit), "form": form, "noun": noun}
        if edit.operations and not form.is_bound:
            preview = EditedRow.objects.filter(edit=edit, dry=True).order_by("row_id")
            context |= {"operations": describe_operations(edit.operations), "preview": translate_rows(preview)}
        title = _("Edit {number} {rows}").format(number=formats.format_integer(edit.total), rows=noun)
        return self.page(request, "panel/bulk_edits/draft.html", title, **context)

    @row_view("plan/", VIEW, post_only=True, keyed=True)
    def plan_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        """Save the changes and show the preview, or show the form with its errors."""
        require_permission(request, edit_targets[edit.kind].permission)
        form = EditForm(get_post_data(request), kind=edit_targets[edit.kind], operations=edit.operations)
        if edit.state == State.DRAFT and not form.is_valid():
            return self._render_draft(request, edit, form)
        if edit.state == State.DRAFT:
            edits.plan_edit(edit, form.get_operations(), **self.event_kwargs(request))
        return HttpResponseRedirect(f"{self.url('change', edit.pk)}#preview")

    @row_view("start/", VIEW, post_only=True, keyed=True)
    def start_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        return self._change_state(request, edit, edits.start_edit)

    @row_view("stop/", VIEW, post_only=True, keyed=True)
    def stop_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        return self._change_state(request, edit, edits.stop_edit)

    @row_view("undo/", VIEW, post_only=True, keyed=True)
    def undo_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        return self._change_state(request, edit, edits.start_undo)

    def _change_state(self, request: HttpRequest, edit: BulkEdit, transition: Callable[..., None]) -> HttpResponse:
        require_permission(request, edit_targets[edit.kind].permission)
        try:
            transition(edit, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        return HttpResponseRedirect(self.url("change", edit.pk))

    @row_view("report/", VIEW)
    def report_view(self, request: HttpRequest, edit: BulkEdit) -> HttpResponse:
        """Return a CSV file with the result of every row."""
        response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="bulk-edit-{edit.pk}.csv"'
        add_never_cache_headers(response)
        blank = _("(blank)")
        writer = SafeCsvWriter(response, ("id", "name", "result", "reason", "changes"))
        for row in EditedRow.objects.filter(edit=edit, dry=False).order_by("row_id").iterator():
            changes = "; ".join(f"{label}: {old or blank} → {new or blank}" for label, old, new in list_changes(row))
            values = {"id": row.row_id, "name": row.label, "result": row.get_fate_display()}
            writer.write({**values, "reason": row.reason, "changes": changes})
        return response


def _get_row_page(edit: BulkEdit) -> str:
    """Return the name of the page of an edited row."""
    names = edit_targets[edit.kind].model._meta
    return f"admin:{names.app_label}_{names.model_name}_change"
