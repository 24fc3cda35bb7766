from apps.core.types import Attrs
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.customers import make_address, make_customer

CUSTOMER = {"customer": {"first_name": "Ada", "email": "ada@example.com"}}
ADDRESS = {"address": {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"}}
INVITE = {"customer_invite": {"subject": "Come in"}}


def make_customer_id(world: SampleContext) -> Attrs:
    return {"id": make_customer(first_name="Some").pk}


def make_address_ids(world: SampleContext) -> Attrs:
    customer = make_customer()
    return {"customer_id": customer.pk, "id": make_address(customer).pk}


def make_customer_parent(world: SampleContext) -> Attrs:
    return {"customer_id": make_address_ids(world)["customer_id"]}


register_resource("customers", CUSTOMER, CUSTOMER, make_customer_id)
register_sample("GET customers/tags.json", arrange=make_customer_id)
register_sample("GET customers/search.json", arrange=make_customer_id, query={"query": "first_name:Some"})
register_sample("POST customers/<id>/account_activation_url.json", arrange=make_customer_id, bodiless=True)
register_sample("POST customers/<id>/send_invite.json", INVITE, arrange=make_customer_id, status=201, bodiless=True)
register_resource(
    "customers/<customer_id>/addresses",
    ADDRESS,
    ADDRESS,
    make_address_ids,
    many=make_customer_parent,
    parent=make_customer_parent,
    count=False,
)
register_sample(
    "PUT customers/<customer_id>/addresses/set.json",
    arrange=make_address_ids,
    query=lambda arguments: {"operation": "destroy", "address_ids[]": arguments["id"]},
)
register_sample("PUT customers/<customer_id>/addresses/<id>/default.json", arrange=make_address_ids)
