"""Requests for customers and addresses."""

from urllib.parse import urlencode

from benchmarks.bodies.runner import ROOT, Bench, Body
from benchmarks.bodies.shop_data import build_metafields, build_tags

ADDRESSES = 100


def send_customers(bench: Bench, number: int) -> dict[str, int]:
    """Send all requests; return the ids of objects that can own metafields."""
    body = bench.send(
        "POST customers, 100 addresses, 250 metafields and tags, a password",
        "POST",
        "customers.json",
        {
            "customer": _customer(f"largest{number}@example.com"),
        },
    )["customer"]
    path = f"customers/{body['id']}"
    changed = _customer(f"other{number}@example.com") | {"note": "other " * 800, "tags": "a"}
    bench.send("PUT customers, everything", "PUT", f"{path}.json", {"customer": changed})
    bench.send("POST addresses, one more", "POST", f"{path}/addresses.json", {"address": {"city": "Lund"}})
    rows = bench.client.get(f"{ROOT}/{path}/addresses.json?limit=250").json()["addresses"]
    first_path = f"{path}/addresses/{rows[0]['id']}"
    bench.send("PUT addresses", "PUT", f"{first_path}.json", {"address": {"city": "Ystad", "address1": "a" * 255}})
    bench.send("PUT addresses/default", "PUT", f"{first_path}/default.json")
    bench.send("DELETE addresses", "DELETE", f"{path}/addresses/{rows[-1]['id']}.json")
    several = urlencode([("operation", "destroy"), *(("address_ids[]", row["id"]) for row in rows[1:-1])])
    bench.send("PUT addresses/set, all deleted", "PUT", f"{path}/addresses/set.json?{several}")
    plain = _customer(f"gone{number}@example.com") | {"password": None, "password_confirmation": None}
    made_too = bench.client.post(f"{ROOT}/customers.json", {"customer": plain}, "application/json")
    deleted_customer = made_too.json()["customer"]
    bench.send(
        "POST customers/account_activation_url",
        "POST",
        f"customers/{deleted_customer['id']}/account_activation_url.json",
    )
    invite = {"customer_invite": {"subject": "Come in", "custom_message": "word " * 900}}
    bench.send("POST customers/send_invite", "POST", f"customers/{deleted_customer['id']}/send_invite.json", invite)
    bench.send("DELETE customers", "DELETE", f"customers/{deleted_customer['id']}.json")
    pk: int = body["id"]
    return {"customers": pk}


def _customer(email: str) -> Body:
    addresses = [{"address1": f"Street {n}", "city": f"Town {n}", "country": "Sweden"} for n in range(ADDRESSES)]
    secret = "correct horse battery staple"
    return {
        "email": email,
        "tags": build_tags(),
        "note": "word " * 1000,
        "addresses": addresses,
        "metafields": build_metafields(),
        "password": secret,
        "password_confirmation": secret,
    }
