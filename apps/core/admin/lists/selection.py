"""Determine the rows of a bulk action: the selected rows, or all rows that match the filters and the search."""

from copy import copy

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _

from apps.core.admin.lists import saved_views
from apps.core.admin.lists.changelist import PanelChangeList
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.admin.lists.search import get_truncation_note
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.tenancy.shop_owned import ShopOwned


class InvalidSelection(DomainError):
    pass


def get_selected_ids(request: HttpRequest, rows: QuerySet[ShopOwned], *, limit: int) -> list[int]:
    """Return the IDs of the rows selected for a bulk action, in ascending order.

    Raises:
        InvalidSelection: No rows, more than ``limit`` rows, or an incomplete search result are selected.
    """
    across = request.POST.get("select_across") == "1"
    return _get_ids(
        rows,
        limit,
        searched=bool(request.GET.get(SEARCH_VAR)),
        truncation_note=get_truncation_note(request) if across else "",
    )


def get_listed_ids(change_list: PanelChangeList, *, limit: int) -> list[int]:
    """Return the IDs of all rows of a list, in ascending order. Errors are the same as for ``get_selected_ids``."""
    return _get_ids(
        change_list.matching, limit, searched=bool(change_list.query), truncation_note=change_list.truncation_note
    )


def get_change_list(model_admin: ExtraViewsAdmin[ShopOwned], request: HttpRequest, query: str) -> PanelChangeList:
    list_request = copy(request)
    list_request.GET = QueryDict(saved_views.normalize_query(query))
    try:
        change_list = model_admin.get_changelist_instance(list_request)
    except IncorrectLookupParameters as error:
        raise Http404(_("This list does not exist.")) from error
    assert isinstance(change_list, PanelChangeList)
    return change_list


def _get_ids(rows: QuerySet[ShopOwned], limit: int, *, searched: bool, truncation_note: str) -> list[int]:
    if truncation_note:
        raise InvalidSelection(
            _("The search shows only some of the matching rows. Add another word to narrow the search.")
        )
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[: limit + 1])
    if searched and len(ids) >= MAX_COUNTED_ROWS:
        text = _("The search matches more than {limit} rows. Add a filter.")
        raise InvalidSelection(text.format(limit=formats.format_integer(MAX_COUNTED_ROWS)))
    if len(ids) > limit:
        text = _("The list has more than {limit} rows. Filter it first.")
        raise InvalidSelection(text.format(limit=formats.format_integer(limit)))
    if not ids:
        raise InvalidSelection(_("No rows are selected. Select at least one row."))
    return ids
