"""Tests of recognizing images, and of the structure of GIF files."""

import io
import subprocess
import sys
from collections.abc import Callable

import pytest
from PIL import Image

from apps.core.media.gif_parser import InvalidGif, parse_gif_structure
from apps.core.media.image_validation import (
    MAX_BYTES,
    MAX_FRAMES,
    ImageFormat,
    ImageInfo,
    ImageRefused,
    identify_image,
    open_image,
)
from tests.support.files.images import (
    build_orientation_exif,
    build_png_chunk,
    decode_image,
    encode_image,
    make_animation,
    make_blank_png,
    make_plain_image,
)


@pytest.mark.parametrize(
    ("pillow_name", "image_format", "content_type", "extension"),
    [
        ("PNG", ImageFormat.PNG, "image/png", "png"),
        ("GIF", ImageFormat.GIF, "image/gif", "gif"),
        ("JPEG", ImageFormat.JPEG, "image/jpeg", "jpg"),
    ],
)
def test_identify_reads_pixels(pillow_name: str, image_format: ImageFormat, content_type: str, extension: str) -> None:
    data = make_plain_image(pillow_name, (31, 17))

    expected = ImageInfo(image_format, 31, 17, content_type, extension)
    assert identify_image(data) == expected
    assert identify_image(io.BytesIO(data)) == expected


def test_identify_reads_from_the_current_position() -> None:
    file = io.BytesIO(b"--boundary" + make_plain_image("PNG", (3, 2)))
    file.seek(10)

    assert identify_image(file).width == 3


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_identify_knows_every_kind_of_png(mode: str) -> None:
    assert identify_image(make_plain_image("PNG", (5, 4), mode)).format == "png"


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_identify_knows_every_kind_of_jpeg(mode: str) -> None:
    assert identify_image(make_plain_image("JPEG", (5, 4), mode, progressive=True)).format == "jpeg"


def test_identify_takes_a_photograph_with_a_preview_inside_for_a_jpeg() -> None:
    data = make_plain_image("MPO", (40, 30), save_all=True, append_images=[Image.new("RGB", (8, 6))])

    info = identify_image(data)

    assert decode_image(data).format == "MPO"
    assert (info.format, info.width, info.height, info.extension) == ("jpeg", 40, 30, "jpg")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_identify_measures_the_picture_as_it_is_displayed(orientation: int) -> None:
    info = identify_image(make_plain_image("JPEG", (40, 30), exif=build_orientation_exif(orientation)))

    assert (info.width, info.height) == ((30, 40) if orientation >= 5 else (40, 30))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data:UserWarning")
