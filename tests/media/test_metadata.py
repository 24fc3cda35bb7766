"""Tests that metadata is removed from images while pixels, colors and orientation are preserved."""

import io
import random
import struct
from typing import Any

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from apps.media.uploads import UploadRefused, load_uploaded_image
from tests.collect_failures import Subtests
from tests.media.images import build_png_chunk, decode_image, draw_quarters, encode_image, make_animation

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
    data = encode_image(
        draw_quarters((64, 32)), "JPEG", exif=build_exif(orientation), icc_profile=PROFILE, quality=95, **options
    )
    segments = build_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x>" + SECRET + b"</x>")
    segments += build_segment(0xED, b"Photoshop 3.0\0" + SECRET) + build_segment(0xFE, SECRET)
    return data[:2] + segments + data[2:] + b"<script>" + SECRET


def make_png_with_metadata(orientation: int = 1) -> bytes:
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", SECRET.decode())
    text.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    data = encode_image(draw_quarters((64, 32)), "PNG", exif=build_exif(orientation), icc_profile=PROFILE, pnginfo=text)
    return data[:33] + build_png_chunk(b"prVt", SECRET) + data[33:] + SECRET


def make_gif_with_metadata() -> bytes:
    return make_animation(3, comment=SECRET) + SECRET


PICTURES = {
    "jpeg": make_jpeg_with_metadata(),
    "progressive jpeg": make_jpeg_with_metadata(progressive=True),
    "jpeg with restarts": make_jpeg_with_metadata(restart_marker_blocks=1),
    "png": make_png_with_metadata(),
    "gif": make_gif_with_metadata(),
}


def test_what_a_picture_tells_beyond_its_pixels_is_gone() -> None:
    with Subtests() as subtest:
        for name, data in PICTURES.items():
            with subtest(name):
                assert SECRET in data
                cleaned = load_uploaded_image(data, "a").data
                assert SECRET not in cleaned
                picture = decode_image(cleaned)
                assert not picture.getexif()
                assert not {"comment", "Author", "XML:com.adobe.xmp", "photoshop"} & picture.info.keys()


def test_the_pixels_are_the_same_to_the_bit_and_keep_their_colours() -> None:
    with Subtests() as subtest:
        for name, data in PICTURES.items():
            with subtest(name):
                before, after = Image.open(io.BytesIO(data)), decode_image(load_uploaded_image(data, "a").data)
                before.load()
                assert after.tobytes() == before.tobytes()
                assert after.info.get("icc_profile") == before.info.get("icc_profile")
                assert getattr(after, "n_frames", 1) == getattr(before, "n_frames", 1)


@pytest.mark.parametrize("make", [make_jpeg_with_metadata, make_png_with_metadata])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_picture_that_asks_to_be_turned_is_turned(make: Any, orientation: int) -> None:
    data = make(orientation)
    original = Image.open(io.BytesIO(data))

    cleaned_image = load_uploaded_image(data, "a")

    cleaned = decode_image(cleaned_image.data)
    sideways = orientation >= 5
    assert SECRET not in cleaned_image.data
    assert (
        cleaned.size
        == (cleaned_image.width, cleaned_image.height)
        == (original.size[::-1] if sideways else original.size)
    )
    assert cleaned.info["icc_profile"] == PROFILE
    upright = {2: "green", 3: "white", 4: "blue", 5: "red", 6: "blue", 7: "white", 8: "green"}
    colours = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}
    corner = cleaned.convert("RGB").getpixel((3, 3))
    assert isinstance(corner, tuple)
    assert all(
        abs(channel - expected) < 20 for channel, expected in zip(corner, colours[upright[orientation]], strict=True)
    )


def test_a_turned_png_is_hardly_larger_whether_much_of_it_repeats_or_nothing() -> None:
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
    with Subtests() as subtest:
        for end in range(2, len(data) - 2, 7):
            with subtest(end), pytest.raises(UploadRefused):
                load_uploaded_image(data[:end], "a")
