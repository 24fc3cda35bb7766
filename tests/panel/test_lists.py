import re
import uuid
from collections import Counter
from datetime import UTC, datetime

import pytest
from django.contrib import admin
from django.db import connection
from django.template.response import SimpleTemplateResponse
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.admin.lists.changelist import strip_indentation
from apps.core.admin.lists.paginator import BoundedPaginator
from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import SavedView, Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from benchmarks.million.panel import list_addresses
from tests.support import factories
from tests.support.api_client import Response
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.factories.customers import make_customer
from tests.support.factories.inventory import make_location
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.realistic_rows import MAKE

pytestmark = pytest.mark.usefixtures("in_shop")

NASTY = '<script>alert(1)</script>"><img src=x onerror=alert(1)>{{7*7}}'
MOST_OF_A_ROW = 3_000  # characters
LISTS = [
    "shops_installation_changelist",
    "content_scripttag_changelist",
    "events_event_changelist",
    "jobs_job_changelist",
    "staff_membership_changelist",
]


def add_rows(shop: Shop, count: int) -> None:
    for _ in range(count):
        installation = factories.make_installation(shop, ("read_products",))
        factories.make_token(installation)
        factories.make_member(shop, "orders")
        factories.ScriptTagFactory.create(shop=shop, app=installation.app)
        Job.objects.create(shop=shop, task="x.y", actor=f"app:{installation.app_id}")
        drop_event_triggers()
        # Objects of other types may have the same id.
        events = Event.objects.filter(subject_type=installation._meta.label_lower, subject_id=installation.pk)
        assert events.update(actor=f"app:{installation.app_id}")


@pytest.mark.parametrize("name", LISTS)
def test_a_list_costs_the_same_queries_however_many_rows(name: str, owner_client: Panel) -> None:
    costs = []
    for count in (1, 5):
        add_rows(owner_client.shop, count)
        owner_client.get(name)
        with CaptureQueriesContext(connection) as queries:
            owner_client.get(name)
        costs.append(len(queries))

    assert costs[0] == costs[1]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_repeats_little_per_row(name: str, owner_client: Panel) -> None:
    """Check that rows do not repeat the theme's classes (700 characters) in each cell."""
    add_rows(owner_client.shop, 3)

    table = owner_client.get(name).content.decode().split('id="result_list"')[1].split("</table>")[0]

    assert 0 < max(map(len, table.split("data-row")[1:])) < MOST_OF_A_ROW


def test_typed_text_keeps_its_lines_when_indentation_is_removed() -> None:
    response = SimpleTemplateResponse("panel/badge.html")
    response.content = "<p>\n    a\n</p><textarea>\n    b\n  c</textarea>\n\n  <i>d</i>"

    strip_indentation(response)

    assert response.content.decode() == "<p>\na\n</p><textarea>\n    b\n  c</textarea>\n<i>d</i>"


@pytest.mark.parametrize("name", LISTS)
def test_lists_never_count_a_whole_table(name: str, owner_client: Panel) -> None:
    add_rows(owner_client.shop, 1)

    with CaptureQueriesContext(connection) as queries:
        owner_client.get(name)

    counts = [query["sql"] for query in queries if "COUNT(*)" in query["sql"]]
    # The audit log shows no number of rows.
    assert counts or name == "events_event_changelist"
    assert all("LIMIT 10000" in sql for sql in counts)


def test_lists_have_no_date_hierarchy() -> None:
    assert [screen for screen in admin.site._registry.values() if screen.date_hierarchy] == []


