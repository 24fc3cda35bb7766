"""Create samples of everything that is not filled from files, with requests from several threads."""

import base64
import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.store_import.api import StoreApi
from tests.support.files.images import make_plain_image
from tests.support.types import JsonObject

T = TypeVar("T")

THREADS = 4
# The remainder of the numbers of orders that are not fulfilled, so that they can be canceled.
UNFULFILLED = 1
THEME_FILES = 20
_ADDRESS = {
    "first_name": "Ada", "last_name": "Lovelace", "address1": "1 Main Street", "city": "Berlin", "zip": "10115",
    "country_code": "DE",
}  # fmt: skip
_RULE = {
    "value_type": "percentage", "value": "-10.0", "customer_selection": "all", "target_type": "line_item",
    "target_selection": "all", "allocation_method": "across", "starts_at": "2024-05-01T00:00:00Z",
}  # fmt: skip


def make_attachment(number: int) -> str:
    return base64.b64encode(make_plain_image("PNG", (20 + number % 40, 20 + number // 40))).decode()


@dataclass
class Samples:
    """Fills a store that has products, customers and orders. ``products`` and so on are the objects of the store."""

    api: StoreApi
    products: Sequence[JsonObject]
    customers: Sequence[JsonObject]
    orders: Sequence[JsonObject]

    @classmethod
    def read(cls, api: StoreApi) -> "Samples":
        return cls(
            api,
            list(api.iterate("products", "&fields=id,variants")),
            list(api.iterate("customers", "&fields=id,email")),
            list(api.iterate("orders", "&status=any&fields=id,line_items")),
        )

    def create_all(self) -> None:
        create, products, orders = self._run, len(self.products), len(self.orders)
        # Drafts get the tax rates of the countries.
        self._create_settings()
        create(self._add_images, self.products[::5])
        create(self._refund, self.orders[::20])
        create(self._cancel, self.orders[UNFULFILLED::50])
        create(self._create_order, range(max(orders // 50, 4)))
        create(self._create_collection, range(max(products // 100, 2)))
        create(self._create_smart_collection, range(3))
        create(self._create_page, range(max(products // 100, 3)))
        create(self._create_rule, range(max(products // 100, 2)))
        create(self._create_gift_card, range(max(orders // 100, 3)))
        create(self._create_blog, range(2))
        create(self._create_draft, range(max(orders // 100, 4)))
        create(self._put_theme_files, self.api.request("GET", "themes.json")["themes"])
        for plural, rows in (("products", self.products), ("customers", self.customers), ("orders", self.orders)):
            create(self._add_metafield, [f"{plural}/{row['id']}" for row in rows[::10]])

    def _run(self, work: Callable[[T], object], rows: Iterable[T]) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(work, rows):
                pass

    def _add_metafield(self, owner: str, number: int = 0) -> None:
        values = {"namespace": "facts", "key": f"about_{number}", "type": "single_line_text_field", "value": "Oak"}
        self.api.create(f"{owner}/metafields", "metafield", values)

    def _get_variant(self, number: int) -> JsonObject:
        variant: JsonObject = self.products[number % len(self.products)]["variants"][number % 3]
        return variant

    def _add_images(self, product: JsonObject) -> None:
        for number in range(2):
            content = {"attachment": make_attachment(product["id"] % 1000 + number), "filename": f"mug-{number}.png"}
            self.api.create(f"products/{product['id']}/images", "image", {**content, "alt": f"Mug {number}"})

    # --- orders

    def _refund(self, order: JsonObject) -> None:
        line = order["line_items"][0]
        units = {"line_item_id": line["id"], "quantity": 1, "restock_type": "no_restock"}
        payment = {"kind": "refund", "amount": "12.50"}
        refund = {"note": "Chipped", "refund_line_items": [units], "transactions": [payment]}
        self.api.create(f"orders/{order['id']}/refunds", "refund", refund)

    def _cancel(self, order: JsonObject) -> None:
        self.api.request("POST", f"orders/{order['id']}/cancel.json", {"reason": "customer"})

    def _create_order(self, number: int) -> None:
        taxes = [{"title": "VAT", "rate": 0.19, "price": "3.99"}]
        lines = [
            {"variant_id": self._get_variant(number)["id"], "quantity": 2, "tax_lines": taxes},
            {"title": "Engraving", "price": "5.00", "quantity": 1, "properties": [{"name": "Text", "value": "Ada"}]},
        ]
        order: JsonObject = {
            "line_items": lines,
            "customer": {"id": self.customers[number % len(self.customers)]["id"]},
            "shipping_lines": [{"title": "Post", "price": "4.90"}],
            "shipping_address": _ADDRESS,
            "billing_address": _ADDRESS,
            "financial_status": "paid" if number % 2 else "pending",
            "tags": "phone",
            "note_attributes": [{"name": "Gift", "value": "yes"}],
        }
        if number % 3 == 0:
            order["discount_codes"] = [{"code": "WELCOME", "amount": "2.50", "type": "fixed_amount"}]
        self.api.create("orders", "order", order)

    def _create_draft(self, number: int) -> None:
        discount = {"title": "Regular", "value": "10.0", "value_type": "percentage", "description": "Regular"}
        line = {"variant_id": self._get_variant(number)["id"], "quantity": 3, "applied_discount": discount}
        custom = {"title": "Engraving", "price": "5.00", "quantity": 1}
        draft = {"note": f"Draft {number}", "line_items": [line, custom], "shipping_address": _ADDRESS}
        customer = self.customers[number % len(self.customers)]
        draft |= {"customer": {"id": customer["id"]}, "email": customer["email"]}
        created = self.api.create("draft_orders", "draft_order", draft)
        if number % 4 == 3:
            self.api.request("PUT", f"draft_orders/{created['id']}/complete.json")

    # --- discounts and gift cards

    def _create_rule(self, number: int) -> None:
        rule: JsonObject = {**_RULE, "title": f"Rule {number}"}
        if number % 2:
            products = [self.products[number % len(self.products)]["id"]]
            rule |= {"target_selection": "entitled", "entitled_product_ids": products, "usage_limit": 20}
        created = self.api.create("price_rules", "price_rule", rule)
        for index in range(10):
            code = {"code": f"RULE-{number}-{index}"}
            self.api.create(f"price_rules/{created['id']}/discount_codes", "discount_code", code)

    def _create_gift_card(self, number: int) -> None:
        card: JsonObject = {"initial_value": "50.00", "note": f"Card {number}", "code": f"benchmark{number:07}"}
        if number % 2:
            card |= {"customer_id": self.customers[number % len(self.customers)]["id"], "expires_on": "2035-01-31"}
        created = self.api.create("gift_cards", "gift_card", card)
        if number % 3 == 0:
            self.api.create(f"gift_cards/{created['id']}/adjustments", "adjustment", {"amount": "-20.50"})
        if number % 5 == 4:
            self.api.request("POST", f"gift_cards/{created['id']}/disable.json", {})

    # --- collections and content

    def _create_collection(self, number: int) -> None:
        members = itertools.islice(itertools.cycle(self.products), number, number + min(20, len(self.products)))
        collection = self.api.create("custom_collections", "custom_collection", {
            "title": f"Collection {number}", "body_html": "<p>The best</p>", "sort_order": "manual",
            "image": {"attachment": make_attachment(number), "alt": "Best"},
            "collects": [{"product_id": product["id"]} for product in members],
        })  # fmt: skip
        self._add_metafield(f"collections/{collection['id']}")

    def _create_smart_collection(self, number: int) -> None:
        rules = [
            {"column": "tag", "relation": "equals", "condition": "blue"},
            {"column": "variant_price", "relation": "greater_than", "condition": str(number * 5)},
        ]
        self.api.create("smart_collections", "smart_collection", {"title": f"Blue {number}", "rules": rules})

    def _create_page(self, number: int) -> None:
        text = f"<p>{'Come in. ' * 50}</p>"
        page = self.api.create("pages", "page", {"title": f"Page {number}", "body_html": text, "author": "Ada"})
        self._add_metafield(f"pages/{page['id']}")
        self.api.create("redirects", "redirect", {"path": f"/old-{number}", "target": f"/pages/{page['handle']}"})

    def _create_blog(self, number: int) -> None:
        blog = self.api.create("blogs", "blog", {"title": f"News {number}", "commentable": "moderate"})
        self._add_metafield(f"blogs/{blog['id']}")
        for index in range(max(len(self.products) // 100, 3)):
            article = self.api.create(f"blogs/{blog['id']}/articles", "article", {
                "title": f"Opening {index}", "author": "Ada", "tags": "shop, new", "body_html": "<p>Come in</p>",
                "image": {"attachment": make_attachment(index), "alt": "The shop"},
            })  # fmt: skip
            self._add_metafield(f"articles/{article['id']}")
            for status in ("published", "unapproved", "spam"):
                comment = {"body": f"A {status} comment", "author": "Bob", "email": "bob@example.com"}
                created = self.api.create("comments", "comment", {**comment, "article_id": article["id"]})
                if status == "spam":
                    self.api.request("POST", f"comments/{created['id']}/spam.json", {})

    def _put_theme_files(self, theme: JsonObject) -> None:
        for number in range(THEME_FILES):
            text = f"<p>{theme['name']} {number}</p>"
            asset = {"key": f"snippets/part-{number}.liquid", "value": text}
            self.api.request("PUT", f"themes/{theme['id']}/assets.json", {"asset": asset})

    def _create_settings(self) -> None:
        self.api.create("countries", "country", {"code": "DE", "tax": 0.19})
        tag = {"event": "onload", "src": "https://scripts.example/app.js"}
        self.api.create("script_tags", "script_tag", tag)
        values = {"namespace": "facts", "key": "founded", "type": "number_integer", "value": "1999"}
        self.api.create("metafields", "metafield", values)
