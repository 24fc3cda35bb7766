from tests.samples import register_sample

register_sample("GET shop.json")
register_sample("GET currencies.json")
register_sample("GET /admin/oauth/access_scopes.json")
register_sample("DELETE /admin/api_permissions/current.json")
register_sample("DELETE api_permissions/current.json")
