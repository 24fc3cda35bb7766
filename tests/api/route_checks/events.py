"""Checks that a copy of the store, kept with events alone, has what the store has after each request."""

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from tests.api.route_checks import RouteCase, is_get, route_check
from tests.support.rest.store_copies import copy_store, find_unreported, report_everything, run_waiting_work


@route_check(lambda route: not is_get(route))
def check_changes_are_reported_with_their_results(case: RouteCase) -> None:
    with shop_scope(case.shop):
        last = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    before = copy_store(case.shop)

    with report_everything():
        response = case.send()
        run_waiting_work(case.shop)

    assert response.status_code == case.sample.status
    with shop_scope(case.shop):
        events = list(Event.objects.filter(pk__gt=last).order_by("pk"))
    assert find_unreported(before, copy_store(case.shop), events) == []
