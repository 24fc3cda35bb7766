import pytest

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.jobs.queue import run_job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain import batches
from apps.discounts.models import CodeBatch, DiscountCode
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import make_product
from tests.support.factories.discounts import make_batch, make_code, make_rule
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

TABLE = "discount_code"


def test_codes_fit_the_wire_table(api: ApiClient) -> None:
    rule = make_rule()
    path = f"price_rules/{rule.pk}/discount_codes"

    created = api.post(f"{path}.json", {"discount_code": {"code": " Summer "}})
    assert created.status_code == 201, created.content
    code = created.json()["discount_code"]
    changed = api.put(f"{path}/{code['id']}.json", {"discount_code": {"code": "Winter"}})

    assert_fits(TABLE, "POST /price_rules/{id}/discount_codes.json", created.json())
    assert_fits(TABLE, "PUT /price_rules/{id}/discount_codes/{id}.json", changed.json())
    assert_fits(TABLE, "GET /price_rules/{id}/discount_codes.json", api.get(f"{path}.json").json())
    assert_fits(TABLE, "GET /price_rules/{id}/discount_codes/{id}.json", api.get(f"{path}/{code['id']}.json").json())
    assert_fits(TABLE, "GET /discount_codes/count.json", api.get("discount_codes/count.json").json())
    assert (code["code"], code["usage_count"], code["price_rule_id"]) == ("Summer", 0, rule.pk)
    assert Event.objects.get(topic="discount_codes/update").changes["code"] == ["Summer", "Winter"]
    assert api.delete(f"{path}/{code['id']}.json").json() == {}
    assert not DiscountCode.objects.exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("summer", "has already been taken"),
        ("ＳＵＭＭＥＲ", None),
        ("  ", "can't be blank"),
        ("a" * 256, "is too long (maximum is 255 characters)"),
        ("a\nb", "must not contain line breaks or other control characters"),
    ],
)
def test_codes_are_unique_regardless_of_case(api: ApiClient, code: str, message: str | None) -> None:
    make_code("SUMMER")
    other = make_rule()

    response = api.post(f"price_rules/{other.pk}/discount_codes.json", {"discount_code": {"code": code}})

    if message is None:
        assert response.status_code == 201
    else:
        assert (response.status_code, get_errors(response)) == (422, {"code": [message]})


