"""Start a bulk edit from a list, for selected rows or for all rows that match the search and filters."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.bulk.domain import edits
from apps.bulk.domain.targets import get_target_of_model
from apps.bulk.targets import TARGETS
from apps.ground.base_models import ShopOwned
from apps.panel.admin_base.model_admin import ShopOwnedAdmin
from apps.panel.admin_base.registry import add_action, add_list_header
from apps.panel.admin_base.selection import InvalidSelection, get_selected_ids
from apps.panel.error_display import format_errors


@admin.action(description=gettext_lazy("Edit selected…"))
def edit_selected(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Create a draft with the selected rows, and redirect to its form."""
    try:
        ids = get_selected_ids(request, queryset, limit=edits.MAX_ROWS)
    except InvalidSelection as error:
        screen.message_user(request, format_errors(error), messages.ERROR)
        return None
    edit = edits.create_draft(get_target_of_model(screen.model), ids, actor=screen.actor(request), at=timezone.now())
    return HttpResponseRedirect(reverse("admin:bulk_bulkedit_change", args=[edit.pk]))


for kind in TARGETS:
    add_action(kind.model, edit_selected, permission=kind.permission)
    add_list_header(kind.model, "panel/bulk/list_header.html")
