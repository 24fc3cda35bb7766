"""The change list of the audit log, which shows one row for each act instead of each event."""

from uuid import UUID

from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.core.admin.lists.changelist import PanelChangeList, get_page_size
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.db.lookups import in_materialized
from apps.core.events.acts import Act, find_acts, load_acts
from apps.core.i18n import formats

# Filters by columns without an index that is sorted by act.
_UNSORTED = ("topic", "object")


class ActChangeList(PanelChangeList):
    """A change list of acts. The rows are the acts' leading events.

    The number of acts is not counted. The page parameter contains the group of the last act on the previous page, so
    every page costs the same, and new acts cause neither gaps nor duplicates.
    """

    is_counted = False
    acts: list[Act]

    def get_results(self, request: HttpRequest) -> None:
        self.list_per_page = get_page_size(request, self.model_admin.list_per_page)
        rows = self.queryset.order_by()
        if any(self.params.get(name) for name in _UNSORTED):
            # Only the newest matches are sorted, because a topic or an object may have any number of events.
            newest = rows.order_by("-id").values("pk")[:MAX_COUNTED_ROWS]
            rows = rows.filter(in_materialized(newest))
            if newest.count() == MAX_COUNTED_ROWS:
                template = _("Only the newest {number} matching events are shown. Add a filter to see older events.")
                self.order_note = template.format(number=formats.format_integer(MAX_COUNTED_ROWS))
        before = _parse_group(request.GET.get(PAGE_VAR, ""))
        found, has_older = find_acts(rows, self.list_per_page, before=before)
        self.acts = load_acts(found)
        self.newest_url = self.get_query_string(remove=[PAGE_VAR]) if before else ""
        self.older_url = self.get_query_string({PAGE_VAR: list(found)[-1].hex}) if has_older else ""
        self.result_list = [act.lead for act in self.acts]
        self.paginator = self.model_admin.get_paginator(request, self.result_list, self.list_per_page)
        self.result_count = self.full_result_count = len(self.acts)
        self.show_full_result_count = self.show_admin_actions = False
        self.can_show_all = self.multi_page = False


def _parse_group(value: str) -> UUID | None:
    """Return the group in the page parameter. Anything else opens the first page."""
    try:
        return UUID(hex=value)
    except ValueError:
        return None
