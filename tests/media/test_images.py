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

WRONG_FORMAT = "must be in one of the formats PNG, JPEG, GIF, WebP, AVIF"
INVALID, TOO_LARGE = (
    f"^(is invalid|{WRONG_FORMAT})$",
    "^is larger than 25 megapixels$",
)


@pytest.mark.parametrize("name", ["PNG", "GIF", "JPEG"])
def test_identify_reads_pixels(name: str) -> None:
    info = identify_image(make_plain_image(name, (31, 17)))

    assert info == ImageInfo(ImageFormat[name], 31, 17)
    assert info.format.content_type == f"image/{name.lower()}"


@pytest.mark.parametrize(
    ("name", "modes"), [("PNG", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]), ("JPEG", ["L", "RGB", "CMYK"])]
)
def test_identify_knows_every_kind_of_picture(name: str, modes: list[str]) -> None:
    pictures = [make_plain_image(name, (5, 4), mode, progressive=True) for mode in modes]

    assert {identify_image(picture).format for picture in pictures} == {name.lower()}


def test_identify_takes_a_photograph_with_a_preview_inside_for_a_jpeg() -> None:
    data = make_plain_image("MPO", (40, 30), save_all=True, append_images=[Image.new("RGB", (8, 6))])

    assert decode_image(data).format == "MPO"
    assert identify_image(data) == ImageInfo(ImageFormat.JPEG, 40, 30)


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
        *(make_plain_image(name, (16, 16)) for name in ("WEBP", "BMP", "TIFF", "ICO", "PPM")),
        b"GIF89a<script>alert(1)</script>",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_identify_refuses_anything_else(data: bytes) -> None:
    with pytest.raises(ImageRefused, match=INVALID):
        identify_image(data)


@pytest.mark.parametrize("size", [(12_000, 12_000), (20_000, 20_000), (5_001, 5_000)])
def test_identify_refuses_more_than_25_megapixels(size: tuple[int, int]) -> None:
    with pytest.raises(ImageRefused, match=TOO_LARGE):
        identify_image(make_blank_png(*size))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("read", [identify_image, open_image])
def test_images_with_too_many_pixels_are_refused_despite_a_silenced_warning(read: Callable[[bytes], object]) -> None:
    with pytest.raises(ImageRefused, match=TOO_LARGE):
        read(make_blank_png(5_001, 5_000))


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

    with pytest.raises(ImageRefused, match=TOO_LARGE):
        identify_image(bytes(data))


def test_identify_refuses_more_than_20_mib() -> None:
    data = make_plain_image("PNG", (8, 8))
    padded = data + bytes(MAX_BYTES - len(data))

    assert identify_image(padded).width == 8
    with pytest.raises(ImageRefused, match=r"^is larger than 20 MB$"):
        identify_image(padded + b"\0")


def test_identify_limits_gif_frames_and_accepts_25_megapixels() -> None:
    assert identify_image(make_blank_png(5_000, 5_000)).height == 5_000
    assert identify_image(make_animation(MAX_FRAMES)).format == "gif"
    with pytest.raises(ImageRefused, match=r"^has more than 250 frames$"):
        identify_image(make_animation(300))


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
def test_identify_refuses_every_file_with_lost_pixels(image_format: str) -> None:
    data = encode_image(Image.effect_noise((24, 18), 60), image_format)
    # In one of about twenty JPEG files all pixels can be read without the end marker of two bytes.
    marker = 2 if image_format == "JPEG" else 0

    for length in range(len(data) - marker):
        with pytest.raises(ImageRefused, match=INVALID):
            identify_image(data[:length])


def test_identify_refuses_an_animation_cut_after_its_first_frame() -> None:
    data = make_animation(5)

    with pytest.raises(ImageRefused, match=INVALID):
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
            assert result in {image_format.lower(), "is invalid", WRONG_FORMAT, "is larger than 25 megapixels"}


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
    with pytest.raises(ImageRefused, match=INVALID):
        identify_image(many_chunks)


COMMENT = b"!\xfe\x09<script>x\x00"


@pytest.mark.parametrize("frames", [1, 2, 7])
def test_structure_of_an_ordinary_gif_is_kept(frames: int) -> None:
    data = make_animation(frames, duration=70, loop=0)
    structure = parse_gif_structure(data)

    assert (structure.frames, structure.clean(data)) == (frames, data)


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
