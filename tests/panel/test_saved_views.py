from functools import partial

import pytest

from apps.core.jobs.models import Job
from apps.core.tenancy.models import Membership, SavedView, Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import Response
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

LIST = "jobs_job_changelist"
FAILED = "state__exact=failed"


def post_view(panel: Panel, name: str = "Broken", query: str = FAILED, **data: str) -> Response:
    return panel.post("save_view", screen="jobs.job", query=query, name=name, **data)


def get_views(shop: Shop) -> list[tuple[str, str]]:
    with shop_scope(shop):
        return list(SavedView.objects.order_by("name", "id").values_list("name", "query"))


def get_tabs(page: Response) -> list[tuple[str, bool]]:
    return [(tab.view.name, tab.current) for tab in page.context["cl"].saved_views]


def add_jobs(shop: Shop, count: int) -> None:
    Job.objects.bulk_create(Job(shop=shop, task="x.y") for _ in range(count))


def get_sizes(panel: Panel, **query: str) -> int:
    return len(panel.get(LIST, **query).context["cl"].result_list)


def test_a_page_has_as_many_rows_as_was_asked_for_last(owner_client: Panel, shop: Shop) -> None:
    add_jobs(shop, 101)

    queries: list[dict[str, str]] = [{}, {"size": "25"}, {}, {"size": "100", "p": "2"}]
    assert [get_sizes(owner_client, **query) for query in queries] == [50, 25, 25, 1]
    assert len(owner_client.get("events_event_changelist").context["cl"].page_size_links) == 0


def test_other_page_sizes_are_refused(owner_client: Panel, shop: Shop) -> None:
    add_jobs(shop, 51)

    assert {get_sizes(owner_client, size=size) for size in ("0", "-1", "26", "1000000", "abc", "")} == {50}


def test_the_links_of_a_list_keep_its_search(owner_client: Panel, shop: Shop) -> None:
    add_jobs(shop, 26)

    links = dict(owner_client.get(LIST, q="x").context["cl"].page_size_links)

    assert links == {25: "?q=x&size=25", 50: "?q=x&size=50", 100: "?q=x&size=100"}


def test_a_kept_view_is_a_tab_of_its_list(owner_client: Panel, shop: Shop) -> None:
    response = post_view(owner_client, query="q=x&state__exact=failed&p=3&size=25&all=1&o=")

    assert response.headers["Location"] == owner_client.url(LIST) + "?q=x&state__exact=failed"
    assert get_views(shop) == [("Broken", "q=x&state__exact=failed")]
    assert get_tabs(owner_client.get(LIST, state__exact="failed", q="x", size="50")) == [("Broken", True)]
    assert get_tabs(owner_client.get(LIST)) == [("Broken", False)]
    assert owner_client.get("events_event_changelist").context["cl"].saved_views == []


def test_the_same_name_again_replaces_the_view(owner_client: Panel, shop: Shop) -> None:
    for query in (FAILED, "state__exact=waiting"):
        post_view(owner_client, query=query)

    assert get_views(shop) == [("Broken", "state__exact=waiting")]


def test_a_list_opens_with_the_default_view_and_all_rows_stay_reachable(owner_client: Panel) -> None:
    post_view(owner_client, "First", is_default="on")
    post_view(owner_client, "Second", "state__exact=done", is_default="on")

    opened, everything = owner_client.get(LIST), owner_client.get(LIST, all="1")

    assert (opened.status_code, opened.headers["Location"]) == (302, owner_client.url(LIST) + "?state__exact=done")
    assert (everything.status_code, everything.context["cl"].own_views[0]["current"]) == (200, True)
    assert SavedView.objects.filter(is_default=True).count() == 1


def test_views_are_visible_to_others_only_where_shared(admin_client_with: PanelWith) -> None:
    kim, lee = admin_client_with("preferences"), admin_client_with("preferences")
    post_view(kim, "Mine", is_default="on")
    post_view(kim, "Ours", "state__exact=done", shared="on")

    assert get_tabs(lee.get(LIST)) == [("Ours", False)]


def test_a_view_is_renamed_shared_and_removed(owner_client: Panel, shop: Shop) -> None:
    post_view(owner_client)
    view = SavedView.objects.get()

    owner_client.post("change_view", view.pk, name="Failures", shared="on")

    view.refresh_from_db()
    assert (view.name, view.query, view.shared, view.is_default) == ("Failures", FAILED, True, False)

    owner_client.post("change_view", view.pk, remove="1")

    assert get_views(shop) == []


