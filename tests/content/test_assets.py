import base64
import hashlib
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import quote, unquote, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from apps.content.domain import assets, blob_store
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.core.events.models import Event
from apps.core.media.storage import get_content_storage
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from tests.support.api_client import ApiClient, ClientWith, Response, get_errors
from tests.support.factories.content import LAYOUT, get_main_theme
from tests.support.servers.files import FileServer
from tests.support.types import Json, JsonObject
from tests.support.wire_tables import assert_fits

Put = Callable[..., Response]

BINARY = bytes(range(256)) * 5


@pytest.fixture
def theme(api: ApiClient) -> JsonObject:
    return get_main_theme(api)


@pytest.fixture
def path(theme: Attrs) -> str:
    return f"themes/{theme['id']}/assets.json"


@pytest.fixture
def put_asset(api: ApiClient, path: str) -> Put:
    return lambda key, **fields: api.put(path, {"asset": {"key": key, **fields}})


def read_asset(api: ApiClient, path: str, key: str) -> JsonObject:
    response = api.get(path, **{"asset[key]": key})
    assert response.status_code == 200, response.content
    return response.json()["asset"]


def test_every_route_answers_in_the_shape_that_clients_know(api: ApiClient, path: str, put_asset: Put) -> None:
    assert_fits("asset", "PUT /themes/{id}/assets.json", put_asset("assets/a.css", value="a{}").json())
    single = api.get(path, **{"asset[key]": LAYOUT}).json()
    assert_fits("asset", "GET /themes/{id}/assets.json", {**api.get(path).json(), **single})
    deleted = api.delete(f"{path}?asset[key]=assets/a.css")
    assert_fits("asset", "DELETE /themes/{id}/assets.json", deleted.json())
    assert deleted.json() == {"message": "assets/a.css was successfully deleted"}


def test_text_is_put_and_read_back(api: ApiClient, theme: JsonObject, path: str, put_asset: Put) -> None:
    text = "<p>Grüße {{ '{' }}</p>\r\n"

    response = put_asset("templates/customers/login.liquid", value=text)

    asset = response.json()["asset"]
    assert response.status_code == 200
    assert asset == {
        **{name: asset[name] for name in ("created_at", "updated_at")},
        "key": "templates/customers/login.liquid",
        "public_url": None,
        "content_type": "application/x-liquid",
        "size": len(text.encode()),
        "checksum": hashlib.md5(text.encode()).hexdigest(),
        "theme_id": theme["id"],
    }
    assert read_asset(api, path, asset["key"]) == asset | {"value": text}
    assert all("value" not in listed_asset for listed_asset in api.get(path).json()["assets"])


def test_binary_is_put_and_read_back_byte_for_byte_and_served(api: ApiClient, path: str, put_asset: Put) -> None:
    asset = put_asset("assets/logo.png", attachment=base64.b64encode(BINARY).decode()).json()["asset"]

    content = read_asset(api, path, "assets/logo.png")
    parts = urlsplit(asset["public_url"])
    served = Client().get(f"{parts.path}?{parts.query}")

    assert (asset["size"], asset["content_type"]) == (len(BINARY), "image/png")
    assert base64.b64decode(content["attachment"]) == BINARY
    assert "value" not in content
    assert (served.content, served["Content-Type"]) == (BINARY, "image/png")
    assert served["X-Content-Type-Options"] == "nosniff"
    assert "31536000" in served["Cache-Control"]
    response = Client().get(f"{parts.path}?{parts.query}", headers={"If-None-Match": served["ETag"]})
    assert (response.status_code, response["Cache-Control"]) == (304, served["Cache-Control"])


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("assets/evil.html", "text/plain; charset=utf-8"),
        ("assets/evil.xml", "application/octet-stream"),
        ("assets/evil.pdf", "application/octet-stream"),
        ("assets/evil", "application/octet-stream"),
        ("assets/theme.css.liquid", "text/plain; charset=utf-8"),
        ("assets/drawing.svg", "image/svg+xml"),
        ("assets/theme.js", "application/javascript; charset=utf-8"),
    ],
)
def test_assets_are_never_served_as_documents_of_our_origin(put_asset: Put, key: str, kind: str) -> None:
    asset = put_asset(key, value="<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").json()["asset"]

    served = Client().get(urlsplit(asset["public_url"]).path)

    assert served["Content-Type"] == kind
    assert served["X-Content-Type-Options"] == "nosniff"
    assert {"sandbox", "default-src 'none'"} <= set(served["Content-Security-Policy"].split("; "))


