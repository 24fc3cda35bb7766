from tests.support.api_client import ApiClient, ClientWith
from tests.support.wire_tables import find_misfits


def test_the_installed_gateways_are_listed(api: ApiClient) -> None:
    body = api.get("payment_gateways.json").json()

    rows = {row["name"]: row for row in body["payment_gateways"]}
    assert {name: (row["processing_method"], row["sandbox"]) for name, row in rows.items()} == {
        "manual": ("manual", False),
        "bogus": ("direct", True),
        "gift_card": ("direct", False),
    }
    # No gateway here has an account at a wallet.
    account = "metadata.google_pay_merchant_id is missing"
    misfits = find_misfits("payment_gateway", "GET /payment_gateways.json", body)
    assert [text for text in misfits if not text.endswith(account)] == []


def test_one_gateway_is_found_by_its_id(api: ApiClient) -> None:
    row = api.get("payment_gateways.json").json()["payment_gateways"][0]

    assert api.get(f"payment_gateways/{row['id']}.json").json() == {"payment": row}
    assert api.get("payment_gateways/7.json").status_code == 404


def test_disabled_selects_no_gateway(api: ApiClient) -> None:
    assert api.get("payment_gateways.json", disabled="true").json() == {"payment_gateways": []}
    assert len(api.get("payment_gateways.json", disabled="false").json()["payment_gateways"]) == 3
    response = api.get("payment_gateways.json", disabled="perhaps")
    assert (response.status_code, response.json()) == (400, {"errors": {"disabled": "is invalid"}})


def test_gateways_are_read_only(api: ApiClient, client_with: ClientWith) -> None:
    assert api.post("payment_gateways.json", {"payment_gateway": {"provider_id": 7}}).status_code == 405
    assert client_with("read_orders").get("payment_gateways.json").status_code == 403
