"""Customers and their addresses."""

from urllib.parse import urlencode

from benchmarks.bodies.bench import ROOT, Bench, Body
from benchmarks.bodies.setting import fields, tags

ADDRESSES = 100


def send_all(bench: Bench, number: int) -> dict[str, int]:
    """Send all; returns rows that can own metafields."""
    made = bench.send(
        "POST customers, 100 addresses, 250 metafields and tags, a password",
        "POST",
        "customers.json",
        {
            "customer": _customer(f"largest{number}@example.com"),
        },
    )["customer"]
    path = f"customers/{made['id']}"
    changed = _customer(f"other{number}@example.com") | {"note": "other " * 800, "tags": "a"}
    bench.send("PUT customers, everything", "PUT", f"{path}.json", {"customer": changed})
    bench.send("POST addresses, one more", "POST", f"{path}/addresses.json", {"address": {"city": "Lund"}})
    rows = bench.client.get(f"{ROOT}/{path}/addresses.json?limit=250").json()["addresses"]
    one = f"{path}/addresses/{rows[0]['id']}"
    bench.send("PUT addresses", "PUT", f"{one}.json", {"address": {"city": "Ystad", "address1": "a" * 255}})
    bench.send("PUT addresses/default", "PUT", f"{one}/default.json")
    bench.send("DELETE addresses", "DELETE", f"{path}/addresses/{rows[-1]['id']}.json")
    several = urlencode([("operation", "destroy"), *(("address_ids[]", row["id"]) for row in rows[1:-1])])
    bench.send("PUT addresses/set, all deleted", "PUT", f"{path}/addresses/set.json?{several}")
    plain = _customer(f"gone{number}@example.com") | {"password": None, "password_confirmation": None}
    made_too = bench.client.post(f"{ROOT}/customers.json", {"customer": plain}, "application/json")
    gone = made_too.json()["customer"]
    bench.send("POST customers/account_activation_url", "POST", f"customers/{gone['id']}/account_activation_url.json")
    invite = {"customer_invite": {"subject": "Come in", "custom_message": "word " * 900}}
    bench.send("POST customers/send_invite", "POST", f"customers/{gone['id']}/send_invite.json", invite)
    bench.send("DELETE customers", "DELETE", f"customers/{gone['id']}.json")
    pk: int = made["id"]
    return {"customers": pk}


def _customer(email: str) -> Body:
    addresses = [{"address1": f"Street {n}", "city": f"Town {n}", "country": "Sweden"} for n in range(ADDRESSES)]
    secret = "correct horse battery staple"
    return {
        "email": email,
        "tags": tags(),
        "note": "word " * 1000,
        "addresses": addresses,
        "metafields": fields(),
        "password": secret,
        "password_confirmation": secret,
    }
