"""Tests for serving images: every size, long caching, and never as a page that a browser would execute."""

import base64
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.catalog.models import Product
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.catalog.factories import ATTACHMENT, make_product
from tests.conftest import ApiClient, Response
from tests.media.images import decode_image, make_animation

GIF_WITH_SCRIPT = make_animation(2) + b"<script>alert(1)</script>"


@pytest.fixture
def product(shop: Shop) -> Product:
    """Create a product without images."""
    with shop_scope(shop):
        return make_product()


def post_image(api: ApiClient, product: Product, **fields: Any) -> Response:
    return api.post(f"products/{product.pk}/images.json", {"image": fields})


def list_stored_files(media: Path) -> list[Path]:
    return sorted(path for path in media.rglob("*") if path.is_file())


def get_path(src: str) -> str:
    return src.removeprefix("http://127.0.0.1:8000")


def fetch_image(path: str, method: str = "get") -> tuple[Any, bytes]:
    response = getattr(Client(), method)(path)
    return response, response.content


def test_pictures_are_served_for_good_and_never_run(api: ApiClient, product: Product) -> None:
    image = post_image(api, product, attachment=base64.b64encode(GIF_WITH_SCRIPT).decode(), filename="a.html").json()[
        "image"
    ]

    response, body = fetch_image(get_path(image["src"]))

    assert response.status_code == 200
    assert b"script" not in body
    assert response["Content-Type"] == "image/gif"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Content-Disposition"].startswith("inline")
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    ("suffix", "size"),
    [
        ("_20x20", (20, 10)),
        ("_x10", (20, 10)),
        ("_10x", (10, 5)),
        ("_10x10_crop_center", (10, 10)),
        ("_10x10@2x", (20, 10)),
        ("_pico", (16, 8)),
        ("_master", (40, 20)),
        ("_grande", (40, 20)),
    ],
)
def test_sizes_are_made_on_the_first_read_and_kept(
    api: ApiClient, product: Product, media_dir: Path, suffix: str, size: tuple[int, int]
) -> None:
    src = post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"]
    path = get_path(src).replace("mug.png", f"mug{suffix}.png")

    first, body = fetch_image(path)
    files = list_stored_files(media_dir)
    second, second_response = fetch_image(path)

    assert decode_image(body).size == size
    assert second_response == body
    assert first["Cache-Control"] == second["Cache-Control"] == "public, max-age=31536000, immutable"
    assert list_stored_files(media_dir) == files
    assert len(files) == 2


@pytest.mark.parametrize(
    "name",
    [
        "mug_0x0.png",
        "mug_9999x9999.png",
        "mug_huge.png",
        "mug_x.png",
        "mug.jpg",
        "cup.png",
        "cup_10x10.png",
        "..%2fmug.png",
        "mug.png%0d%0aX: y",
        "mug.svg",
        ".png",
        "m" * 199 + ".jpeg",
        "m" * 198 + "_small.jpeg",
        "m" * 300 + ".png",
    ],
)
def test_names_of_nothing_are_404(api: ApiClient, product: Product, media_dir: Path, name: str) -> None:
    src = post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"]

    response, _ = fetch_image(get_path(src).replace("mug.png", name))

    assert response.status_code == 404
    assert len(list_stored_files(media_dir)) == 1


def test_only_reading_is_possible(api: ApiClient, product: Product) -> None:
    src = post_image(api, product, attachment=ATTACHMENT).json()["image"]["src"]

    assert fetch_image(get_path(src), "post")[0].status_code == 405
    assert fetch_image(get_path(src), "head")[0].status_code == 200


def test_a_file_that_storage_lost_is_404(api: ApiClient, product: Product, media_dir: Path) -> None:
    path = get_path(post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"])
    for file in list_stored_files(media_dir):
        file.unlink()

    assert fetch_image(path)[0].status_code == 404
    assert fetch_image(path.replace("mug.png", "mug_10x10.png"))[0].status_code == 404


def test_sizes_of_another_name_are_404_though_the_size_is_kept(api: ApiClient, product: Product) -> None:
    path = get_path(post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"])
    fetch_image(path.replace("mug.png", "mug_10x10.png"))

    assert fetch_image(path.replace("mug.png", "cup_10x10.png"))[0].status_code == 404
