"""What is done inside an installation, with the code of the folder that it is started in.

``python inside.py fill`` makes the data set of the fixture and prints its facts; ``migrate`` and ``check`` are those of
an upgrade; ``ask TOKEN PATH…`` prints what the interface answers; ``write TOKEN`` makes one of each thing besides. It
is run with releases that have passed, so it uses commands and the interface alone.
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
CHECKS = ("check_money", "check_stock", "check_blobs")


def printed(command: str, *arguments: str) -> str:
    """What a command says."""
    said = io.StringIO()
    call_command(command, *arguments, stdout=said)
    return said.getvalue()


class Caller:
    """An app with its token."""

    def __init__(self, token: str) -> None:
        self._http = Client(headers={"X-Platform-Access-Token": token}, SERVER_NAME=DOMAIN)

    def get(self, path: str) -> Any:
        answer = self._http.get(BASE + path)
        assert answer.status_code == 200, (path, answer.status_code, answer.content[:500])
        return answer.json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._http.post(BASE + path, body, content_type="application/json")
        assert answer.status_code in {200, 201}, (path, answer.status_code, answer.content[:500])
        (thing,) = answer.json().values()
        return thing


def write(token: str, mark: str) -> list[str]:
    """Make one of each thing; the paths under which they are read again."""
    caller = Caller(token)
    picture = {"attachment": PIXEL, "filename": f"{mark}.gif"}
    variants = [{"option1": "Red", "price": "19.95"}, {"option1": "Blue", "price": "21.50"}]
    product = caller.post(
        "products.json",
        {
            "product": {
                "title": f"Chair {mark}",
                "options": [{"name": "Color"}],
                "variants": variants,
                "images": [picture],
            }
        },
    )
    address = {"address1": "Main Street 1", "city": "Berlin", "country": "Germany", "zip": "10115"}
    customer = caller.post("customers.json", {"customer": {"email": f"{mark}@example.com", "addresses": [address]}})
    lines = [{"variant_id": each["id"], "quantity": 2} for each in product["variants"]]
    paid = [{"kind": "sale", "status": "success", "amount": "82.90"}]
    order = caller.post(
        "orders.json",
        {"order": {"customer": {"id": customer["id"]}, "line_items": lines, "transactions": paid}},
    )
    blog = caller.post("blogs.json", {"blog": {"title": f"News {mark}"}})
    article = caller.post(f"blogs/{blog['id']}/articles.json", {"article": {"title": mark, "body_html": "<p>Text</p>"}})
    source = f"https://scripts.example/{mark}.js"
    tag = caller.post("script_tags.json", {"script_tag": {"event": "onload", "src": source}})
    hook = {"topic": "orders/create", "address": "https://receiver.example/hook", "format": "json"}
    subscription = caller.post("webhooks.json", {"webhook": {**hook, "address": f"{hook['address']}/{mark}"}})
    return [
        f"products/{product['id']}.json",
        f"customers/{customer['id']}.json",
        f"orders/{order['id']}.json",
        f"orders/{order['id']}/transactions.json",
        f"blogs/{blog['id']}/articles/{article['id']}.json",
        f"script_tags/{tag['id']}.json",
        f"webhooks/{subscription['id']}.json",
    ]


def answers(token: str, paths: list[str]) -> dict[str, Any]:
    """What the interface says at each path."""
    caller = Caller(token)
    return {path: caller.get(path) for path in paths}


def check() -> None:
    """The checks of an installation; the first that finds a difference ends with an error."""
    for command in CHECKS:
        printed(command)


def fill() -> dict[str, Any]:
    """An empty database, migrated, with a shop in it: the token's clear text and what it is answered."""
    printed("migrate", "--verbosity", "0")
    printed("create_shop", DOMAIN, "--name", "Kept", "--currency", "EUR", "--country", "DE")
    made = json.loads(printed("create_app", "Kept app", "--shop", DOMAIN, "--scopes", SCOPES, "--json"))
    token = made["access_token"]
    paths = [path for mark in ("first", "second", "third") for path in write(token, mark)]
    check()
    return {"token": token, "answers": answers(token, paths)}


def main(work: str, *arguments: str) -> Any:
    if work == "fill":
        return fill()
    if work == "migrate":
        return printed("migrate", "--verbosity", "0")
    if work == "check":
        return check()
    if work == "write":
        (token,) = arguments
        return answers(token, write(token, "besides"))
    token, *paths = arguments
    return answers(token, paths)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201