def test_files_outside_of_assets_are_not_public(theme: Attrs) -> None:
    base = f"/storefront/acme.example/themes/{theme['id']}"

    assert Client().get(f"{base}/assets/theme.css").status_code == 200
    assert Client().get(f"{base}/layout/theme.liquid").status_code == 404
    assert Client().get(f"{base}/assets/../layout/theme.liquid").status_code == 404
    assert Client().get(f"/storefront/stranger.example/themes/{theme['id']}/assets/theme.css").status_code == 404


def test_a_file_is_copied_or_downloaded(api: ApiClient, path: str, put_asset: Put, file_server: FileServer) -> None:
    copied = put_asset("layout/alternate.liquid", source_key=LAYOUT)
    fetched = put_asset("assets/photo.jpg", src=file_server.offer("/a.jpg", BINARY))

    assert copied.json()["asset"]["checksum"] == read_asset(api, path, LAYOUT)["checksum"]
    assert base64.b64decode(read_asset(api, path, "assets/photo.jpg")["attachment"]) == BINARY
    assert fetched.json()["asset"]["size"] == len(BINARY)


BAD_KEYS: list[Json] = [
    "", None, 5, ["layout/x"], "../x", "/x", "/layout/x.liquid", "layout//x", "layout/", "layout", "a/../b",
    "layout/../x", "layout/./x", "layout/...", "%2e%2e/x", "layout/a\\b", "layout/x\n", "assets/a:b",
    "unknown/x.liquid", "x.liquid", "assets/" + "a" * 1000, "assets/a..b.css", "assets/ a.css", "assets/a /b.css",
    "assets/\N{RIGHT-TO-LEFT OVERRIDE}x",
]  # fmt: skip


def test_a_key_that_no_theme_may_have_is_refused(api: ApiClient, shop: Shop, path: str) -> None:
    with shop_scope(shop):
        before = set(Asset.objects.values_list("key", flat=True))

    answers = [api.put(path, {"asset": {"key": key, "value": "x"}}) for key in BAD_KEYS]

    assert [list(get_errors(response)) for response in answers] == [["asset"]] * len(BAD_KEYS)
    with shop_scope(shop):
        assert set(Asset.objects.values_list("key", flat=True)) == before


