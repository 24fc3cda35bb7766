"""Requests for customers and their addresses."""

from typing import Any

from tests.customers.factories import make_address, make_customer
from tests.samples import World, sample

CUSTOMER = {"customer": {"first_name": "Ada", "email": "ada@example.com"}}
ADDRESS = {"address": {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"}}
INVITE = {"customer_invite": {"subject": "Come in"}}


def one_customer(world: World) -> dict[str, Any]:
    return {"id": make_customer(first_name="Some").pk}


def one_address(world: World) -> dict[str, Any]:
    customer = make_customer()
    return {"customer_id": customer.pk, "id": make_address(customer).pk}


def of_customer(world: World) -> dict[str, Any]:
    return {"customer_id": one_address(world)["customer_id"]}


sample("GET customers.json", arrange=one_customer)
sample("POST customers.json", CUSTOMER, status=201)
sample("GET customers/count.json", arrange=one_customer)
sample("GET customers/search.json", arrange=one_customer, query={"query": "first_name:Some"})
sample("GET customers/<id>.json", arrange=one_customer)
sample("PUT customers/<id>.json", CUSTOMER, arrange=one_customer)
sample("DELETE customers/<id>.json", arrange=one_customer)
sample("POST customers/<id>/account_activation_url.json", arrange=one_customer, bodiless=True)
sample("POST customers/<id>/send_invite.json", INVITE, arrange=one_customer, status=201, bodiless=True)
sample("GET customers/<customer_id>/addresses.json", arrange=of_customer)
sample("POST customers/<customer_id>/addresses.json", ADDRESS, arrange=of_customer, status=201)
sample(
    "PUT customers/<customer_id>/addresses/set.json",
    arrange=one_address,
    query=lambda arguments: {"operation": "destroy", "address_ids[]": arguments["id"]},
)
sample("GET customers/<customer_id>/addresses/<id>.json", arrange=one_address)
sample("PUT customers/<customer_id>/addresses/<id>.json", ADDRESS, arrange=one_address)
sample("DELETE customers/<customer_id>/addresses/<id>.json", arrange=one_address)
sample("PUT customers/<customer_id>/addresses/<id>/default.json", arrange=one_address)
