"""Requests for the shop and the app itself."""

from tests.samples import sample

sample("GET shop.json")
sample("GET currencies.json")
sample("GET /admin/oauth/access_scopes.json")
sample("DELETE /admin/api_permissions/current.json")
sample("DELETE api_permissions/current.json")
