"""Requests for products, variants, images, collections and inventory levels."""

import json
from itertools import islice, product
from urllib.parse import urlencode

from benchmarks.bodies.runner import ROOT, Bench, Body
from benchmarks.bodies.shop_data import COLLECTS, BenchRows, build_image, build_markup, build_metafields, build_tags
from benchmarks.scale import scale

VARIANTS, IMAGES, RULES, CODES = map(scale, (2048, 250, 60, 250))
# One less than the maximum number of query parameters, because the request has another parameter.
NAMED = scale(999)
# The maximum total size of new images in a body.
MEGAPIXELS = 100
# The maximum number of metafields on all variants in a body.
OF_PARTS = scale(1000)
Owners = dict[str, int]


def build_variants(first: str = "") -> list[Body]:
    """Return the maximum number of variants for a product with three options."""
    values = islice(product(range(8), range(16), range(16)), VARIANTS)
    return [
        {
            "option1": f"{first}{first_first}",
            "option2": f"{two}",
            "option3": f"{three}",
            "price": "9.90",
            "sku": f"{first_first}-{two}",
        }
        for first_first, two, three in values
    ]


def send_catalog(bench: Bench, goods: BenchRows) -> Owners:
    """Send all requests; return the ids of objects that can own metafields."""
    _of_many_variants(bench)
    body = bench.send(
        "POST products, markup, 250 metafields and tags",
        "POST",
        "products.json",
        {
            "product": {
                "title": "Largest",
                "body_html": build_markup(),
                "tags": build_tags(),
                "metafields": build_metafields(),
            }
        },
    )["product"]
    _of_references(bench, goods)
    image = _of_pictures(bench, body["id"])
    _of_stock(bench, goods)
    owners = _of_collections(bench, goods)
    return {"products": body["id"], "variants": body["variants"][0]["id"], "product_images": image, **owners}


def _of_many_variants(bench: Bench) -> None:
    options = [{"name": name} for name in ("One", "Two", "Three")]
    body = {"title": "Largest", "tags": build_tags(), "options": options, "variants": build_variants()}
    new_body = bench.send(f"POST products, {VARIANTS:,} variants", "POST", "products.json", {"product": body})[
        "product"
    ]
    path = f"products/{new_body['id']}"
    ids = [variant["id"] for variant in new_body["variants"]]

    def put(name: str, rows: list[Body]) -> Body:
        changed: Body = bench.send(f"PUT products, {name}", "PUT", f"{path}.json", {"product": {"variants": rows}})
        return changed["product"]

    bench.send("PUT products, unchanged", "PUT", f"{path}.json", {"product": new_body})
    put(f"{VARIANTS:,} prices", [{"id": pk, "price": "10.90"} for pk in ids])
    put(f"{VARIANTS:,} SKUs", [{"id": pk, "sku": f"NEW-{pk}"} for pk in ids])
    put(f"{VARIANTS:,} positions", [{"id": pk, "position": index} for index, pk in enumerate(reversed(ids), start=1)])
    service = {"name": "Bodies", "callback_url": "https://service.example/"}
    handle = bench.made("fulfillment_services.json", {"fulfillment_service": service})["fulfillment_service"]["handle"]
    for name, new in (("a fulfillment service", handle), ("no fulfillment service", "manual")):
        put(f"{VARIANTS:,} variants moved to {name}", [{"id": pk, "fulfillment_service": new} for pk in ids])
    parts = [{"id": pk, "metafields": build_metafields(count=1)} for pk in ids[:OF_PARTS]]
    put(f"{OF_PARTS:,} variant metafields", parts + [{"id": pk} for pk in ids[OF_PARTS:]])
    first = put("all variants replaced", build_variants("other "))["variants"][0]["id"]
    last = {"variant": {"id": first, "position": VARIANTS}}
    bench.send("PUT variants, from the first position to the last", "PUT", f"variants/{first}.json", last)
    bench.send(
        "PUT products/variants, back to the first", "PUT", f"{path}/variants/{first}.json", {"variant": {"position": 1}}
    )
    bench.send("DELETE products/variants, the first", "DELETE", f"{path}/variants/{first}.json")
    more = {"option1": "more", "option2": "1", "option3": "1"}
    bench.send("POST products/variants, one more", "POST", f"{path}/variants.json", {"variant": more})
    bench.send(f"DELETE products, {VARIANTS:,} variants", "DELETE", f"{path}.json")


def _of_references(bench: Bench, goods: BenchRows) -> None:
    from django.conf import settings

    value = json.dumps([f"gid://{settings.BRAND}/Product/{pk}" for pk in goods.products[:128]])
    body = {"product": {"title": "Refers", "metafields": build_metafields(value, "list.product_reference")}}
    bench.send("POST products, 250 × 128 references", "POST", "products.json", body)


