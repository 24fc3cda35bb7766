import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.content.domain import blob_store
from apps.content.models import StoreFile
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.support import factories
from tests.support.files.images import decode_image, make_plain_image
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop", "media_root")

RED, BLUE = make_plain_image("PNG", (40, 30), color="red"), make_plain_image("PNG", (20, 20), color="blue")


@pytest.fixture
def file_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("pages")


def store_image(panel: Panel, data: bytes = RED, name: str = "Hat & scarf.png") -> Attrs:
    response = panel.post("content_storefile_pick", file=SimpleUploadedFile(name, data))
    assert response.status_code == 200, response.content
    file: JsonObject = response.json()["file"]
    return file


def test_a_stored_picture_is_listed_and_seen_whole_and_small(file_client: Panel, client: Client) -> None:
    stored = store_image(file_client)

    assert stored["name"] == "Hat-scarf.png"
    path = stored["address"].partition("/storefront/")[2]
    answers = client.get(f"/storefront/{path}"), client.get(stored["path"])
    assert [(response.status_code, response["Content-Type"]) for response in answers] == [(200, "image/png")] * 2
    assert answers[0]["Cache-Control"] == "public, max-age=31536000"
    for text, files in (("hat", [stored]), ("no such", [])):
        assert file_client.get("content_storefile_pick", q=text).json()["files"] == files


def test_equal_images_are_stored_once_and_different_images_separately(file_client: Panel) -> None:
    first, second, other = store_image(file_client), store_image(file_client), store_image(file_client, BLUE)

    assert first == second
    assert other["name"].startswith("Hat-scarf-")
    assert store_image(file_client, BLUE) == other
    # "hat_large.png" would conflict with the name of the resized image of "hat.png".
    assert store_image(file_client, name="hat_large.png")["name"] != "hat_large.png"
    assert StoreFile.objects.count() == Event.objects.filter(topic="files/create").count() == 3


@pytest.mark.parametrize("image_format", ["WEBP", "AVIF"])
def test_store_files_are_converted(file_client: Panel, image_format: str) -> None:
    stored = store_image(file_client, make_plain_image(image_format, (20, 10), "RGBA"), f"hat.{image_format.lower()}")

    file = StoreFile.objects.select_related("content").get()
    assert (stored["name"], file.name, file.width, file.height) == ("hat.png", "hat.png", 20, 10)
    assert decode_image(blob_store.read_blob(file.content)).format == "PNG"


def test_files_that_are_no_images_are_refused_and_not_stored(file_client: Panel) -> None:
    for data in (b"<svg onload=alert(1)>", b""):
        response = file_client.post("content_storefile_pick", file=SimpleUploadedFile("a.png", data))
        assert response.status_code == 422
        assert response.json()["error"]
    assert file_client.post("content_storefile_pick").status_code == 422
    page = file_client.forge("content_storefile_add", file=SimpleUploadedFile("a.png", b"no"))
    assert page.status_code == 200
    assert "errorlist" in page.content.decode()
    assert not StoreFile.objects.exists()
    assert not blob_store.get_unreferenced_blobs().exists()


def test_a_refused_file_does_not_affect_the_other_files(file_client: Panel) -> None:
    files = [SimpleUploadedFile(name, data) for name, data in (("a.png", RED), ("no.png", b"no"), ("b.png", BLUE))]

    page = file_client.forge("content_storefile_add", file=files)

    assert page.status_code == 200
    text = page.content.decode()
    assert "2 images uploaded. 1 file was not uploaded." in text
    assert [bool(result["error"]) for result in page.context["results"]] == [False, True, False]
    assert sorted(StoreFile.objects.values_list("name", flat=True)) == ["a.png", "b.png"]


def test_several_accepted_files_lead_to_the_list(file_client: Panel) -> None:
    files = [SimpleUploadedFile("a.png", RED), SimpleUploadedFile("b.png", BLUE)]

    response = file_client.forge("content_storefile_add", file=files)

    assert (response.status_code, response["Location"]) == (302, file_client.url("content_storefile_changelist"))
    assert StoreFile.objects.count() == 2


def test_an_upload_without_a_file_asks_for_one(file_client: Panel) -> None:
    page = file_client.forge("content_storefile_add")

    assert "Choose an image." in page.content.decode()
    assert not StoreFile.objects.exists()


def test_a_picture_is_stored_and_deleted_on_its_pages(file_client: Panel, shop: Shop, client: Client) -> None:
    added = file_client.forge("content_storefile_add", file=SimpleUploadedFile("a.png", RED))
    assert added.status_code == 302
    file = StoreFile.objects.get()
    page = file_client.get("content_storefile_change", file.pk).content.decode()
    size = f"40 × 30 pixels, {len(RED)}\xa0bytes"
    assert [text for text in (size, "/a_480x480.png", 'data-copy="file-url"', "Copy URL") if text not in page] == []
    assert "a.png" in file_client.get("content_storefile_changelist").content.decode()

    response = file_client.forge("content_storefile_delete", file.pk, post="yes")

    assert response.status_code == 302
    assert client.get(f"/storefront/{shop.domain}/files/a.png").status_code == 404
    assert not StoreFile.objects.exists()
    assert blob_store.get_unreferenced_blobs().count() == 1


def test_other_shops_do_not_find_it(file_client: Panel, admin_client_with: PanelWith, client: Client) -> None:
    stored = store_image(file_client)
    other = factories.make_shop()

    assert admin_client_with("pages", shop=other).get("content_storefile_pick").json()["files"] == []
    assert client.get(f"/storefront/{other.domain}/files/{stored['name']}").status_code == 404