def test_two_views_of_one_person_cannot_have_one_name(owner_client: Panel, shop: Shop) -> None:
    post_view(owner_client, "One")
    post_view(owner_client, "Two", "state__exact=done")

    owner_client.post("change_view", SavedView.objects.get(name="Two").pk, name="One")

    assert [name for name, _ in get_views(shop)] == ["One", "Two"]


@pytest.mark.parametrize("owns", [False, True])
def test_shared_views_are_deleted_by_owners(admin_client_with: PanelWith, shop: Shop, owns: bool) -> None:
    kim, lee = admin_client_with("preferences"), admin_client_with("preferences", owner=owns)
    post_view(kim, "Mine")
    post_view(kim, "Ours", "state__exact=done", shared="on")
    pks = list(SavedView.objects.order_by("name").values_list("pk", flat=True))

    answers = [lee.post("change_view", pk, remove="1").status_code for pk in pks]

    assert answers == [404, 302 if owns else 404]
    assert [name for name, _ in get_views(shop)] == (["Mine"] if owns else ["Mine", "Ours"])


def test_a_view_of_another_shop_is_not_found_and_not_seen(owner_client: Panel, other_shop: Shop) -> None:
    stranger = Panel(factories.make_member(other_shop, owner=True), other_shop)
    post_view(stranger, shared="on")
    with shop_scope(other_shop):
        view = SavedView.objects.get()

    response = owner_client.post("change_view", view.pk, remove="1")

    assert response.status_code == 404
    assert get_views(other_shop) == [("Broken", FAILED)]
    assert get_tabs(owner_client.get(LIST)) == []


def test_the_same_person_has_views_of_their_own_in_each_shop(owner_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=owner_client.user, account_owner=True)
    post_view(owner_client, is_default="on")

    owner_client.shop = other_shop

    assert owner_client.get(LIST).status_code == 200
    assert get_tabs(owner_client.get(LIST)) == []


def test_a_view_needs_a_name_and_something_to_keep(owner_client: Panel, shop: Shop) -> None:
    names, queries = ("", " ", "x" * 61, "a\x00b"), ("", "p=2&size=25", "q=" + "x" * 2000)
    answers = [post_view(owner_client, name=name) for name in names]
    answers += [post_view(owner_client, query=query) for query in queries]

    assert {response.status_code for response in answers} == {302}
    assert get_views(shop) == []


def test_a_view_leads_nowhere_but_to_its_list(owner_client: Panel) -> None:
    response = post_view(owner_client, query="q=//evil.example/&https://evil.example=1")

    assert response.headers["Location"].startswith(owner_client.url(LIST) + "?")


def test_a_view_with_a_removed_filter_still_opens_the_list(owner_client: Panel) -> None:
    post_view(owner_client, query="nonsense__x=1", is_default="on")

    assert owner_client.http.get(owner_client.url(LIST), follow=True).status_code == 200


def test_order_views_are_shown_next_to_saved_views(owner_client: Panel) -> None:
    owner_client.post("save_view", screen="orders.order", query="view=all&test__exact=1", name="Tests")

    page = owner_client.get("orders_order_changelist")
    response = owner_client.get("orders_order_changelist", view="all", test__exact="1")

    own, others = page.context["cl"].own_views, response.context["cl"].own_views
    assert own[0]["title"] == "Open"
    assert [view["title"] for view in (*own, *others) if view["current"]] == ["Open"]
    assert get_tabs(response) == [("Tests", True)]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_two_views_have_one_name_without_the_unique_key")
def test_views_saved_under_one_name_at_the_same_moment_are_one(owner_client: Panel, shop: Shop) -> None:
    browsers = [Panel(owner_client.user, shop) for _ in range(6)]

    saves = [partial(post_view, browser, query=f"q={n}") for n, browser in enumerate(browsers)]
    answers = run_concurrently(shop, *saves)

    assert {response.status_code for response in answers} == {302}
    assert [name for name, _ in get_views(shop)] == ["Broken"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_views_have_one_name_without_the_unique_key(owner_client: Panel, shop: Shop) -> None:
    """Show what goes wrong without the unique key: neither transaction sees the other transaction's view."""
    other = SavedView(shop=shop, user=owner_client.user, screen="jobs.job", name="Broken", query=FAILED)

    with without_constraint(SavedView, "shop_id", "user_id", "screen", "name"):
        run_unguarded(shop, other.save, lambda: post_view(owner_client))

        assert [name for name, _ in get_views(shop)] == ["Broken", "Broken"]
