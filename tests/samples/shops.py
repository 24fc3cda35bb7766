from apps.core.types import Attrs
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.countries import make_country


def make_country_id(world: SampleContext) -> Attrs:
    return {"id": make_country().pk}


def make_country_parent(world: SampleContext) -> Attrs:
    return {"country_id": make_country().pk}


def make_province_ids(world: SampleContext) -> Attrs:
    country = make_country()
    return {"country_id": country.pk, "id": country.provinces.order_by("id")[0].pk}


register_sample("GET shop.json")
register_sample("GET currencies.json")
register_resource(
    "countries", {"country": {"code": "CA", "tax": 0.05}}, {"country": {"tax": 0.1, "tax_name": "GST"}}, make_country_id
)
register_sample("GET countries/<country_id>/provinces.json", arrange=make_country_parent)
register_sample("GET countries/<country_id>/provinces/count.json", arrange=make_country_parent)
register_sample("GET countries/<country_id>/provinces/<id>.json", arrange=make_province_ids)
register_sample(
    "PUT countries/<country_id>/provinces/<id>.json",
    {"province": {"tax": 0.13, "tax_name": "HST", "tax_type": "harmonized"}},
    arrange=make_province_ids,
)
register_sample("GET shipping_zones.json", arrange=make_country_id)
register_sample("GET /admin/oauth/access_scopes.json")
register_sample("DELETE /admin/api_permissions/current.json")
register_sample("DELETE api_permissions/current.json")
