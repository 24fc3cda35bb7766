"""Tests for the active filters above a list, each with a link that removes it."""

from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import SavedView
from tests.conftest import Response
from tests.panel.conftest import Panel

JOBS, ORDERS = "jobs_job_changelist", "orders_order_changelist"


def get_chips(page: Response) -> list[tuple[str, str]]:
    return [(chip.text, chip.url_without) for chip in page.context["cl"].active_filters.chips]


def test_a_list_as_it_comes_has_no_chips(owner_client: Panel) -> None:
    page = owner_client.get(JOBS)

    assert get_chips(page) == []
    assert "bo-narrowing" not in page.content.decode()


def test_each_chip_leads_to_the_first_page_without_it_and_keeps_the_rest(owner_client: Panel) -> None:
    page = owner_client.get(ORDERS, q="Ada", financial_status__exact="paid", view="all", o="-2", p="1")

    assert get_chips(page) == [
        ("Search: “Ada”", "?financial_status__exact=paid&o=-2&view=all"),
        ("Financial status: Paid", "?o=-2&q=Ada&view=all"),
    ]
    assert page.context["cl"].active_filters.url_without == "?o=-2&view=all"
    assert 'aria-label="Remove filter Financial status: Paid"' in page.content.decode()


def test_the_last_chip_leads_to_all_rows_and_not_back_to_the_default_view(owner_client: Panel, shop: Shop) -> None:
    query = "state__exact=failed"
    with shop_scope(shop):
        SavedView.objects.create(
            shop=shop, user=owner_client.user, screen="jobs.job", name="Broken", query=query, is_default=True
        )

    page = owner_client.get(JOBS, state__exact="failed")
    ((words, without),) = get_chips(page)

    assert (words, without) == ("State: Failed", "?all=1")
    assert owner_client.http.get(owner_client.url(JOBS) + without).status_code == 200


def test_what_no_filter_offers_is_a_chip_too(owner_client: Panel) -> None:
    page = owner_client.get(JOBS, state__exact="nonsense", size="25")

    assert [words for words, _ in get_chips(page)] == ["State: nonsense"]


def test_a_chip_says_what_was_typed_as_text(owner_client: Panel) -> None:
    page = owner_client.get(JOBS, q="<b>x</b>").content.decode()

    assert "Search: “&lt;b&gt;x&lt;/b&gt;”" in page
    assert "<b>x</b>" not in page
