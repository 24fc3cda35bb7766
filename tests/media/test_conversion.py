import base64
import io
from collections.abc import Callable
from contextlib import suppress

import pytest
from PIL import Image

from apps.catalog.models import Product
from apps.core.media.conversion import convert_image
from apps.core.media.image_validation import MAX_FRAMES, ImageRefused
from apps.core.media.uploads import UploadRefused, load_uploaded_image
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import make_product
from tests.support.files.images import (
    build_orientation_exif,
    decode_image,
    draw_quarters,
    encode_image,
    make_plain_image,
)

FORMATS = ["WEBP", "AVIF"]
HEIC = b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(400)


def make_animation(image_format: str, frames: int, size: tuple[int, int]) -> bytes:
    """Encode frames of different colors, because encoders merge frames that look the same."""
    pictures = [Image.new("RGB", size, (index * 77 % 256, index * 141 % 256, 7)) for index in range(frames)]
    options = {"speed": 10} if image_format == "AVIF" else {"method": 0}
    return encode_image(pictures[0], image_format, save_all=True, append_images=pictures[1:], duration=80, **options)


def get_pixel(picture: Image.Image, x: int, y: int) -> tuple[int, ...]:
    pixel = picture.convert("RGBA").getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel


@pytest.mark.parametrize("image_format", FORMATS)
@pytest.mark.parametrize(
    ("mode", "color", "name"),
    [("RGB", "red", "JPEG"), ("RGBA", (255, 0, 0, 255), "JPEG"), ("RGBA", (255, 0, 0, 90), "PNG")],
)
def test_webp_and_avif_become_formats_of_the_interface(
    image_format: str, mode: str, color: str | tuple[int, ...], name: str
) -> None:
    data = encode_image(Image.new(mode, (31, 17), color), image_format, quality=95)

    image = load_uploaded_image(data, f"My hat.{image_format.lower()}")

    picture = decode_image(image.data)
    assert (picture.format, picture.size, image.width, image.height) == (name, (31, 17), 31, 17)
    assert image.name == f"My-hat.{'jpg' if name == 'JPEG' else 'png'}"
    red, green, blue, alpha = get_pixel(picture, 9, 9)
    assert red > 240
    assert max(green, blue) < 15
    assert alpha == (90 if name == "PNG" else 255)


def test_lossless_webp_stays_lossless() -> None:
    noise = Image.merge("RGB", [Image.effect_noise((40, 30), 90) for _ in range(3)])

    picture = decode_image(convert_image(encode_image(noise, "WEBP", lossless=True)))

    assert picture.format == "PNG"
    assert picture.tobytes() == noise.tobytes()


@pytest.mark.parametrize("image_format", FORMATS)
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_converted_images_are_upright_without_metadata(image_format: str, orientation: int) -> None:
    exif = build_orientation_exif(orientation)
    picture = draw_quarters((40, 30))

    image = load_uploaded_image(encode_image(picture, image_format, exif=exif, xmp=b"<x>secret</x>"), "a")

    expected = decode_image(load_uploaded_image(encode_image(picture, "JPEG", exif=exif, quality=95), "a").data)
    converted = decode_image(image.data)
    assert (image.width, image.height) == expected.size
    for point in [(4, 4), (expected.width - 5, 4), (4, expected.height - 5), (expected.width - 5, expected.height - 5)]:
        pairs = zip(get_pixel(converted, *point), get_pixel(expected, *point), strict=True)
        assert all(abs(ours - theirs) < 40 for ours, theirs in pairs)
    assert not dict(converted.getexif())
    assert b"secret" not in image.data


@pytest.mark.parametrize("image_format", FORMATS)
def test_animations_become_gifs(image_format: str) -> None:
    image = load_uploaded_image(make_animation(image_format, 3, (40, 20)), "move.webp")

    picture = Image.open(io.BytesIO(image.data))
    assert (image.name, picture.format, picture.size) == ("move.gif", "GIF", (40, 20))
    assert getattr(picture, "n_frames", 1) == 3
    assert picture.info["duration"] == 80


@pytest.mark.parametrize("image_format", FORMATS)
@pytest.mark.parametrize(
    ("frames", "side", "message"),
    [
        (MAX_FRAMES + 1, 16, f"has more than {MAX_FRAMES} frames"),
        (13, 2000, "is an animation with more than 50 megapixels in all frames together"),
        (1, 5001, "is larger than 25 megapixels"),
    ],
)
def test_bombs_of_converted_formats_are_refused(image_format: str, frames: int, side: int, message: str) -> None:
    data = make_animation(image_format, frames, (side, side))

    with pytest.raises(UploadRefused, match=message):
        load_uploaded_image(data, "a")


@pytest.mark.parametrize(
    "data",
    [b"", b"<svg/>", b"%PDF-1.7\n", b"RIFF\x10\0\0\0WAVEfmt ", *(make_plain_image(n, (9, 9)) for n in ("BMP", "TIFF"))],
    ids=lambda data: repr(data[:8]),
)
def test_images_of_other_formats_are_refused_with_the_accepted_ones(data: bytes) -> None:
    with pytest.raises(UploadRefused, match=r"must be in one of the formats PNG, JPEG, GIF, WebP, AVIF$"):
        load_uploaded_image(data, "a.png")


@pytest.mark.parametrize("image_format", FORMATS)
def test_damaged_files_are_refused_or_converted(image_format: str) -> None:
    data = encode_image(draw_quarters((24, 24)), image_format)

    for length in range(16, len(data) - 1, 7):
        with pytest.raises(UploadRefused):
            load_uploaded_image(data[:length], "a")
    for position in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        with suppress(ImageRefused):
            convert_image(bytes(damaged))


def test_heic_is_refused_by_name(api: ApiClient, product: Product) -> None:
    body = {"image": {"attachment": base64.b64encode(HEIC).decode()}}

    response = api.post(f"products/{product.pk}/images.json", body)

    formats = "PNG, JPEG, GIF, WebP, AVIF"
    assert get_errors(response) == {"image": [f"is a HEIC file. Convert it to one of the formats {formats}"]}


@pytest.fixture
def product(in_shop: None, media_root: None) -> Product:
    return make_product()


Upload = Callable[[ApiClient, bytes], str]


def upload_to_article(api: ApiClient, data: bytes) -> str:
    blog = api.post("blogs.json", {"blog": {"title": "News"}}).json()["blog"]
    fields = {"title": "Hi", "image": {"attachment": base64.b64encode(data).decode()}}
    response = api.post(f"blogs/{blog['id']}/articles.json", {"article": fields})
    return response.json()["article"]["image"]["src"]


def upload_to_collection(api: ApiClient, data: bytes) -> str:
    fields = {"title": "Hats", "image": {"attachment": base64.b64encode(data).decode()}}
    response = api.post("custom_collections.json", {"custom_collection": fields})
    return response.json()["custom_collection"]["image"]["src"]


def upload_to_product(api: ApiClient, data: bytes) -> str:
    fields = {"title": "Hat", "images": [{"attachment": base64.b64encode(data).decode(), "filename": "hat.webp"}]}
    return api.post("products.json", {"product": fields}).json()["product"]["images"][0]["src"]


@pytest.mark.usefixtures("media_root")
@pytest.mark.parametrize("image_format", FORMATS)
@pytest.mark.parametrize("upload", [upload_to_article, upload_to_collection, upload_to_product])
def test_every_resource_takes_webp_and_avif(api: ApiClient, upload: Upload, image_format: str) -> None:
    assert upload(api, make_plain_image(image_format, (20, 10))).partition("?")[0].endswith(".jpg")
