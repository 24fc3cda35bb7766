"""Discounts in the panel: the form, the pages of a discount and the list."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from apps.catalog.domain.products import delete_product
from apps.core.admin.lists import search
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.discounts.admin.forms import DiscountForm
from apps.discounts.admin.pickers import build_pickers
from apps.discounts.domain import batches, price_rules
from apps.discounts.domain.codes import create_code
from apps.discounts.domain.uses import record_uses
from apps.discounts.models import CodeBatch, DiscountCode, PriceRule
from apps.orders.domain import transitions
from tests.support.api_client import Response
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.countries import make_country
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ADD, CHANGE, END, CODES, ADD_CODES, DELETE_CODE, USES = (
    f"discounts_pricerule_{name}"
    for name in ("changelist", "add", "change", "end", "codes", "add_codes", "delete_code", "uses")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    """Return a client for a staff member who may only manage discounts."""
    return admin_client_with("marketing")


def submit(panel: Panel, rule: PriceRule | None = None, *, step: str = "save", **typed: Any) -> Response:
    """Submit the form as it was shown, with changed values."""
    name, args = (CHANGE, (rule.pk,)) if rule else (ADD, ())
    page = get_form(panel.get(name, *args).content, "title")
    data = {key: value for key, value in page.data.items() if key != "step"}
    return panel.http.post(panel.url(name, *args), {**data, "step": step, **typed})


def read_errors(response: Response) -> list[str]:
    assert response.status_code == 200
    form, context = response.context["form"], response.context
    pickers = (*context["entitled"], *context["prerequisite"], context["customers"])
    errors = [
        *(str(error) for errors in form.errors.values() for error in errors),
        *(error for picker in pickers for error in picker.errors),
    ]
    # The message that products or collections are missing is at both pickers.
    return list(dict.fromkeys(errors))


def read_summary(response: Response) -> list[str]:
    summary = response.context["summary"]
    return [summary.title, *summary.terms, *filter(None, [summary.hint])]


def test_the_summary_says_what_the_discount_will_give(panel: Panel) -> None:
    hint = "Enter the value to see what the discount gives."
    assert read_summary(panel.get(ADD)) == ["No code yet", hint]
    wrong = "Correct the value to see what the discount gives."
    assert read_summary(submit(panel, step="summary", code="A1", kind="fixed_amount", amount="x")) == ["A1", wrong]
    assert read_summary(submit(panel, step="summary", code="A1", kind="fixed_amount", amount="")) == ["A1", hint]

    values: dict[str, Any] = {"code": "A1", "percentage": "10", "usage_limit": "5", "once_per_customer": "on"}
    response = submit(panel, step="summary", **values, starts_at="2030-12-03T08:00")

    terms = ["10% off the whole order", "Once per customer", "5 uses of each code", "From 3 Dec 2030, 08:00"]
    assert read_summary(response) == ["A1", *terms]
    assert not PriceRule.objects.exists()


def test_the_summary_of_a_stored_discount_follows_the_input(panel: Panel) -> None:
    rule = make_rule(title="Spring", value="-10")
    assert read_summary(panel.get(CHANGE, rule.pk))[:2] == ["Spring", "10% off the whole order"]

    response = submit(panel, rule, step="summary", percentage="20")

    assert read_summary(response)[:2] == ["Spring", "20% off the whole order"]
    rule.refresh_from_db()
    assert rule.value == Decimal(-10)


def find(name: str, term: str) -> Attrs:
    return {f"find-{name}": term}


def list_titles(panel: Panel, **query: str) -> list[str]:
    return [row.title for row in panel.get(LIST, **query).context["cl"].result_list]


def test_a_discount_and_its_code_are_created_in_one_form(panel: Panel) -> None:
    typed: Attrs = {
        "code": " summer ",
        "percentage": "12,5 %",
        "prerequisite_subtotal": "50",
        "usage_limit": "100",
        "once_per_customer": "on",
        "ends_at": "2040-01-31T18:00",
    }

    response = submit(panel, **typed)

    rule = PriceRule.objects.get()
    assert response["Location"] == panel.url(CHANGE, rule.pk)
    assert (rule.title, rule.value, rule.value_type) == ("summer", Decimal("-12.5"), "percentage")
    assert (rule.prerequisite_subtotal, rule.usage_limit, rule.once_per_customer) == (Decimal(50), 100, True)
    assert (rule.target_type, rule.target_selection, rule.allocation_method) == ("line_item", "all", "across")
    assert rule.codes.get().code == "summer"
    assert rule.ends_at == datetime(2040, 1, 31, 18, tzinfo=panel.shop.tzinfo)
    assert abs(rule.starts_at - timezone.now()) < timedelta(minutes=5)
    page = panel.get(CHANGE, rule.pk).content.decode()
    assert "12.5% off the whole order, minimum 50.00 USD, once per customer" in page
    assert "Discount created" in page
    assert Event.objects.filter(actor=f"staff:{panel.user.pk}", topic="price_rules/create").exists()


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (
            {"kind": "fixed_amount", "amount": "5"},
            {"value_type": "fixed_amount", "value": Decimal(-5), "allocation_method": "across"},
        ),
        (
            {"kind": "fixed_amount", "amount": "5", "is_each": "on"},
            {"value_type": "fixed_amount", "value": Decimal(-5), "allocation_method": "each"},
        ),
        (
            {"kind": "free_shipping", "prerequisite_shipping_price": "9.90", "percentage": "7"},
            {
                "value_type": "percentage",
                "value": Decimal(-100),
                "target_type": "shipping_line",
                "prerequisite_shipping_price": Decimal("9.9"),
            },
        ),
    ],
)
def test_each_type_stores_its_own_values(panel: Panel, typed: Attrs, stored: Attrs) -> None:
    response = submit(panel, code="SUMMER", **typed)

    assert response.status_code == 302
    rule = PriceRule.objects.get()
    assert {name: getattr(rule, name) for name in stored} == stored
    # Saving the form of the stored discount again changes nothing.
    version = rule.version
    assert submit(panel, rule).status_code == 302
    rule.refresh_from_db()
    assert rule.version == version


def test_buy_x_get_y_selects_the_bought_and_the_discounted_products(panel: Panel) -> None:
    mug, tea, kitchen = make_product("Mug"), make_product("Tea"), make_custom("Kitchen")
    typed: Attrs = {"kind": "buy_x_get_y", "percentage": "100", "prerequisite_quantity_ratio": "2"}
    lists: Attrs = {
        "prerequisite_product_ids": mug.pk,
        "entitled_product_ids": tea.pk,
        "entitled_collection_ids": kitchen.pk,
    }

    incomplete = submit(panel, code="SUMMER", **typed, **lists)
    assert read_errors(incomplete) == ["This field is required."]
    both = submit(panel, code="SUMMER", **typed, **lists, entitled_quantity_ratio="1", prerequisite_amount="20")
    assert read_errors(both) == ["Enter either a quantity to buy or an amount to spend."]
    assert PriceRule.objects.count() == 0
    submit(panel, code="SUMMER", **typed, **lists, entitled_quantity_ratio="1")

    rule = PriceRule.objects.get()
    ids = {name: pks for name, pks in price_rules.get_ids(rule).items() if pks}
    assert ids == {name: [pk] for name, pk in lists.items()}
    assert "Buy 2, get 1 free" in panel.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("typed", "errors"),
    [
        ({"code": ""}, ["Enter a code, or generate one."]),
        ({"code": "Taken"}, ["Has already been taken."]),
        ({"code": "a\x07b"}, ["Must not contain line breaks or other control characters."]),
        ({"percentage": ""}, ["This field is required."]),
        ({"percentage": "0"}, ["Enter a percentage above 0 and up to 100."]),
        ({"percentage": "101"}, ["Enter a percentage above 0 and up to 100."]),
        ({"kind": "fixed_amount", "amount": "1.005"}, ["This amount has too many decimal places for USD."]),
        ({"kind": "fixed_amount", "amount": "0"}, ["Enter an amount above 0."]),
        ({"usage_limit": "0"}, ["Ensure this value is greater than or equal to 1."]),
        ({"usage_limit": "99999999999"}, ["Ensure this value is less than or equal to 2147483647."]),
        ({"starts_at": "2040-01-02T10:00", "ends_at": "2040-01-01T10:00"}, ["Must be after the start."]),
        ({"target_selection": "entitled"}, ["Select at least one product or collection."]),
        (
            {"target_selection": "entitled", "entitled_product_ids": "77"},
            ["Select at least one product or collection."],
        ),
        ({"customer_selection": "prerequisite"}, ["Select at least one customer."]),
        ({"title": "x" * 256}, ["Ensure this value has at most 255 characters (it has 256)."]),
    ],
)
def test_refusals_appear_at_their_fields_and_nothing_is_stored(panel: Panel, typed: Attrs, errors: list[str]) -> None:
    make_code("TAKEN")

    response = submit(panel, **{"code": "SUMMER", "percentage": "10", **typed})

    assert read_errors(response) == errors
    assert PriceRule.objects.count() == 1
    assert DiscountCode.objects.count() == 1


def test_a_code_is_generated_and_the_other_values_stay(panel: Panel) -> None:
    page = submit(panel, step="generate", percentage="10", title="Summer", kind="percentage")

    shown = get_form(page.content, "title").data
    assert len(shown["code"][0]) == 10
    assert (shown["percentage"], shown["title"], shown["kind"]) == (["10"], ["Summer"], ["percentage"])
    assert PriceRule.objects.count() == 0


def test_pickers_find_rows_and_keep_the_selected_ones(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("marketing", "customers")
    mug, tea = make_product("Blue mug"), make_product("Green tea")
    ada = make_customer(first_name="Ada", email="ada@example.com")
    typed: Attrs = {
        "target_selection": "entitled",
        "customer_selection": "prerequisite",
        "entitled_product_ids": tea.pk,
    }
    texts: Attrs = {"find-entitled_product_ids": "blue", "find-prerequisite_customer_ids": "ada@example.com"}

    page = submit(panel, step="find", code="SUMMER", percentage="10", **typed, **texts)

    products, customers = page.context["entitled"][0], page.context["customers"]
    assert [choice.id for choice in products.chosen] == [tea.pk]
    assert [(choice.id, choice.name) for choice in products.found] == [(mug.pk, "Blue mug")]
    assert [choice.id for choice in customers.found] == [ada.pk]
    shown = {name: value for name, value in get_form(page.content, "title").data.items() if name != "step"}
    chosen = {"entitled_product_ids": [tea.pk, mug.pk], "prerequisite_customer_ids": [ada.pk]}
    saved = panel.http.post(panel.url(ADD), {**shown, "step": "save", **chosen})
    assert saved.status_code == 302
    ids = {name: pks for name, pks in price_rules.get_ids(PriceRule.objects.get()).items() if pks}
    assert ids == chosen

    nothing = submit(panel, step="find", **find("entitled_product_ids", "xyz"))
    assert nothing.context["entitled"][0].note == "Nothing matches “xyz”."


def test_a_text_in_a_search_field_is_not_forgotten(panel: Panel) -> None:
    make_product("Blue mug")

    page = submit(
        panel, code="SUMMER", percentage="10", target_selection="entitled", **find("entitled_product_ids", "blue")
    )

    assert "Nothing was saved yet" in page.content.decode()
    assert [choice.name for choice in page.context["entitled"][0].found] == ["Blue mug"]
    assert PriceRule.objects.count() == 0


@pytest.mark.parametrize(
    "typed",
    [
        {"kind": "fixed_amount", "amount": "5", "percentage": "abc"},
        {"prerequisite_shipping_price": "abc"},
        {"kind": "free_shipping", "prerequisite_quantity_ratio": "abc", "percentage": "", "target_selection": "abc"},
        {"customer_selection": "all", **find("prerequisite_customer_ids", "ada")},
        {"kind": "free_shipping", "target_selection": "entitled", **find("entitled_product_ids", "mug")},
        {**find("prerequisite_product_ids", "mug")},
    ],
)
def test_hidden_fields_do_not_prevent_saving(admin_client_with: PanelWith, typed: Attrs) -> None:
    panel = admin_client_with("marketing", "customers")

    response = submit(panel, **{"code": "SUMMER", "percentage": "10", **typed})

    assert response.status_code == 302
    assert DiscountCode.objects.get().code == "SUMMER"


def test_errors_of_hidden_lists_appear_at_the_top(panel: Panel) -> None:
    rule = make_rule("-50", target_type="shipping_line")
    request = panel.get(CHANGE, rule.pk).wsgi_request
    form = DiscountForm(QueryDict("title=Summer"), rule, build_pickers(request, {}))
    form.full_clean()

    form.add_domain_error(DomainError({"entitled_product_ids": [BLANK]}))

    assert list(form.non_field_errors()) == ["Entitled product ids can't be blank."]


def test_uses_before_the_import_are_named(panel: Panel) -> None:
    code = create_code(make_rule(), "SUMMER", actor="system", at=timezone.now(), earlier_uses=500)

    pages = [panel.get(name, code.rule_id) for name in (CHANGE, USES)]
    assert all("Plus 500 uses before the import." in " ".join(page.content.decode().split()) for page in pages)
    assert not pages[0].context["has_more_uses"]
    for _number in range(11):
        use(code)
    page = panel.get(CHANGE, code.rule_id)
    assert page.context["has_more_uses"]
    assert len(page.context["uses"]) == 10
    assert "511" in dict(page.context["sums"])["Uses"]


def test_the_amounts_of_a_code_in_an_order_are_added_up(admin_client_with: PanelWith) -> None:
    code = make_code("SUMMER")
    entries = [{"code": text, "amount": Decimal(2), "type": "fixed_amount"} for text in ("SUMMER", "summer")]
    order = make_order(codes=entries)

    panel = admin_client_with("marketing", "orders")
    page = panel.get("orders_order_change", order.pk).content.decode()

    assert code.uses.get().amount == Decimal(4)
    section = page.partition('id="discount-codes"')[2].partition("</section>")[0]
    assert section.count("4.00 USD") == section.count("USD") == 1


def test_a_search_finds_all_discounts_with_matching_codes(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "get_result_limit", lambda request: 2)
    many, other = make_rule(title="Many"), make_rule(title="Other")
    for number in range(3):
        make_code(f"AUTUMN{number}", many)
    make_code("AUTUMN9", other)

    assert list_titles(panel, q="autumn") == ["Other", "Many"]


def test_staff_without_access_to_customers_see_no_names_and_keep_the_selection(panel: Panel) -> None:
    ada = make_customer(first_name="Ada", last_name="Lovelace", email="ada@example.com")
    rule = make_rule(customer_selection="prerequisite", prerequisite_customer_ids=[ada.pk])
    use(make_code("SUMMER", rule), customer={"id": ada.pk})

    pages = [panel.get(name, rule.pk).content.decode() for name in (CHANGE, USES)]
    found = submit(panel, rule, step="find", **find("prerequisite_customer_ids", "ada")).content.decode()

    assert [text for text in (*pages, found) if "Lovelace" in text or "ada@" in text] == []
    submit(panel, rule, title="Renamed")
    rule.refresh_from_db()
    assert rule.title == "Renamed"
    assert price_rules.get_ids(rule)["prerequisite_customer_ids"] == [ada.pk]


def test_terms_of_apps_that_the_form_does_not_have_stay(panel: Panel) -> None:
    country = make_country().pk
    rule = make_rule("-50", target_type="shipping_line", target_selection="entitled", entitled_country_ids=[country])
    countries = make_rule(
        "-100", target_type="shipping_line", target_selection="entitled", entitled_country_ids=[country]
    )
    page = panel.get(CHANGE, rule.pk).content.decode()
    assert "An app set up this discount: 50% off shipping, to selected countries." in page

    for row in (rule, countries):
        assert submit(panel, row, title="Renamed").status_code == 302
        value, ids = row.value, price_rules.get_ids(row)
        row.refresh_from_db()
        assert (row.title, row.value, row.target_selection) == ("Renamed", value, "entitled")
        assert price_rules.get_ids(row) == ids

    submit(panel, countries, kind="percentage", percentage="10")
    countries.refresh_from_db()
    assert (countries.target_type, countries.target_selection) == ("line_item", "all")
    assert price_rules.get_ids(countries)["entitled_country_ids"] == []


def test_a_late_save_shows_what_someone_else_changed(panel: Panel, owner_client: Panel) -> None:
    rule = make_rule(usage_limit=5)
    first = get_form(panel.get(CHANGE, rule.pk).content, "title").data | {"step": ["save"], "title": ["Mine"]}
    submit(owner_client, rule, title="Theirs", usage_limit="9")

    late = panel.http.post(panel.url(CHANGE, rule.pk), first)

    text = read_errors(late)[0]
    assert "changed this in the meantime" in text
    assert "Title" in text
    rule.refresh_from_db()
    assert (rule.title, rule.usage_limit) == ("Theirs", 9)
    again = get_form(late.content, "title").data | {"step": ["save"]}
    assert again["title"] == ["Mine"]
    assert panel.http.post(panel.url(CHANGE, rule.pk), again).status_code == 302
    rule.refresh_from_db()
    assert (rule.title, rule.usage_limit) == ("Mine", 5)
    page = panel.get(CHANGE, rule.pk).content.decode()
    assert "<del>Theirs</del>" in page
    assert "<ins>Mine</ins>" in page


def test_a_form_that_is_sent_twice_creates_one_discount(panel: Panel) -> None:
    data = get_form(panel.get(ADD).content, "title").data | {"step": ["save"], "code": ["A1"], "percentage": ["5"]}

    responses = [panel.http.post(panel.url(ADD), data) for _ in range(2)]

    assert responses[0]["Location"] == responses[1]["Location"]
    assert PriceRule.objects.count() == 1


def use(code: DiscountCode, amount: str = "2.00", **values: Any) -> None:
    """Create an order that uses a code with an amount."""
    entry = {"code": code.code, "amount": Decimal(amount), "type": "fixed_amount"}
    make_order(codes=[entry], **values)


def test_the_list_shows_states_uses_and_amounts(panel: Panel) -> None:
    now = timezone.now()
    make_code("LATER", make_rule(title="scheduled", starts_at=now + timedelta(days=1)))
    make_code("GONE", make_rule(title="expired", ends_at=now - timedelta(minutes=1)))
    used_up = make_code("ONCE", make_rule(title="used up", usage_limit=1))
    active = make_code("TWICE", make_rule(title="active", usage_limit=2))
    make_code("OTHER", active.rule)
    use(used_up)
    use(active, "3.50")
    use(active, "1.25")
    canceled = make_order(codes=[{"code": "OTHER", "amount": Decimal(4), "type": "fixed_amount"}])
    transitions.cancel_order(canceled, reason="other", actor="system", at=now)

    for state in ("scheduled", "expired", "used_up", "active"):
        assert list_titles(panel, view=state) == [state.replace("_", " ")]
    rows = {row.title: row for row in panel.get(LIST).context["cl"].result_list}
    model_admin = panel.get(LIST).context["cl"].model_admin
    assert model_admin.uses_label(rows["active"]) == "3 of 4"
    assert model_admin.amount_given(rows["active"]) == "4.75 USD"
    assert model_admin.codes_label(rows["active"]) == "TWICE and 1 other"
    assert model_admin.uses_label(rows["used up"]) == "1 of 1"
    assert list_titles(panel, q="twi") == ["active"]
    assert list_titles(panel, q="expi") == ["expired"]
    assert list_titles(panel, view="no such view") == list_titles(panel)
    found = panel.get("search", s="ONCE", extended="1").content.decode()
    assert panel.url(CHANGE, used_up.rule_id) in found


def test_a_search_for_too_many_codes_says_so(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.discounts.admin.changelist.MAX_SEARCHED_CODES", 2)
    for name in ("SUM1", "SUM2", "SUM3"):
        make_code(name)

    notes = [panel.get(LIST, q=term).context["cl"].search_note for term in ("sum", "sum1")]

    assert notes[0].startswith("More than 2 codes begin like this.")
    assert notes[1] == ""


def test_discounts_end_now_alone_and_in_the_list(panel: Panel) -> None:
    rules = [make_rule(title=f"Rule {number}") for number in range(3)]
    scheduled = make_rule(title="Later", starts_at=timezone.now() + timedelta(days=1))

    assert panel.forge(END, rules[0].pk).status_code == 302
    refused = end_chosen(panel, rules[1], scheduled)
    assert "Not ended: Later. The discount has not started yet." in refused
    assert "1 discount has ended." in refused
    assert [rule.title for rule in PriceRule.objects.filter(ends_at=None)] == ["Later", "Rule 2"]
    assert end_chosen(panel, *rules[1:]) == "2 discounts have ended."
    assert PriceRule.objects.filter(ends_at=None).get() == scheduled
    assert "End now" not in panel.get(CHANGE, rules[0].pk).content.decode()


def test_a_discount_whose_bought_products_were_deleted_can_be_changed_and_ended(panel: Panel) -> None:
    mug, tea = make_product("Mug"), make_product("Tea")
    attrs: Attrs = {"prerequisite_quantity_ratio": 2, "entitled_quantity_ratio": 1, "allocation_method": "each"}
    lists: Attrs = {"prerequisite_product_ids": [mug.pk], "entitled_product_ids": [tea.pk]}
    rule = make_rule(target_selection="entitled", **attrs, **lists)
    delete_product(mug, actor="system", at=timezone.now())

    assert submit(panel, rule, title="Renamed").status_code == 302
    refused = submit(panel, rule, prerequisite_quantity_ratio="3")
    assert read_errors(refused) == ["Select at least one product or collection."]
    assert panel.forge(END, rule.pk).status_code == 302

    rule.refresh_from_db()
    assert (rule.title, rule.prerequisite_quantity_ratio) == ("Renamed", 2)
    assert rule.ends_at is not None


def end_chosen(panel: Panel, *rules: PriceRule) -> str:
    data = {"action": "end_chosen", "_selected_action": [rule.pk for rule in rules]}
    response = panel.http.post(panel.url(LIST), data, follow=True)
    return " ".join(str(message) for message in response.context["messages"])


def test_codes_are_added_alone_and_in_batches_found_and_deleted(panel: Panel) -> None:
    rule = make_code("SUMMER").rule
    use(rule.codes.get())

    single = panel.forge(ADD_CODES, rule.pk, single="1", code="summer")
    assert read_single_errors(single) == ["Has already been taken."]
    panel.forge(ADD_CODES, rule.pk, single="1", code="AUTUMN")
    too_many = panel.forge(ADD_CODES, rule.pk, number="1001")
    assert "less than or equal to 1000" in too_many.content.decode()
    assert CodeBatch.objects.count() == 0
    panel.forge(ADD_CODES, rule.pk, number="101", code_prefix="VIP-")

    assert [batch.codes_count for batch in CodeBatch.objects.order_by("pk")] == [100, 1]
    waiting = panel.get(CODES, rule.pk)
    assert waiting.context["progress"] == {"progress_done": 0, "progress_total": 101}
    run_batches()
    texts = set(rule.codes.values_list("code", flat=True))
    assert len(texts) == 103
    assert sum(text.startswith("VIP-") for text in texts) == 101
    page = panel.get(CODES, rule.pk, q="vip", p="3")
    assert page.context["progress"] is None
    assert len(page.context["codes_page"].object_list) == 1
    assert panel.get(CODES, rule.pk, p="x").status_code == 200

    code = DiscountCode.objects.get(code="SUMMER")
    assert "its 1 use is deleted" in panel.get(DELETE_CODE, rule.pk, code.pk).content.decode()
    panel.forge(DELETE_CODE, rule.pk, code.pk)
    assert not DiscountCode.objects.filter(pk=code.pk).exists()
    assert panel.get(DELETE_CODE, rule.pk, code.pk).status_code == 404
    assert panel.get(DELETE_CODE, make_rule().pk, DiscountCode.objects.latest("pk").pk).status_code == 404


def read_single_errors(response: Response) -> list[str]:
    return [str(error) for errors in response.context["single"].errors.values() for error in errors]


def run_batches() -> None:
    for job in Job.objects.filter(task="discounts.create_codes").order_by("pk"):
        queue.run_job(job.key)


def test_refused_codes_of_a_batch_are_shown(panel: Panel) -> None:
    rule = make_code("SUMMER").rule
    batches.create_batch(rule, ["summer", "FRESH", "x" * 256], actor="system", at=timezone.now())
    run_batches()

    page = panel.get(CHANGE, rule.pk).content.decode()

    assert "2 codes of the last batch were not created" in page
    assert "Code has already been taken." in page


def test_the_pages_link_to_orders_and_customers_that_the_user_may_view(admin_client_with: PanelWith) -> None:
    ada = make_customer(first_name="Ada", email="ada@example.com")
    rule = make_code("SUMMER").rule
    use(rule.codes.get(), "3.50", customer={"id": ada.pk})
    order = rule.codes.get().uses.get().order
    assert order
    panel = admin_client_with("marketing", "orders", "customers")
    order_url = panel.url("orders_order_change", order.pk)

    for page in (panel.get(CHANGE, rule.pk), panel.get(USES, rule.pk)):
        text = page.content.decode()
        assert all(part in text for part in (order_url, panel.url("customers_customer_change", ada.pk), "3.50 USD"))
    assert panel.url(CHANGE, rule.pk) in panel.open(order_url).content.decode()
    others = admin_client_with("orders", email="sam@example.com")
    assert panel.url(CHANGE, rule.pk) not in others.open(order_url).content.decode()
    assert order_url not in admin_client_with("marketing", email="kim@example.com").get(USES, rule.pk).content.decode()


def test_view_only_access_shows_discounts_and_changes_nothing(admin_client_with: PanelWith) -> None:
    rule = make_code("SUMMER").rule
    viewer = admin_client_with("orders", view_only=["marketing"])

    page = viewer.get(CHANGE, rule.pk).content.decode()

    assert "SUMMER" in page
    assert all(text not in page for text in ("Save discount", "End now", "Add codes…", "Delete…"))
    assert [viewer.get(name, *args).status_code for name, args in ((ADD, ()), (ADD_CODES, (rule.pk,)))] == [403, 403]
    for name in (CHANGE, END, ADD_CODES):
        assert viewer.forge(name, rule.pk, title="Mine", number="1").status_code == 403
    assert viewer.forge(ADD, code="A1", percentage="5", kind="percentage").status_code == 403
    assert (PriceRule.objects.get().title, DiscountCode.objects.count()) == ("Summer", 1)


def test_discounts_of_another_shop_are_neither_shown_nor_changed(panel: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = make_code("FOREIGN")
        product = make_product("Foreign mug")
    rule = make_rule()

    for name, args in (
        *((name, (foreign.rule_id,)) for name in (CHANGE, CODES, ADD_CODES, USES, END)),
        (DELETE_CODE, (foreign.rule_id, foreign.pk)),
        (DELETE_CODE, (rule.pk, foreign.pk)),
    ):
        assert panel.get(name, *args).status_code in {404, 405}, name
        assert panel.forge(name, *args).status_code == 404, name
    assert list_titles(panel, q="FOREIGN") == []
    found = submit(panel, rule, step="find", **find("entitled_product_ids", "foreign"))
    assert found.context["entitled"][0].found == []
    refused = submit(panel, rule, target_selection="entitled", entitled_product_ids=product.pk)
    assert read_errors(refused) == ["Select at least one product or collection."]
    with shop_scope(other_shop):
        foreign.refresh_from_db()
    assert submit(panel, code="FOREIGN", percentage="5").status_code == 302


def test_uses_keep_the_amount_of_their_order() -> None:
    code = make_code("SUMMER")
    order = make_order(codes=[{"code": "summer", "amount": Decimal(50), "type": "percentage"}])

    assert code.uses.get().amount == Decimal(10)
    other = make_code("OTHER")
    record_uses(order, ["OTHER"], enforce=True, at=timezone.now())
    assert other.uses.get().amount is None
