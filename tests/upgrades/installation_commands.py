"""Run a command inside an installation, with the code in the current folder.

- ``fill`` creates the fixture's data, and prints the access token and the responses of the API.
- ``migrate`` and ``check`` run the migrations and the checks of an upgrade.
- ``ask TOKEN PATH…`` prints responses of the API.
- ``write TOKEN`` creates an object of each type.

The script only uses management commands and the API, because it also runs with past releases.
"""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))
os.environ["DJANGO_SETTINGS_MODULE"] = "backoffice.settings"

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

DOMAIN = "kept.localhost"
BASE = "/admin/api/2026-07/"
SCOPES = (
    "read_products,write_products,read_customers,write_customers,read_orders,write_orders,"
    "read_content,write_content,read_script_tags,write_script_tags,read_themes,write_themes"
)
PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def run_command(command: str, *arguments: str) -> str:
    output = io.StringIO()
    call_command(command, *arguments, stdout=output)
    return output.getvalue()


class AppClient:
    def __init__(self, token: str) -> None:
        self._http = Client(headers={"X-Platform-Access-Token": token}, SERVER_NAME=DOMAIN)

    def get(self, path: str) -> Any:
        response = self._http.get(BASE + path)
        assert response.status_code == 200, (path, response.status_code, response.content[:500])
        return response.json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        response = self._http.post(BASE + path, body, content_type="application/json")
        assert response.status_code in {200, 201}, (path, response.status_code, response.content[:500])
        (thing,) = response.json().values()
        return thing


def create_objects(token: str, mark: str) -> list[str]:
    caller = AppClient(token)
    parts = {
        "options": [{"name": "Color"}],
        "variants": [{"option1": "Red", "price": "19.95"}, {"option1": "Blue", "price": "21.50"}],
        "images": [{"attachment": PIXEL, "filename": f"{mark}.gif"}],
    }
    product = caller.post("products.json", {"product": {"title": f"Chair {mark}", **parts}})
    address = {"address1": "Main Street 1", "city": "Berlin", "country": "Germany", "zip": "10115"}
    customer = caller.post("customers.json", {"customer": {"email": f"{mark}@example.com", "addresses": [address]}})
    lines = [{"variant_id": variant["id"], "quantity": 2} for variant in product["variants"]]
    sales = [{"kind": "sale", "status": "success", "amount": "82.90"}]
    buyer = {"id": customer["id"]}
    order = caller.post("orders.json", {"order": {"customer": buyer, "line_items": lines, "transactions": sales}})
    blog = caller.post("blogs.json", {"blog": {"title": f"News {mark}"}})
    article = caller.post(f"blogs/{blog['id']}/articles.json", {"article": {"title": mark, "body_html": "<p>Text</p>"}})
    tag = {"event": "onload", "src": f"https://scripts.example/{mark}.js"}
    tag_id = caller.post("script_tags.json", {"script_tag": tag})["id"]
    hook = {"topic": "orders/create", "address": f"https://receiver.example/hook/{mark}", "format": "json"}
    subscription = caller.post("webhooks.json", {"webhook": hook})
    return [
        f"products/{product['id']}.json",
        f"customers/{customer['id']}.json",
        f"orders/{order['id']}.json",
        f"orders/{order['id']}/transactions.json",
        f"blogs/{blog['id']}/articles/{article['id']}.json",
        f"script_tags/{tag_id}.json",
        f"webhooks/{subscription['id']}.json",
    ]


def read_paths(token: str, paths: list[str]) -> dict[str, Any]:
    caller = AppClient(token)
    return {path: caller.get(path) for path in paths}


def run_checks() -> None:
    """Run the consistency checks. The first difference raises an error."""
    for command in ("check_money", "check_stock", "check_blobs"):
        run_command(command)


def fill_database() -> dict[str, Any]:
    run_command("migrate", "--verbosity", "0")
    run_command("create_shop", DOMAIN, "--name", "Kept", "--currency", "EUR", "--country", "DE")
    credentials = json.loads(run_command("create_app", "Kept app", "--shop", DOMAIN, "--scopes", SCOPES, "--json"))
    token = credentials["access_token"]
    paths = [path for mark in ("first", "second", "third") for path in create_objects(token, mark)]
    run_checks()
    return {"token": token, "answers": read_paths(token, paths)}


def main(work: str, *arguments: str) -> Any:
    if work == "fill":
        return fill_database()
    if work == "migrate":
        return run_command("migrate", "--verbosity", "0")
    if work == "check":
        return run_checks()
    if work == "write":
        (token,) = arguments
        return read_paths(token, create_objects(token, "besides"))
    token, *paths = arguments
    return read_paths(token, paths)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201