def test_the_paginator_says_where_it_stopped_counting(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.core.admin.lists.paginator.MAX_COUNTED_ROWS", 2)
    for _ in range(3):
        Job.objects.create(shop=in_shop, task="x.y")

    pages = BoundedPaginator(Job.rows().order_by("id"), 1)

    assert (pages.count, pages.is_complete) == (2, False)


def test_the_foot_of_a_list_shows_the_formatted_number_of_rows(shop: Shop, owner_client: Panel) -> None:
    Job.objects.bulk_create(Job(shop=shop, task="x.y") for _ in range(1_234))

    for language, number in (("en", "1,234"), ("de", "1.234")):
        page = owner_client.http.get(owner_client.url("jobs_job_changelist"), HTTP_ACCEPT_LANGUAGE=language)
        assert number in page.content.decode()


@pytest.mark.parametrize("name", LISTS)
def test_strange_questions_are_answered_except_a_nul(name: str, owner_client: Panel) -> None:
    queries = [{"q": "a" * 200}, {"p": "999999"}, {"o": "99.-1"}, {"nonsense__x": "1"}, {"q": "%_'\""}, {"q": "\x00"}]

    answers = [owner_client.http.get(owner_client.url(name), query, follow=True) for query in queries]

    assert [response.status_code for response in answers] == [200] * 5 + [400]


@pytest.mark.parametrize("pk", ["abc", "9" * 21, "٣", "", "-1", "\x00"])
def test_bulk_actions_refuse_ids_that_no_row_can_have(owner_client: Panel, pk: str) -> None:
    form = {"action": "mark_paid", "_selected_action": pk}

    response = owner_client.http.post(owner_client.url("orders_order_changelist"), form, follow=True)

    assert response.status_code == 200


@pytest.mark.parametrize("name", ["customer_id", "customer__id__exact", "customer_id__in"])
def test_filters_by_ids_too_large_for_the_database_are_dropped(owner_client: Panel, name: str) -> None:
    response = owner_client.http.get(owner_client.url("orders_order_changelist"), {name: "9" * 21})

    assert response.status_code == 302
    assert response["Location"].endswith("?e=1")


def test_markup_in_data_stays_text(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop, (), name=NASTY)
    user = factories.make_member(shop, first_name=NASTY[:150], email="nasty@example.com")
    job = Job.objects.create(shop=shop, task=NASTY, state=Job.State.FAILED, error=NASTY)
    event = Event.objects.order_by("-id")[0]
    Shop.objects.filter(pk=shop.pk).update(name=NASTY)
    membership = user.memberships(manager="_base_manager").get()
    rows = {"jobs_job_change": job, "events_event_change": event, "shops_shop_history": shop}
    rows |= {f"shops_installation_{page}": installation for page in ("change", "delete")}
    rows |= {"staff_membership_change": membership}

    texts = {name: owner_client.get(name).content.decode() for name in ("index", *LISTS)}
    texts |= {name: owner_client.get(name, row.pk).content.decode() for name, row in rows.items()}

    assert [name for name, text in texts.items() if "<script>alert" in text or "<img src=x" in text] == []


def get_search_results(panel: Panel, term: str) -> list[str]:
    page = panel.get("search", s=term, extended="1")
    return [result.title for result in page.context["results"]] if page.context else []


def test_search_finds_pages_and_rows(owner_client: Panel) -> None:
    factories.make_installation(owner_client.shop, name="Larkspur sync")

    assert get_search_results(owner_client, "larkspur") == ["Larkspur sync"]
    assert "Audit log" in get_search_results(owner_client, "audit")


def test_search_finds_nothing_without_the_permission_to_look(admin_client_with: PanelWith, shop: Shop) -> None:
    factories.make_installation(shop, name="Larkspur sync")

    assert get_search_results(admin_client_with("staff_management_create"), "larkspur") == []
    # The guide is open to all staff.
    results = admin_client_with().get("search", s="audit", extended="1").context["results"]
    assert [result.title for result in results if result.description != "Help"] == []


def test_search_keeps_to_the_shop_and_forgets_at_once(owner_client: Panel, other_shop: Shop) -> None:
    factories.make_installation(other_shop, name="Larkspur sync")
    assert get_search_results(owner_client, "larkspur") == []

    installation = factories.make_installation(owner_client.shop, name="Larkspur here")
    assert get_search_results(owner_client, "larkspur") == ["Larkspur here"]
    installation.uninstalled_at = timezone.now()
    installation.save()

    assert get_search_results(owner_client, "larkspur") == []


def test_search_gives_few_rows_and_ignores_short_terms(owner_client: Panel) -> None:
    for _ in range(8):
        factories.make_installation(owner_client.shop, name="Larkspur")

    assert len(get_search_results(owner_client, "larkspur")) == 5
    assert get_search_results(owner_client, "l") == []


def test_home_is_empty_without_permissions(admin_client_with: PanelWith, shop: Shop) -> None:
    factories.make_member(shop, owner=True, first_name="Kim", last_name="Lee")
    factories.make_installation(shop, name="Warehouse sync")

    page = admin_client_with().get()

    assert page.context["cards"] == []
    assert page.context["recent"] == []
    assert "Kim Lee" in page.content.decode()
    assert "Warehouse" not in page.content.decode()


def test_the_menu_holds_what_may_be_opened_and_no_more(admin_client_with: PanelWith) -> None:
    page = admin_client_with("themes").get()

    titles = [item["title"] for group in page.context["sidebar_navigation"] for item in group["items"]]
    assert titles == ["Home", "Themes", "Script tags", "Files", "Help"]


def test_a_failed_job_is_tried_again_and_a_waiting_one_cancelled(owner_client: Panel, shop: Shop) -> None:
    failed = Job.objects.create(shop=shop, task="x.y", state=Job.State.FAILED, error="no")
    waiting = Job.objects.create(shop=shop, task="x.y")

    owner_client.post("jobs_job_retry", failed.pk)
    owner_client.post("jobs_job_cancel", waiting.pk)

    failed.refresh_from_db()
    waiting.refresh_from_db()
    assert (failed.state, waiting.state) == (Job.State.WAITING, Job.State.CANCELLED)


def test_bulk_actions_reach_this_shops_rows_only(owner_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = Job.objects.create(shop=other_shop, task="x.y")
    own = Job.objects.create(shop=owner_client.shop, task="x.y")

    owner_client.post("jobs_job_changelist", action="cancel_jobs", _selected_action=[own.pk, foreign.pk], index="0")

    own.refresh_from_db()
    foreign.refresh_from_db()
    assert (own.state, foreign.state) == (Job.State.CANCELLED, Job.State.WAITING)


@pytest.mark.parametrize(
    ("query", "filtered"),
    [
        ({"topic": "app/installed"}, {"topic": "app/installed"}),
        ({"who": "system"}, {"actor": "system"}),
        ({"who": "app:"}, {"actor": "app:7"}),
        ({"period": "0"}, {"created_at__year": 2031}),
    ],
)
def test_the_audit_log_is_filtered(
    owner_client: Panel, query: dict[str, str], filtered: Attrs, time_machine: TimeMachineFixture
) -> None:
    factories.make_installation(owner_client.shop)
    event = Event.objects.order_by("-id")[0]
    drop_event_triggers()
    at = datetime(2031, 5, 6, 15, tzinfo=UTC)
    group = uuid.UUID(int=int(at.timestamp() * 1000) << 80)
    Event.objects.filter(pk=event.pk).update(actor="app:7", created_at=at, group=group)
    expected = set(Event.objects.filter(**filtered).values_list("pk", flat=True))
    time_machine.move_to(datetime(2031, 5, 6, 16, tzinfo=UTC))
    owner_client.http.force_login(owner_client.user)

    page = owner_client.get("events_event_changelist", **query)

    assert expected
    assert {event.pk for event in page.context["cl"].result_list} == expected


def test_search_knows_the_case_of_every_script(owner_client: Panel) -> None:
    """Check case-insensitive search for non-ASCII letters. SQLite itself only ignores case for ASCII letters."""
    names = ("ÄRMEL and more", "Ölmühle", "100%_Ä")
    for name in names:
        make_location(owner_client.shop, name=name)

    pages = {q: owner_client.get("inventory_location_changelist", q=q).content.decode() for q in ("ärm", "ölM", "ä")}

    found = {term: [name for name in names if name in page] for term, page in pages.items()}
    assert found == {"ärm": ["ÄRMEL and more"], "ölM": ["Ölmühle"], "ä": ["ÄRMEL and more"]}


# Bytes without the menu, which is part of each page. The links to scripts, which collectstatic combines, have about
# 900 bytes.
MOST, ROWS = 54_500, 25
MENU = re.compile(rb'<nav id="nav-sidebar-inner".*?</nav>', re.DOTALL)
# Pages without so many rows or without a table: the shop settings, policies (one of each type), the themes (at most
# twenty), the stock grid, and the settings of documents and taxes.
OTHERWISE = {
    *("shops.shop", "content.policy", "content.theme", "inventory.inventoryitem"),
    *("documents.documentsettings", "shops.shopcountry"),
}
RICH_LISTS = sorted(
    label
    for model, screen in admin.site._registry.items()
    if getattr(screen, "menu", None) and (label := model._meta.label_lower) not in OTHERWISE
)
# Query parameters for lists that do not display all rows by default.
WHOLE = {"fulfillment.fulfillmentorder": {"view": "all"}}


@pytest.mark.parametrize("label", RICH_LISTS)
def test_a_list_of_25_rich_rows_is_light(owner_client: Panel, label: str) -> None:
    """Check the size of the page without the menu: rows, filters, columns, search and pagination."""
    for number in range(ROWS + 1):
        MAKE[label](owner_client.shop, number)

    owner_client.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"  # German texts are longer than English texts.
    response = owner_client.get(f"{label.replace('.', '_')}_changelist", size=str(ROWS), **WHOLE.get(label, {}))
    weight = len(MENU.sub(b"", response.content))
    print(f"| {label} | {weight:,} |")  # noqa: T201 - pytest -rP shows this table

    assert response.content.count(b"data-row") == ROWS
    assert weight < MOST
    assert b"bo-badge-default" not in response.content  # badges with the default color need no class


JOBS, ORDERS = "jobs_job_changelist", "orders_order_changelist"


def get_chips(page: Response) -> list[tuple[str, str]]:
    return [(chip.text, chip.url_without) for chip in page.context["cl"].active_filters.chips]


def test_each_chip_links_to_the_first_page_without_its_filter(owner_client: Panel) -> None:
    page = owner_client.get(ORDERS, q="Ada", financial_status__exact="paid", view="all", o="-2", p="1")

    assert get_chips(page) == [
        ("Search: “Ada”", "?financial_status__exact=paid&o=-2&view=all"),
        ("Payment: Paid", "?o=-2&q=Ada&view=all"),
    ]
    assert page.context["cl"].active_filters.url_without == "?o=-2&view=all"
    assert 'aria-label="Remove filter Payment: Paid"' in page.content.decode()


def test_chips_name_related_rows_that_the_user_may_view(admin_client_with: PanelWith, shop: Shop) -> None:
    ada = make_customer(first_name="Ada", last_name="King")
    with_customers, without = admin_client_with("orders", "customers"), admin_client_with("orders")
    with shop_scope(factories.make_shop()):
        other = make_customer(first_name="Eve")

    def get_chip(panel: Panel, **query: str) -> str:
        (chip,) = get_chips(panel.get(ORDERS, view="all", **query))
        return chip[0]

    assert get_chip(with_customers, customer__id__exact=str(ada.pk)) == "Customer: Ada King"
    assert get_chip(with_customers, customer=str(ada.pk)) == "Customer: Ada King"
    assert get_chip(without, customer__id__exact=str(ada.pk)) == f"Customer: {ada.pk}"
    for pk in (other.pk, other.pk + 1):
        assert get_chip(with_customers, customer__id__exact=str(pk)) == f"Customer: {pk}"


def test_jobs_are_filtered_by_queue(owner_client: Panel, shop: Shop) -> None:
    for name in ("default", "bulk"):
        Job.objects.create(shop=shop, task="none", queue=name)

    page = owner_client.get(JOBS, queue="bulk")

    assert [job.queue for job in page.context["cl"].result_list] == ["bulk"]
    assert [words for words, _ in get_chips(page)] == ["Queue: bulk"]


def test_the_last_chip_links_to_all_rows_instead_of_the_default(owner_client: Panel, shop: Shop) -> None:
    query = "state__exact=failed"
    SavedView.objects.create(
        shop=shop, user=owner_client.user, screen="jobs.job", name="Broken", query=query, is_default=True
    )

    page = owner_client.get(JOBS, state__exact="failed")
    ((words, without),) = get_chips(page)

    assert (words, without) == ("State: Failed", "?all=1")
    assert owner_client.http.get(owner_client.url(JOBS) + without).status_code == 200


def test_chips_show_typed_text_and_unknown_values_as_text(owner_client: Panel) -> None:
    bare, unknown = owner_client.get(JOBS), owner_client.get(JOBS, state__exact="nonsense", size="25")
    typed = owner_client.get(JOBS, q="<b>x</b>").content.decode()

    assert (get_chips(bare), [words for words, _ in get_chips(unknown)]) == ([], ["State: nonsense"])
    assert "bo-narrowing" not in bare.content.decode()
    assert "Search: “&lt;b&gt;x&lt;/b&gt;”" in typed
    assert "<b>x</b>" not in typed


def test_the_benchmark_finds_what_each_list_offers(owner_client: Panel, shop: Shop) -> None:
    page_names = Counter(name for name, _address in list_addresses(owner_client.http, shop, rows=100))

    counts = Counter(name.removeprefix("panel ").partition("?")[0] for name in page_names if "?" in name)
    # The benchmark sorts, filters and searches each list, and combines each typed filter with each sort order.
    assert min(counts[name] for name in ("orders_order", "customers_customer", "catalog_product")) > 100
    for filtered in ("orders_order?channel=web", "orders_order?processed=middle day", "catalog_product?tag=handmade"):
        assert f"panel {filtered}" in page_names
    assert [name for name, times in page_names.items() if times > 1] == []
