"""Metadata is removed from images; pixels, colors and orientation stay."""

import io
import random
import struct
from typing import Any

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from apps.media.uploads import UploadRefused, load_uploaded_image
from tests.each import Each
from tests.media.pictures import animation, chunk, decode, encode, quarters

SECRET = b"Anna was here"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def exif(orientation: int = 1) -> bytes:
    """Return EXIF with a location, an author and an orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    block[0x013B] = SECRET.decode()
    block[0x8825] = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}
    return block.tobytes()


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def talkative_jpeg(orientation: int = 1, **options: Any) -> bytes:
    data = encode(quarters((64, 32)), "JPEG", exif=exif(orientation), icc_profile=PROFILE, quality=95, **options)
    segments = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x>" + SECRET + b"</x>")
    segments += segment(0xED, b"Photoshop 3.0\0" + SECRET) + segment(0xFE, SECRET)
    return data[:2] + segments + data[2:] + b"<script>" + SECRET


def talkative_png(orientation: int = 1) -> bytes:
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", SECRET.decode())
    text.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    data = encode(quarters((64, 32)), "PNG", exif=exif(orientation), icc_profile=PROFILE, pnginfo=text)
    return data[:33] + chunk(b"prVt", SECRET) + data[33:] + SECRET


def talkative_gif() -> bytes:
    return animation(3, comment=SECRET) + SECRET


PICTURES = {
    "jpeg": talkative_jpeg(),
    "progressive jpeg": talkative_jpeg(progressive=True),
    "jpeg with restarts": talkative_jpeg(restart_marker_blocks=1),
    "png": talkative_png(),
    "gif": talkative_gif(),
}


def test_what_a_picture_tells_beyond_its_pixels_is_gone() -> None:
    with Each() as subtest:
        for name, data in PICTURES.items():
            with subtest(name):
                assert SECRET in data
                cleaned = load_uploaded_image(data, "a").data
                assert SECRET not in cleaned
                picture = decode(cleaned)
                assert not picture.getexif()
                assert not {"comment", "Author", "XML:com.adobe.xmp", "photoshop"} & picture.info.keys()


def test_the_pixels_are_the_same_to_the_bit_and_keep_their_colours() -> None:
    with Each() as subtest:
        for name, data in PICTURES.items():
            with subtest(name):
                before, after = Image.open(io.BytesIO(data)), decode(load_uploaded_image(data, "a").data)
                before.load()
                assert after.tobytes() == before.tobytes()
                assert after.info.get("icc_profile") == before.info.get("icc_profile")
                assert getattr(after, "n_frames", 1) == getattr(before, "n_frames", 1)


@pytest.mark.parametrize("make", [talkative_jpeg, talkative_png])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_picture_that_asks_to_be_turned_is_turned(make: Any, orientation: int) -> None:
    data = make(orientation)
    original = Image.open(io.BytesIO(data))

    cleaned_image = load_uploaded_image(data, "a")

    cleaned = decode(cleaned_image.data)
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
    for picture in (noise, quarters((300, 200))):
        data = encode(picture, "PNG", exif=exif(6), compress_level=9)

        cleaned_image = load_uploaded_image(data, "a")

        assert decode(cleaned_image.data).tobytes() == picture.transpose(Image.Transpose.ROTATE_270).tobytes()
        assert len(cleaned_image.data) < 1.1 * len(data) + 1000


def test_a_damaged_picture_that_asks_to_be_turned_is_refused() -> None:
    for make in (talkative_jpeg, talkative_png):
        data = make(6)
        for end in (len(data) // 2, 40):
            with pytest.raises(UploadRefused):
                load_uploaded_image(data[:end], "a")


def test_an_animated_png_stays_animated() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    data = encode(frames[0], "PNG", save_all=True, append_images=frames[1:], exif=exif())

    cleaned = decode(load_uploaded_image(data, "a").data)

    assert getattr(cleaned, "n_frames", 1) == 2


def test_a_small_copy_inside_the_header_goes() -> None:
    data = encode(quarters((64, 32)), "JPEG")
    small = b"JFIF\0\x01\x01\0\0\x01\0\x01\x02\x02" + SECRET[:12]
    assert data[2:4] == b"\xff\xe0"
    rest = data[4 + struct.unpack(">H", data[4:6])[0] :]

    cleaned = load_uploaded_image(data[:2] + segment(0xE0, small) + rest, "a").data

    assert SECRET[:12] not in cleaned
    assert decode(cleaned).size == (64, 32)


def test_a_preview_behind_a_photograph_goes() -> None:
    data = encode(quarters((64, 32)), "MPO", save_all=True, append_images=[quarters((32, 16))])

    cleaned = load_uploaded_image(data, "a").data

    assert cleaned.count(b"\xff\xd8\xff") == 1
    assert decode(cleaned).format == "JPEG"


def test_a_cut_header_is_refused_and_not_guessed() -> None:
    data = encode(quarters((64, 32)), "JPEG")
    with Each() as subtest:
        for end in range(2, len(data) - 2, 7):
            with subtest(end), pytest.raises(UploadRefused):
                load_uploaded_image(data[:end], "a")
