import random
import struct
from io import StringIO
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.utils import timezone
from PIL import Image, ImageCms, PngImagePlugin

from apps.catalog.domain.duplication.collections import CollectionCopy, duplicate_collection
from apps.catalog.domain.duplication.products import ProductCopy, duplicate_product
from apps.catalog.domain.image_files import get_image_path
from apps.catalog.models import Collection, ProductImage
from apps.content.domain import article_images, articles, blob_store
from apps.content.models import Article
from apps.core.events.models import Event
from apps.core.media.uploads import UploadRefused, load_uploaded_image
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.content import make_blog
from tests.support.files.images import build_png_chunk, decode_image, draw_quarters, encode_image, make_animation

SECRET = b"Anna was here"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def build_exif(orientation: int = 1) -> bytes:
    """Return EXIF with a location, an author and an orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    block[0x013B] = SECRET.decode()
    block[0x8825] = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}
    return block.tobytes()


def build_segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def make_jpeg_with_metadata(orientation: int = 1, **options: Any) -> bytes:
    exif = build_exif(orientation)
    data = encode_image(draw_quarters((64, 32)), "JPEG", exif=exif, icc_profile=PROFILE, quality=95, **options)
    segments = build_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x>" + SECRET + b"</x>")
    segments += build_segment(0xED, b"Photoshop 3.0\0" + SECRET) + build_segment(0xFE, SECRET)
    return data[:2] + segments + data[2:] + b"<script>" + SECRET


def make_png_with_metadata(orientation: int = 1) -> bytes:
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", SECRET.decode())
    text.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    data = encode_image(draw_quarters((64, 32)), "PNG", exif=build_exif(orientation), icc_profile=PROFILE, pnginfo=text)
    return data[:33] + build_png_chunk(b"prVt", SECRET) + data[33:] + SECRET


PICTURES = {
    "jpeg": make_jpeg_with_metadata(),
    "progressive jpeg": make_jpeg_with_metadata(progressive=True),
    "jpeg with restarts": make_jpeg_with_metadata(restart_marker_blocks=1),
    "png": make_png_with_metadata(),
    "gif": make_animation(3, comment=SECRET) + SECRET,
}


@pytest.mark.parametrize("name", PICTURES)
def test_metadata_is_removed_and_the_pixels_are_the_same_to_the_bit(name: str) -> None:
    data = PICTURES[name]
    assert SECRET in data

    cleaned = load_uploaded_image(data, "a").data

    before, after = decode_image(data), decode_image(cleaned)
    assert SECRET not in cleaned
    assert not after.getexif()
    assert not {"comment", "Author", "XML:com.adobe.xmp", "photoshop"} & after.info.keys()
    assert after.tobytes() == before.tobytes()
    assert after.info.get("icc_profile") == before.info.get("icc_profile")
    assert getattr(after, "n_frames", 1) == getattr(before, "n_frames", 1)


@pytest.mark.parametrize("make", [make_jpeg_with_metadata, make_png_with_metadata])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_picture_that_asks_to_be_turned_is_turned(make: Any, orientation: int) -> None:
    cleaned_image = load_uploaded_image(make(orientation), "a")

    cleaned = decode_image(cleaned_image.data)
    assert SECRET not in cleaned_image.data
    assert cleaned.size == (cleaned_image.width, cleaned_image.height) == ((32, 64) if orientation >= 5 else (64, 32))
    assert cleaned.info["icc_profile"] == PROFILE
    red, green, blue, white = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
    upright = {2: green, 3: white, 4: blue, 5: red, 6: blue, 7: white, 8: green}[orientation]
    corner = cleaned.convert("RGB").getpixel((3, 3))
    assert isinstance(corner, tuple)
    assert all(abs(channel - expected) < 20 for channel, expected in zip(corner, upright, strict=True))


def test_a_rotated_png_is_hardly_larger_with_or_without_repetition() -> None:
    noise = Image.frombytes("RGB", (300, 200), random.Random(1).randbytes(300 * 200 * 3))
    for picture in (noise, draw_quarters((300, 200))):
        data = encode_image(picture, "PNG", exif=build_exif(6), compress_level=9)

        cleaned_image = load_uploaded_image(data, "a")

        assert decode_image(cleaned_image.data).tobytes() == picture.transpose(Image.Transpose.ROTATE_270).tobytes()
        assert len(cleaned_image.data) < 1.1 * len(data) + 1000


def test_a_damaged_picture_that_asks_to_be_turned_is_refused() -> None:
    for make in (make_jpeg_with_metadata, make_png_with_metadata):
        data = make(6)
        for end in (len(data) // 2, 40):
            with pytest.raises(UploadRefused):
                load_uploaded_image(data[:end], "a")


def test_an_animated_png_stays_animated() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    data = encode_image(frames[0], "PNG", save_all=True, append_images=frames[1:], exif=build_exif())

    cleaned = decode_image(load_uploaded_image(data, "a").data)

    assert getattr(cleaned, "n_frames", 1) == 2


def test_a_small_copy_inside_the_header_goes() -> None:
    data = encode_image(draw_quarters((64, 32)), "JPEG")
    small = b"JFIF\0\x01\x01\0\0\x01\0\x01\x02\x02" + SECRET[:12]
    assert data[2:4] == b"\xff\xe0"
    rest = data[4 + struct.unpack(">H", data[4:6])[0] :]

    cleaned = load_uploaded_image(data[:2] + build_segment(0xE0, small) + rest, "a").data

    assert SECRET[:12] not in cleaned
    assert decode_image(cleaned).size == (64, 32)


def test_a_preview_behind_a_photograph_goes() -> None:
    data = encode_image(draw_quarters((64, 32)), "MPO", save_all=True, append_images=[draw_quarters((32, 16))])

    cleaned = load_uploaded_image(data, "a").data

    assert cleaned.count(b"\xff\xd8\xff") == 1
    assert decode_image(cleaned).format == "JPEG"


def test_a_cut_header_is_refused_and_not_guessed() -> None:
    data = encode_image(draw_quarters((64, 32)), "JPEG")
    for end in range(2, len(data) - 2, 7):
        with pytest.raises(UploadRefused):
            load_uploaded_image(data[:end], "a")


pytestmark = pytest.mark.django_db
KEY, OTHER = "a" * 32, "b" * 32


def run_command() -> str:
    out = StringIO()
    call_command("strip_image_metadata", stdout=out)
    return out.getvalue()


def read_stored(shop: Shop, key: str, name: str) -> bytes:
    with default_storage.open(get_image_path(shop.pk, key, name)) as file:
        return bytes(file.read())


def test_pictures_of_products_collections_and_articles_are_cleaned_once(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        default_storage.save(get_image_path(shop.pk, KEY, "a.jpg"), ContentFile(make_jpeg_with_metadata(6)))
        row = {"product": product, "position": 1, "key": KEY, "name": "a.jpg", "width": 1, "height": 1}
        image = ProductImage.objects.create(shop=shop, created_at=timezone.now(), **row)
        custom = make_custom()
        default_storage.save(get_image_path(shop.pk, OTHER, "b.png"), ContentFile(make_png_with_metadata()))
        Collection.objects.filter(pk=custom.pk).update(image_key=OTHER, image_name="b.png")
        old = article_images.ArticleImage(blob_store.store_blob(make_jpeg_with_metadata()), "c.jpg", 64, 32)
        article = articles.create_article(make_blog().pk, {"title": "x"}, image=old, actor="a", at=timezone.now())
        events = Event.objects.count()

    assert "1 product images, 1 collection images, 1 article images" in run_command()
    assert "0 product images, 0 collection images, 0 article images" in run_command()

    with shop_scope(shop):
        image.refresh_from_db()
        custom = Collection.objects.get(pk=custom.pk)
        content = Article.objects.select_related("image").get(pk=article.pk).image
        assert content is not None
        stored = [read_stored(shop, image.key, "a.jpg"), read_stored(shop, custom.image_key, "b.png")]
        assert not any(SECRET in data for data in (*stored, blob_store.read_blob(content)))
        assert (image.width, image.height) == (32, 64)
        assert Event.objects.count() == events + 3
    assert not default_storage.exists(get_image_path(shop.pk, KEY, "a.jpg"))
    assert not default_storage.exists(get_image_path(shop.pk, OTHER, "b.png"))


def test_images_that_share_a_file_are_all_cleaned(shop: Shop) -> None:
    with shop_scope(shop):
        product, custom = make_product(), make_custom()
        default_storage.save(get_image_path(shop.pk, KEY, "a.jpg"), ContentFile(make_jpeg_with_metadata()))
        row = {"product": product, "position": 1, "key": KEY, "name": "a.jpg", "width": 1, "height": 1}
        ProductImage.objects.create(shop=shop, **row)
        default_storage.save(get_image_path(shop.pk, OTHER, "b.png"), ContentFile(make_png_with_metadata()))
        Collection.objects.filter(pk=custom.pk).update(image_key=OTHER, image_name="b.png")
        duplicate_product(product, ProductCopy("Copy"), actor="system", at=timezone.now())
        duplicate_collection(custom, CollectionCopy("Copy"), actor="system", at=timezone.now())

    assert "2 product images, 2 collection images, 0 article images" in run_command()

    with shop_scope(shop):
        keys = [*ProductImage.objects.values_list("key", "name")]
        keys += Collection.objects.exclude(image_key="").values_list("image_key", "image_name")
        assert len(keys) == 4
        assert not any(SECRET in read_stored(shop, key, name) for key, name in keys)
    assert not default_storage.exists(get_image_path(shop.pk, KEY, "a.jpg"))
    assert not default_storage.exists(get_image_path(shop.pk, OTHER, "b.png"))