def test_other_shops_may_have_the_same_code(api: ApiClient, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        make_code("SUMMER")

    assert api.get("discount_codes/lookup.json", code="SUMMER").status_code == 404
    make_code("SUMMER")
    assert api.get("discount_codes/count.json").json() == {"count": 1}


def test_a_code_is_looked_up(api: ApiClient) -> None:
    code = make_code("Straße")

    response = api.get("discount_codes/lookup.json", code=" STRASSE")

    assert response.status_code == 303
    assert response["Location"].endswith(f"/price_rules/{code.rule_id}/discount_codes/{code.pk}.json")
    assert response.json()["discount_code"]["code"] == "Straße"
    assert api.get("discount_codes/lookup.json", code="Other").status_code == 404
    assert api.get("discount_codes/lookup.json").status_code == 400


def test_codes_are_counted_by_their_uses(api: ApiClient) -> None:
    for number in range(3):
        make_code(f"A{number}")
        DiscountCode.objects.filter(code=f"A{number}").update(usage_count=number)

    def count(**query: str) -> int:
        return int(api.get("discount_codes/count.json", **query).json()["count"])

    assert count() == 3
    assert count(times_used="2") == 1
    assert count(times_used_min="1") == 2
    assert count(times_used_max="1") == 2
    assert api.get("discount_codes/count.json", times_used="x").status_code == 400


def test_a_batch_reports_each_code(api: ApiClient) -> None:
    make_code("TAKEN")
    rule = make_rule()
    path = f"price_rules/{rule.pk}/batch"
    codes = [{"code": text} for text in ("A", "taken", "", "a", "B")]

    created = api.post(f"{path}.json", {"discount_codes": codes})
    assert created.status_code == 201, created.content
    batch = created.json()["discount_code_creation"]
    assert_fits(TABLE, "POST /price_rules/{id}/batch.json", created.json())
    assert (batch["status"], batch["codes_count"], batch["imported_count"]) == ("queued", 5, 0)
    waiting = api.get(f"{path}/{batch['id']}/discount_codes.json").json()
    assert_fits(TABLE, "GET /price_rules/{id}/batch/{id}/discount_codes.json", waiting)
    assert_fits(TABLE, "GET /price_rules/{id}/batch/{id}.json", api.get(f"{path}/{batch['id']}.json").json())

    for _ in range(2):
        run_job(Job.objects.get(task=batches.TASK).key)

    done = api.get(f"{path}/{batch['id']}.json").json()["discount_code_creation"]
    assert (done["status"], done["imported_count"], done["failed_count"]) == ("completed", 2, 3)
    assert done["started_at"]
    assert done["completed_at"]
    results = api.get(f"{path}/{batch['id']}/discount_codes.json").json()["discount_codes"]
    taken, blank = {"code": ["has already been taken"]}, {"code": ["can't be blank"]}
    assert [result["errors"] for result in results] == [{}, taken, blank, taken, {}]
    ids = [result["id"] for result in results if result["id"]]
    assert ids == list(rule.codes.order_by("pk").values_list("pk", flat=True))


def test_a_batch_has_1_to_100_codes(api: ApiClient) -> None:
    path = f"price_rules/{make_rule().pk}/batch.json"

    assert api.post(path, {"discount_codes": []}).status_code == 422
    too_many = api.post(path, {"discount_codes": [{"code": f"A{number}"} for number in range(101)]})
    assert get_errors(too_many) == {"discount_codes": ["has too many entries (maximum is 100)"]}
    assert api.post(path, {"discount_codes": [{"code": f"A{number}"} for number in range(100)]}).status_code == 201


def test_a_failed_job_completes_the_batch() -> None:
    batch = make_batch("A", "B")

    batches.fail_batch(Job.objects.get(task=batches.TASK))

    batch.refresh_from_db()
    assert (batch.status, batch.failed_count) == (CodeBatch.Status.COMPLETED, 2)


def test_discounts_of_a_cart_are_calculated(api: ApiClient) -> None:
    variant = make_product().variants.get()
    type(variant).objects.filter(pk=variant.pk).update(price="20.00")
    make_code("TEN", make_rule("-10"))
    make_code("SHIP", make_rule("-100", target_type="shipping_line", allocation_method="each"))
    body = {
        "line_items": [
            {"variant_id": variant.pk, "quantity": 2, "total_discount": "1.00"},
            {"price": "0.99", "quantity": 1},
        ],
        "shipping_lines": [{"price": "5.00"}],
        "discount_codes": ["ten", "ship", "none"],
    }

    response = api.post("discounts/calculate.json", body)

    assert response.status_code == 200, response.content
    result = response.json()["discount_calculation"]
    assert [line["discount_allocations"] for line in result["line_items"]] == [
        [{"amount": "3.90", "discount_application_index": 0}],
        [{"amount": "0.10", "discount_application_index": 0}],
    ]
    assert result["shipping_lines"][0]["discount_allocations"] == [{"amount": "5.00", "discount_application_index": 1}]
    assert (result["subtotal_price"], result["total_discounts"], result["total_price"]) == ("39.99", "9.00", "35.99")
    assert result["refused_codes"] == [{"code": "none", "reason": "The discount code does not exist"}]


def test_bad_carts_are_refused(api: ApiClient) -> None:
    body = {
        "line_items": [
            {"variant_id": 7, "quantity": 1, "price": "1"},
            {"quantity": 1},
            {"quantity": 1, "price": "1", "total_discount": "2"},
        ],
        "customer": {"id": 7},
        "discount_codes": ["A"],
    }

    response = api.post("discounts/calculate.json", body)

    assert get_errors(response) == {
        "line_items.0.variant_id": ["must exist"],
        "line_items.1.price": ["can't be blank"],
        "line_items.2.total_discount": ["must be less than or equal to 1"],
        "customer.id": ["must exist"],
    }
    assert get_errors(api.post("discounts/calculate.json", {**body, "currency": "XXX"})) == {"currency": ["is invalid"]}


@pytest.mark.parametrize("scope", ["price_rules", "discounts"])
def test_codes_need_one_of_two_scopes(client_with: object, scope: str) -> None:
    code = make_code()
    api = client_with(f"read_{scope}")  # type: ignore[operator]
    path = f"price_rules/{code.rule_id}/discount_codes"

    assert api.get(f"{path}.json").status_code == 200
    assert api.post(f"{path}.json", {"discount_code": {"code": "A"}}).status_code == 403
    assert api.get("price_rules.json").status_code == (200 if scope == "price_rules" else 403)