def _of_pictures(bench: Bench, product_id: int) -> int:
    path = f"products/{product_id}/images"
    largest = {"image": {"attachment": build_image(5000, 5000), "metafields": build_metafields()}}
    new_body = bench.send("POST images, 25 megapixels, rotated", "POST", f"{path}.json", largest)["image"]
    lossless = {"image": {"attachment": build_image(2580, 2580, "PNG")}}
    bench.send("POST images, PNG of 20 MB, rotated", "POST", f"{path}.json", lossless)
    changed = {"image": {"alt": "a" * 512, "position": 2, "metafields": build_metafields("other")}}
    bench.send("PUT images", "PUT", f"{path}/{new_body['id']}.json", changed)
    single = {"attachment": build_image(300, 300)}
    body = {"product": {"title": "Pictures", "images": [single] * IMAGES}}
    flat = {"attachment": build_image(5000, 5000, "PNG", flat=True)}
    vast = {"product": {"title": "Vast", "images": [flat] * (MEGAPIXELS // 25)}}
    bench.send(f"POST products, {MEGAPIXELS} megapixels", "POST", "products.json", vast)
    many_product = bench.send(f"POST products, {IMAGES} small images", "POST", "products.json", body)["product"]
    turned = [{"id": image["id"], "alt": "other"} for image in reversed(many_product["images"])]
    body = {"product": {"images": turned}}
    bench.send(f"PUT products, {IMAGES} images in a new order", "PUT", f"products/{many_product['id']}.json", body)
    first = f"products/{many_product['id']}/images/{many_product['images'][0]['id']}.json"
    bench.send(f"DELETE images, one of {IMAGES}", "DELETE", first)
    bench.send(f"DELETE products, {IMAGES} images", "DELETE", f"products/{many_product['id']}.json")
    pk: int = new_body["id"]
    return pk


def _of_collections(bench: Bench, goods: BenchRows) -> Owners:
    image = {"attachment": build_image(5000, 5000)}
    body: Body = {
        "title": "By hand",
        "body_html": build_markup(),
        "collects": [{"product_id": pk} for pk in goods.products],
    }
    body |= {"metafields": build_metafields()}
    path = "custom_collections"
    new_body = bench.send(f"POST {path}, {COLLECTS:,} products", "POST", f"{path}.json", {"custom_collection": body})
    pk = new_body["custom_collection"]["id"]
    places = [{"product_id": pk, "position": index} for index, pk in enumerate(reversed(goods.products), start=1)]
    first = {"custom_collection": {"collects": places}}
    bench.send(f"PUT {path}, {COLLECTS:,} new positions", "PUT", f"{path}/{pk}.json", first)
    picture_too = {"custom_collection": {"image": image}}
    bench.send(f"PUT {path}, 25 megapixels, rotated", "PUT", f"{path}/{pk}.json", picture_too)
    collect = bench.client.get(f"{ROOT}/collects.json?collection_id={pk}&limit=1").json()["collects"][0]
    bench.send(f"DELETE collects, one of {COLLECTS:,}", "DELETE", f"collects/{collect['id']}.json")
    back = {"collect": {"collection_id": pk, "product_id": collect["product_id"], "position": 1}}
    bench.send(f"POST collects, the first of {COLLECTS:,}", "POST", "collects.json", back)
    other = bench.client.post(f"{ROOT}/{path}.json", {"custom_collection": body}, "application/json").json()
    bench.send(f"DELETE {path}, {COLLECTS:,} products", "DELETE", f"{path}/{other['custom_collection']['id']}.json")
    return {"collections": pk, "custom_collections": pk, "smart_collections": _of_rules(bench, goods)}


def _of_rules(bench: Bench, goods: BenchRows) -> int:
    path = "smart_collections"
    rules = [{"column": "title", "relation": "contains", "condition": f"{n} {'word ' * 45}"} for n in range(RULES)]
    rules[0]["condition"] = "a"
    ruled: Body = {"title": "By rules", "rules": rules, "disjunctive": True, "body_html": build_markup()}
    body = bench.send(f"POST {path}, {RULES} rules", "POST", f"{path}.json", {"smart_collection": ruled})
    pk: int = body["smart_collection"]["id"]
    fewer = {"smart_collection": {"rules": [{"column": "title", "relation": "not_equals", "condition": "none"}]}}
    bench.send(f"PUT {path}", "PUT", f"{path}/{pk}.json", fewer)
    everything = urlencode([("sort_order", "manual"), *(("products[]", pk) for pk in goods.products[:NAMED])])
    bench.send(f"PUT {path}/order, {NAMED} products", "PUT", f"{path}/{pk}/order.json?{everything}")
    other = bench.client.post(f"{ROOT}/{path}.json", {"smart_collection": ruled}, "application/json").json()
    bench.send(f"DELETE {path}", "DELETE", f"{path}/{other['smart_collection']['id']}.json")
    return pk


def _of_stock(bench: Bench, goods: BenchRows) -> None:
    from apps.shops.domain.countries import get_countries

    own, there = ({"inventory_item_id": goods.item, "location_id": pk} for pk in goods.location)
    codes = [
        {"country_code": country.code, "harmonized_system_code": "123456.789012"} for country in get_countries()[:CODES]
    ]
    item = {"inventory_item": {"sku": "S" * 255, "country_harmonized_system_codes": codes}}
    bench.send(f"PUT inventory_items, {CODES} customs numbers", "PUT", f"inventory_items/{goods.item}.json", item)
    bench.send("POST inventory_levels/set", "POST", "inventory_levels/set.json", own | {"available": 7})
    bench.send(
        "POST inventory_levels/adjust", "POST", "inventory_levels/adjust.json", own | {"available_adjustment": 3}
    )
    bench.send("POST inventory_levels/connect", "POST", "inventory_levels/connect.json", there)
    bench.send("DELETE inventory_levels", "DELETE", f"inventory_levels.json?{urlencode(there)}")