@pytest.mark.parametrize(
    ("key", "fields", "message"),
    [
        ("assets/a.css", {}, "must have exactly one of value, attachment, src, source_key"),
        ("assets/a.css", {"value": "a", "attachment": "YQ=="},
         "must have exactly one of value, attachment, src, source_key"),
        ("assets/a.css", {"value": 5}, "value is invalid"),
        ("assets/a.css", {"value": "x" * (256 * 1024 + 1)}, "The file assets/a.css is larger than 256 KB"),
        ("assets/a.css", {"attachment": "gQ=="}, "The file assets/a.css is not UTF-8 text"),
        ("assets/a.css", {"attachment": "/wAB"}, "The file assets/a.css is not UTF-8 text"),
        ("assets/a.css", {"attachment": "//4A"}, "The file assets/a.css is not UTF-8 text"),
        ("assets/a.png", {"attachment": "@@@@"}, "attachment is not valid Base64"),
        ("assets/a.png", {"attachment": "AAA"}, "attachment is not valid Base64"),
        ("assets/a.png", {"attachment": ""}, "attachment can't be blank"),
        ("assets/a.png", {"attachment": "data:image/png;base64,AAAA"},
         "attachment must be plain Base64, without a data: prefix"),
        ("assets/a.png", {"attachment": "A" * (4 * 20 * 2**20 // 3 + 8)}, "attachment is larger than 20 MB"),
        ("assets/a.css", {"source_key": "assets/none.css"}, "source_key does not exist"),
        ("assets/a.css", {"src": "http://127.0.0.1/x"}, "Could not download src: address not allowed"),
        ("assets/a.css", {"src": "file:///etc/passwd"}, "Could not download src: the URL must use http or https"),
    ],
)  # fmt: skip
def test_invalid_content_is_refused(shop: Shop, put_asset: Put, key: str, fields: JsonObject, message: str) -> None:
    with shop_scope(shop):
        before = FileContent.objects.count()

    response = put_asset(key, **fields)

    assert get_errors(response) == {"asset": [message]}
    with shop_scope(shop):
        assert not Asset.objects.filter(key=key).exists()
        assert FileContent.objects.count() == before


@pytest.mark.parametrize(
    "text", ['{"a": }', "", "NaN", '{"a": -Infinity}', "[" * 100_000, "{} // more", "\ufeff{"], ids=lambda t: t[:12]
)
def test_json_must_parse(put_asset: Put, text: str) -> None:
    (message,) = get_errors(put_asset("config/settings_data.json", value=text))["asset"]

    assert message.startswith("The file config/settings_data.json is not valid JSON: ")
    assert "recursion" not in message


@pytest.mark.parametrize("text", ['/*\n * Made by hand.\n */\n{"sections": {}}', "1" * 5000, "1e999", "null"])
def test_json_may_begin_with_a_comment_and_hold_any_number(put_asset: Put, text: str) -> None:
    assert put_asset("templates/index.json", value=text).status_code == 200


def test_the_layout_stays_and_a_missing_file_is_not_found(api: ApiClient, path: str) -> None:
    refused = api.delete(f"{path}?asset[key]={LAYOUT}")

    assert list(get_errors(refused)) == ["asset"]
    assert api.delete(f"{path}?asset[key]=assets/none.css").status_code == 404
    assert api.get(path, **{"asset[key]": "assets/none.css"}).status_code == 404
    assert api.delete(path).status_code == 400
    assert read_asset(api, path, LAYOUT)["value"]


def test_fields_narrow_the_list_and_the_single_file(api: ApiClient, path: str) -> None:
    listed = api.get(path, fields="key,size").json()["assets"]
    single, bare = (
        api.get(path, **{"asset[key]": LAYOUT, "fields": fields}).json()["asset"]
        for fields in ("key,value", "checksum")
    )

    assert {tuple(sorted(asset)) for asset in listed} == {("key", "size")}
    assert (sorted(single), sorted(bare)) == (["key", "value"], ["checksum"])


def test_a_file_of_another_theme_is_not_reached(api: ApiClient, shop: Shop, path: str, put_asset: Put) -> None:
    put_asset("snippets/own.liquid", value="own")
    with shop_scope(shop):
        other = Theme.objects.create(shop=shop, name="Other", processing=False, previewable=True)
    elsewhere = f"themes/{other.pk}/assets.json"

    answers = [
        api.get(elsewhere, **{"asset[key]": "snippets/own.liquid"}),
        api.delete(f"{elsewhere}?asset[key]=snippets/own.liquid"),
        api.put(elsewhere, {"asset": {"key": "snippets/x.liquid", "source_key": "snippets/own.liquid"}}),
    ]

    assert [response.status_code for response in answers] == [404, 404, 422]
    assert read_asset(api, path, "snippets/own.liquid")["value"] == "own"
    assert api.get(elsewhere).json() == {"assets": []}


def test_marketplace_apps_need_a_second_scope_to_write(client_with: ClientWith, path: str) -> None:
    body = {"asset": {"key": "assets/a.css", "value": "a{}"}}
    without = client_with("write_themes", distribution="public")
    holder = client_with("write_themes", "write_theme_code", distribution="public")

    refused = [without.put(path, body), without.delete(f"{path}?asset[key]=assets/theme.css")]

    error = {"errors": "[API] This action requires merchant approval for write_theme_code scope."}
    assert [(response.status_code, response.json()) for response in refused] == [(403, error)] * 2
    assert (without.get(path).status_code, holder.put(path, body).status_code) == (200, 200)


def test_each_save_keeps_what_was_there_before(api: ApiClient, shop: Shop, path: str, put_asset: Put) -> None:
    key = "snippets/note.liquid"
    for text in ("one", "two", "two"):
        put_asset(key, value=text)
    api.delete(f"{path}?asset[key]={key}")

    with shop_scope(shop):
        versions = list(AssetVersion.objects.filter(key=key).select_related("content", "theme").order_by("id"))
        assert [blob_store.read_blob(version.content) for version in versions] == [b"one", b"two"]
        assert {version.actor for version in versions} == {f"app:{api.installation.app_id}"}
        assets.restore_asset_version(versions[0], actor="staff:1", at=timezone.now())
    assert read_asset(api, path, key)["value"] == "one"


def test_versions_of_a_file_are_bounded(shop: Shop, theme: Attrs) -> None:
    with shop_scope(shop):
        row = Theme.objects.get(pk=theme["id"])
        for number in range(assets.MAX_VERSIONS + 5):
            content = blob_store.store_blob(str(number).encode())
            assets.save_asset(row, "assets/n.txt", content, actor="staff:1", at=timezone.now())

        asset_versions = AssetVersion.objects.filter(key="assets/n.txt").order_by("id").select_related("content")
        assert len(asset_versions) == assets.MAX_VERSIONS
        assert blob_store.read_blob(asset_versions[0].content) == b"4"


def test_an_edit_that_began_before_another_is_refused(shop: Shop, theme: Attrs) -> None:
    with shop_scope(shop):
        row = Theme.objects.get(pk=theme["id"])
        first, mine, theirs = (blob_store.store_blob(text) for text in (b"first", b"mine", b"theirs"))
        save: Attrs = {"actor": "staff:1", "at": timezone.now()}
        assets.save_asset(row, "assets/n.txt", first, expected="", **save)
        assets.save_asset(row, "assets/n.txt", theirs, expected=first.md5, **save)

        with pytest.raises(assets.EditConflict):
            assets.save_asset(row, "assets/n.txt", mine, expected=first.md5, **save)

        assert Asset.objects.get(key="assets/n.txt").content == theirs


def test_a_save_updates_the_theme(api: ApiClient, shop: Shop, theme: JsonObject, path: str, put_asset: Put) -> None:
    before = api.get(path)

    put_asset("assets/a.css", value="a{}")

    assert api.get(path)["ETag"] != before["ETag"]
    with shop_scope(shop):
        event = Event.objects.order_by("-id")[0]
    assert (event.topic, event.subject_id, event.message) == ("themes/update", theme["id"], "Saved assets/a.css")
    assert get_main_theme(api)["updated_at"] >= theme["updated_at"]


def test_unused_contents_are_cleared(api: ApiClient, shop: Shop, path: str, put_asset: Put) -> None:
    put_asset("assets/kept.css", value="kept{}")
    later = timezone.now() + blob_store.GRACE_PERIOD + timedelta(minutes=1)
    with shop_scope(shop):
        loose = blob_store.store_blob(b"nobody wants this")
        used = Asset.objects.get(key="assets/kept.css").content
        file_content_count = FileContent.objects.count()

    with all_shops_scope():
        early = blob_store.delete_unused_blobs(timezone.now())
        cleared = blob_store.delete_unused_blobs(later)
        second_count = blob_store.delete_unused_blobs(later)

    assert (early, cleared, second_count) == (0, 1, 0)
    with shop_scope(shop):
        assert FileContent.objects.count() == file_content_count - 1
        assert blob_store.read_blob(used) == b"kept{}"
    with pytest.raises(FileNotFoundError):
        get_content_storage().open(loose.name)


def test_deleting_a_theme_frees_what_no_other_uses(api: ApiClient, shop: Shop, file_server: FileServer) -> None:
    with shop_scope(shop):
        theme = Theme.objects.create(shop=shop, name="Other", processing=False, previewable=True)
        own, shared = blob_store.store_blob(b"only here"), Asset.objects.get(key=LAYOUT).content
        for key, content in (("assets/own.txt", own), (LAYOUT, shared)):
            assets.save_asset(theme, key, content, actor="staff:1", at=timezone.now())

    api.delete(f"themes/{theme.pk}.json")
    with all_shops_scope():
        blob_store.delete_unused_blobs(timezone.now() + timedelta(hours=2))

    with shop_scope(shop):
        assert not FileContent.objects.filter(pk=own.pk).exists()
        assert blob_store.read_blob(shared)


def test_a_content_is_stored_again_after_it_was_cleared(shop: Shop) -> None:
    with shop_scope(shop):
        first = blob_store.store_blob(b"comes and goes")
    with all_shops_scope():
        blob_store.delete_unused_blobs(timezone.now() + timedelta(hours=2))

    with shop_scope(shop):
        second = blob_store.store_blob(b"comes and goes")
        assert (first.pk != second.pk, blob_store.read_blob(second)) == (True, b"comes and goes")


def test_a_name_is_the_same_in_both_unicode_forms(api: ApiClient, shop: Shop, path: str, put_asset: Put) -> None:
    composed, decomposed = "assets/Größe (1)@2x.css", unicodedata.normalize("NFD", "assets/Größe (1)@2x.css")
    created = put_asset(decomposed, value="a{}").json()["asset"]
    changed = put_asset(composed, value="b{}").json()["asset"]
    copied = put_asset("assets/copy.css", source_key=decomposed).json()["asset"]
    served = Client().get(urlsplit(changed["public_url"]).path)
    old_url = Client().get(quote(unicodedata.normalize("NFD", unquote(urlsplit(changed["public_url"]).path))))

    assert (created["key"], changed["key"]) == (composed, composed)
    assert created["public_url"].partition("/assets/")[2].startswith("Gr%C3%B6%C3%9Fe%20%281%29@2x.css?v=")
    assert [response.content for response in (served, old_url)] == [b"b{}", b"b{}"]
    assert read_asset(api, path, decomposed)["value"] == "b{}"
    assert copied["checksum"] == changed["checksum"]
    deleted = api.delete(f"{path}?{urlencode({'asset[key]': decomposed})}")
    assert deleted.status_code == 200
    with shop_scope(shop):
        assert not Asset.objects.filter(key=composed).exists()


@pytest.mark.parametrize(
    ("data", "stored", "note"),
    [
        ("h { content: 'ö' }".encode("cp1252"), "h { content: 'ö' }", "Converted from Windows-1252 to UTF-8 (1): "),
        ("\ufeffa{}".encode("utf-16-le"), "a{}", "Converted from UTF-16 to UTF-8 (1): "),
        ("\ufeffa{}".encode("utf-16-be"), "a{}", "Converted from UTF-16 to UTF-8 (1): "),
        ("\ufeffa{}".encode(), "a{}", "Removed the byte order mark (1): "),
        ("a{content: 'ö'}".encode(), "a{content: 'ö'}", ""),
    ],
)
def test_text_in_another_encoding_is_converted_with_a_note(  # noqa: PLR0917 - fixtures and parameters
    api: ApiClient, shop: Shop, path: str, put_asset: Put, data: bytes, stored: str, note: str
) -> None:
    response = put_asset("assets/a.css", attachment=base64.b64encode(data).decode())

    assert (response.status_code, read_asset(api, path, "assets/a.css")["value"]) == (200, stored)
    assert response.json()["asset"]["checksum"] == hashlib.md5(stored.encode()).hexdigest()
    with shop_scope(shop):
        message = Event.objects.order_by("-pk")[0].message
    assert message == "Saved assets/a.css" + (f"; {note}“assets/a.css”" if note else "")


def test_converted_text_may_not_be_too_large(put_asset: Put) -> None:
    data = "ö".encode("cp1252") * (200 * 1024)

    response = put_asset("assets/a.css", attachment=base64.b64encode(data).decode())

    assert get_errors(response) == {"asset": ["The file assets/a.css is larger than 256 KB"]}
