"""Start a bulk edit from a list, for selected rows or for all rows that match the search and filters."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain import edits
from apps.bulk_edits.domain.targets import get_target_of_model
from apps.bulk_edits.targets import TARGETS
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.lists.selection import InvalidSelection, get_selected_ids
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.registry import ListAction, list_actions, list_headers
from apps.core.tenancy.shop_owned import ShopOwned


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
    return HttpResponseRedirect(reverse("admin:bulk_edits_bulkedit_change", args=[edit.pk]))


for kind in TARGETS:
    list_actions.add(ListAction(kind.model, edit_selected, kind.permission))
    list_headers.register((kind.model, "bulk edits"), "panel/bulk_edits/list_header.html")