@pytest.mark.parametrize(
    "exif", [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff", build_orientation_exif(9), build_orientation_exif(0)]
)
def test_identify_ignores_senseless_exif(exif: bytes) -> None:
    assert identify_image(make_plain_image("JPEG", (40, 30), exif=exif)).width == 40


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"\xff\xd8\xff\xe0",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><html><body>hello</body></html>",
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>',
        b"%PDF-1.7\n%%EOF",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        make_plain_image("WEBP", (8, 8)),
        make_plain_image("BMP", (8, 8)),
        make_plain_image("TIFF", (8, 8)),
        make_plain_image("ICO", (16, 16)),
        make_plain_image("PPM", (8, 8)),
        b"GIF89a<script>alert(1)</script>",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_identify_refuses_anything_else(data: bytes) -> None:
    with pytest.raises(ImageRefused, match=r"^is invalid$"):
        identify_image(data)


@pytest.mark.parametrize("size", [(12_000, 12_000), (20_000, 20_000), (5_001, 5_000)])
def test_identify_refuses_more_than_25_megapixels(size: tuple[int, int]) -> None:
    data = make_blank_png(*size)

    with pytest.raises(ImageRefused, match=r"^is larger than 25 megapixels$"):
        identify_image(data)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("read", [identify_image, open_image])
def test_images_with_too_many_pixels_are_refused_despite_a_silenced_warning(read: Callable[[bytes], object]) -> None:
    with pytest.raises(ImageRefused, match=r"^is larger than 25 megapixels$"):
        read(make_blank_png(5_001, 5_000))


def test_identify_accepts_exactly_25_megapixels() -> None:
    assert identify_image(make_blank_png(5_000, 5_000)).height == 5_000


def test_importing_the_module_makes_all_of_pillow_strict() -> None:
    # Settings add types to Django's classes, which the module needs.
    program = """
import io, sys
import backoffice.settings
import apps.core.media.image_validation
from PIL import Image
try:
    Image.open(io.BytesIO(sys.stdin.buffer.read()))
except Image.DecompressionBombWarning:
    print("refused")
"""

    result = subprocess.run(
        [sys.executable, "-c", program], input=make_blank_png(5_001, 5_000), capture_output=True, check=True
    )

    assert result.stdout == b"refused\n"


def test_identify_refuses_a_gif_frame_that_enlarges_the_canvas_beyond_the_limit() -> None:
    data = bytearray(make_plain_image("GIF", (8, 8), "P"))
    descriptor = data.index(b",\0\0\0\0\x08\0\x08\0")
    data[descriptor + 5 : descriptor + 9] = b"\xff\xff\xff\xff"

    with pytest.raises(ImageRefused, match=r"^is larger than 25 megapixels$"):
        identify_image(bytes(data))


def test_identify_refuses_more_than_20_mib() -> None:
    data = make_plain_image("PNG", (8, 8))
    padded = data + bytes(MAX_BYTES - len(data))

    assert identify_image(padded).width == 8
    for content in (padded + b"\0", io.BytesIO(padded + b"\0")):
        with pytest.raises(ImageRefused, match=r"^is larger than 20 MiB$"):
            identify_image(content)


def test_identify_counts_gif_frames() -> None:
    assert identify_image(make_animation(MAX_FRAMES)).frames == MAX_FRAMES
    with pytest.raises(ImageRefused, match=r"^has more than 250 frames$"):
        identify_image(make_animation(300))


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
def test_identify_refuses_every_truncation(image_format: str) -> None:
    data = encode_image(Image.effect_noise((24, 18), 60), image_format)

    for length in range(len(data)):
        with pytest.raises(ImageRefused, match=r"^is invalid$"):
            identify_image(data[:length])


def test_identify_refuses_an_animation_cut_after_its_first_frame() -> None:
    data = make_animation(5)

    with pytest.raises(ImageRefused, match=r"^is invalid$"):
        identify_image(data[: len(data) * 3 // 5])


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
def test_identify_answers_every_flipped_byte_with_a_refusal_or_an_info(image_format: str) -> None:
    data = encode_image(Image.effect_noise((16, 12), 60), image_format)

    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            try:
                result = str(identify_image(bytes(damaged)).format)
            except ImageRefused as error:
                result = str(error)
            assert result in {image_format.lower(), "is invalid", "is larger than 25 megapixels"}


@pytest.mark.parametrize(
    ("data", "position", "padding"),
    [
        (make_plain_image("PNG", (8, 8)), 33, build_png_chunk(b"prVt", b"") * 1_700_000),
        (make_plain_image("GIF", (8, 8), "P"), -1, b"!\xfe\x00" * 6_900_000),
        (make_plain_image("GIF", (8, 8), "P"), -1, b"!\xfe" + b"\x01x" * 10_000_000 + b"\0"),
        (make_plain_image("JPEG", (8, 8)), 2, b"\xff\xfe\x00\x02" * 5_200_000),
    ],
    ids=["png chunks", "gif comments", "gif sub-blocks", "jpeg comments"],
)
def test_identify_refuses_a_valid_image_with_endless_headers(data: bytes, position: int, padding: bytes) -> None:
    few_chunks, many_chunks = (data[:position] + stuffing + data[position:] for stuffing in (b"", padding))
    assert len(many_chunks) < MAX_BYTES

    assert identify_image(few_chunks).width == 8
    with pytest.raises(ImageRefused, match=r"^is invalid$"):
        identify_image(many_chunks)


COMMENT = b"!\xfe\x09<script>x\x00"


@pytest.mark.parametrize("frames", [1, 2, 7])
def test_structure_counts_frames(frames: int) -> None:
    assert parse_gif_structure(make_animation(frames)).frames == frames


def test_clean_keeps_an_ordinary_gif_byte_for_byte() -> None:
    data = make_animation(3, duration=70, loop=0)

    assert parse_gif_structure(data).clean(data) == data


def test_clean_drops_comments_foreign_extensions_and_what_follows_the_trailer() -> None:
    data = make_animation(3, duration=70, loop=0)
    first_block = 13 + (3 << ((data[10] & 7) + 1))
    xmp = b"!\xff\x0bXMP DataXMP\x04<x/>\x00"
    dirty = data[:first_block] + COMMENT + xmp + data[first_block:] + b"<script>alert(1)</script>"

    cleaned = parse_gif_structure(dirty).clean(dirty)

    assert cleaned == data
    assert decode_image(cleaned).info["loop"] == 0


@pytest.mark.parametrize(
    "data",
    [b"", b"GIF89a", b"PNG", b"GIF89a" + bytes(7) + b";", b"GIF89a" + bytes(7) + COMMENT + b";", b"GIF89a" + bytes(99)],
    ids=["empty", "signature alone", "other", "no frame", "no frame but a comment", "unknown blocks"],
)
def test_structure_refuses_what_is_no_gif(data: bytes) -> None:
    with pytest.raises(InvalidGif):
        parse_gif_structure(data)


def test_structure_refuses_every_truncation() -> None:
    data = make_plain_image("GIF", (8, 8))

    for length in range(len(data)):
        with pytest.raises(InvalidGif):
            parse_gif_structure(data[:length])


def test_structure_refuses_absurd_fragmentation() -> None:
    data = make_plain_image("GIF", (8, 8), "P")

    with pytest.raises(InvalidGif, match="too many blocks"):
        parse_gif_structure(data[:-1] + b"!\xfe\x00" * 400_001 + b";")
