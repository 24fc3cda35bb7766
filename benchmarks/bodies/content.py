"""Requests for script tags, blogs, articles, themes, theme files and mobile apps."""

import base64
from urllib.parse import quote

from benchmarks.bodies.runner import ROOT, Bench, Body
from benchmarks.bodies.shop_data import BenchRows, build_image, build_markup, build_metafields, build_tags
from benchmarks.scale import scale

FILES = scale(10_000)


def send_content(bench: Bench, goods: BenchRows) -> dict[str, int]:
    """Send all requests; return the ids of objects that can own metafields."""
    _of_themes(bench, goods)
    _of_apps(bench)
    return _of_blogs(bench)


def _of_blogs(bench: Bench) -> dict[str, int]:
    blog = bench.send("POST blogs, 250 metafields", "POST", "blogs.json", {"blog": _titled()})["blog"]["id"]
    bench.send(
        "PUT blogs", "PUT", f"blogs/{blog}.json", {"blog": {"title": "Other", "metafields": build_metafields("other")}}
    )
    path = f"blogs/{blog}/articles"
    article = _titled() | {"body_html": build_markup(), "summary_html": "word " * 1_000, "tags": build_tags()}
    name = "articles, markup, 250 tags and metafields"
    body = bench.send(f"POST {name}", "POST", f"{path}.json", {"article": article})["article"]["id"]
    pictured = {
        "article": {
            "image": {"attachment": build_image(1200, 1200)},
            "body_html": build_markup()[::-1].replace("<", ""),
        }
    }
    bench.send(f"PUT {name}", "PUT", f"{path}/{body}.json", pictured)
    other = bench.client.post(f"{ROOT}/{path}.json", {"article": article}, "application/json").json()["article"]["id"]
    bench.send("DELETE articles", "DELETE", f"{path}/{other}.json")
    deleted_row_id = bench.client.post(f"{ROOT}/blogs.json", {"blog": _titled()}, "application/json").json()["blog"][
        "id"
    ]
    for _ in range(50):
        bench.client.post(f"{ROOT}/blogs/{deleted_row_id}/articles.json", {"article": article}, "application/json")
    bench.send("DELETE blogs, 50 articles", "DELETE", f"blogs/{deleted_row_id}.json")
    page = _titled() | {"body_html": build_markup()}
    made = bench.send("POST pages, markup, 250 metafields", "POST", "pages.json", {"page": page})["page"]["id"]
    bench.send("PUT pages, markup", "PUT", f"pages/{made}.json", {"page": {"body_html": build_markup()[::-1]}})
    bench.send("DELETE pages, 250 metafields", "DELETE", f"pages/{made}.json")
    return {"blogs": blog, "articles": body}


def _titled() -> Body:
    return {"title": "Largest", "metafields": build_metafields()}


def _of_themes(bench: Bench, goods: BenchRows) -> None:
    theme = {"theme": {"name": "Largest", "src": "https://themes.example/largest.zip"}}
    body = bench.send("POST themes", "POST", "themes.json", theme)["theme"]["id"]
    bench.send("PUT themes", "PUT", f"themes/{body}.json", {"theme": {"name": "Other"}})
    _unpack(goods, body)
    bench.send(f"DELETE themes, {FILES:,} files", "DELETE", f"themes/{body}.json")
    main = next(row["id"] for row in bench.client.get(f"{ROOT}/themes.json").json()["themes"] if row["role"] == "main")
    path = f"themes/{main}/assets.json"
    script = "let a = 1;\n" * 23_831
    nested = "[" + "[1]," * 65_000 + "1]"
    raw = base64.b64encode(bytes(range(256)) * 3_000).decode()
    for key, content in {
        "assets/a.js": {"value": script},
        "config/a.json": {"value": nested},
        "assets/a.bin": {"attachment": raw},
    }.items():
        bench.send("PUT assets, maximum size", "PUT", path, {"asset": {"key": key, **content}})
        bench.send("DELETE assets", "DELETE", f"{path}?asset%5Bkey%5D={quote(key)}")


def _unpack(goods: BenchRows, theme_id: int) -> None:
    """Add files to a theme as the worker does: the maximum number that an archive may contain."""
    from django.utils import timezone

    from apps.content.domain import blob_store, themes
    from apps.core.tenancy.scope import shop_scope

    with shop_scope(goods.shop):
        content = blob_store.store_blob(b"content")
        files = {f"assets/{number}.txt": content for number in range(FILES)}
        themes.install_theme_files(theme_id, files, actor="system", at=timezone.now())


def _of_apps(bench: Bench) -> None:
    tag = {"script_tag": {"src": "https://scripts.example/" + "a" * 200, "event": "onload"}}
    body = bench.send("POST script_tags", "POST", "script_tags.json", tag)["script_tag"]["id"]
    bench.send("PUT script_tags", "PUT", f"script_tags/{body}.json", {"script_tag": {"src": "https://a.example/b"}})
    bench.send("DELETE script_tags", "DELETE", f"script_tags/{body}.json")
    path, name = "mobile_platform_applications", "mobile_platform_application"
    prints = [":".join([f"{number:02X}"] * 32) for number in range(50)]
    app = {"platform": "android", "application_id": "example.app", "sha256_cert_fingerprints": prints}
    body = bench.send(f"POST {path}", "POST", f"{path}.json", {name: app})[name]["id"]
    fewer = {name: {"sha256_cert_fingerprints": prints[1:]}}
    bench.send(f"PUT {path}", "PUT", f"{path}/{body}.json", fewer)
    bench.send(f"DELETE {path}", "DELETE", f"{path}/{body}.json")
