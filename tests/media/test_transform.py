import io
import struct
from typing import Any

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from apps.core.media import transform as transform_module
from apps.core.media.gif_parser import parse_gif_structure
from apps.core.media.image_validation import ImageRefused, identify_image
from apps.core.media.names import Crop, Transformation
from apps.core.media.transform import transform_image
from tests.support.files.images import (
    build_orientation_exif,
    decode_image,
    draw_quarters,
    encode_image,
    make_animation,
    make_plain_image,
)

MARKER = b"<script>alert(1)</script>"
Color = tuple[int, int, int]
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
as_it_is_and_smaller = pytest.mark.parametrize("wish", [Transformation(), Transformation(width=20)], ids=str)


def has_color_near(picture: Image.Image, point: tuple[int, int], color: Color) -> bool:
    pixel = picture.convert("RGB").getpixel(point)
    assert isinstance(pixel, tuple)
    return all(abs(channel - expected) < 40 for channel, expected in zip(pixel, color, strict=True))


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
@pytest.mark.parametrize(
    ("wish", "size"),
    [
        (Transformation(), (400, 200)),
        (Transformation(width=100), (100, 50)),
        (Transformation(height=100), (200, 100)),
        (Transformation(100, 100), (100, 50)),
        (Transformation(300, 20), (40, 20)),
        (Transformation(width=100, scale=3), (300, 150)),
        (Transformation(width=401), (400, 200)),
        (Transformation(1000, 1000, scale=2), (400, 200)),
        (Transformation(100, 100, Crop.CENTER), (100, 100)),
        (Transformation(50, 100, Crop.LEFT), (50, 100)),
        (Transformation(300, 300, Crop.CENTER), (300, 200)),
        (Transformation(500, 100, Crop.TOP), (400, 100)),
        (Transformation(999, 999, Crop.TOP), (400, 200)),
        (Transformation(width=1), (1, 1)),
    ],
    ids=str,
)
def test_transform_fits_the_box(image_format: str, wish: Transformation, size: tuple[int, int]) -> None:
    result = identify_image(transform_image(make_plain_image(image_format, (400, 200)), wish))

    assert (result.format, result.width, result.height) == (image_format.lower(), *size)


@pytest.mark.parametrize("size", [(3, 2000), (2000, 3), (1, 1), (333, 777)])
@pytest.mark.parametrize("crop", [None, *Crop])
def test_transform_survives_extreme_proportions(size: tuple[int, int], crop: Crop | None) -> None:
    for image_format in ("PNG", "JPEG", "GIF"):
        result = identify_image(transform_image(make_plain_image(image_format, size), Transformation(97, 31, crop)))

        assert result.width <= min(97, size[0])
        assert result.height <= min(31, size[1])


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
@pytest.mark.parametrize(
    ("wish", "left_top", "right_bottom"),
    [
        (Transformation(100, 50, Crop.TOP), RED, GREEN),
        (Transformation(100, 50, Crop.BOTTOM), BLUE, WHITE),
        (Transformation(100, 50, Crop.CENTER), RED, WHITE),
        (Transformation(50, 100, Crop.LEFT), RED, BLUE),
        (Transformation(50, 100, Crop.RIGHT), GREEN, WHITE),
    ],
)
def test_transform_crops_to_the_wanted_side(
    image_format: str, wish: Transformation, left_top: Color, right_bottom: Color
) -> None:
    result = decode_image(transform_image(encode_image(draw_quarters((400, 400)), image_format), wish))

    assert result.size == (wish.width, wish.height)
    assert has_color_near(result, (5, 5), left_top)
    assert has_color_near(result, (result.width - 6, result.height - 6), right_bottom)


@pytest.mark.parametrize("image_format", ["PNG", "JPEG"])
@pytest.mark.parametrize(
    ("orientation", "corners"),
    [
        (1, (RED, GREEN, BLUE, WHITE)),
        (2, (GREEN, RED, WHITE, BLUE)),
        (3, (WHITE, BLUE, GREEN, RED)),
        (4, (BLUE, WHITE, RED, GREEN)),
        (5, (RED, BLUE, GREEN, WHITE)),
        (6, (BLUE, RED, WHITE, GREEN)),
        (7, (WHITE, GREEN, BLUE, RED)),
        (8, (GREEN, WHITE, RED, BLUE)),
    ],
)
@pytest.mark.parametrize("wish", [Transformation(100, 100), Transformation()], ids=str)
def test_transform_rotates(image_format: str, orientation: int, corners: tuple[Any, ...], wish: Transformation) -> None:
    data = encode_image(draw_quarters((400, 200)), image_format, exif=build_orientation_exif(orientation))

    result = decode_image(transform_image(data, wish))

    right, bottom = result.width - 6, result.height - 6
    assert result.width * 2 == result.height if orientation >= 5 else result.width == result.height * 2
    assert not result.getexif()
    for point, color in zip(((5, 5), (right, 5), (5, bottom), (right, bottom)), corners, strict=True):
        assert has_color_near(result, point, color)


def test_transform_crops_after_turning_upright() -> None:
    data = encode_image(draw_quarters((400, 400)), "JPEG", exif=build_orientation_exif(6))

    result = decode_image(transform_image(data, Transformation(100, 50, Crop.TOP)))

    assert [has_color_near(result, (5, 25), BLUE), has_color_near(result, (94, 25), RED)] == [True, True]


@as_it_is_and_smaller
def test_transform_drops_metadata_and_trailing_bytes(wish: Transformation) -> None:
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", MARKER.decode())
    exif = Image.Exif()
    exif[0x010E] = MARKER.decode()
    picture = draw_quarters((40, 40))
    dirty = [
        encode_image(picture, "PNG", pnginfo=text, exif=exif.tobytes()) + MARKER,
        encode_image(picture, "JPEG", comment=MARKER, exif=exif.tobytes(), xmp=MARKER) + MARKER,
        encode_image(picture, "GIF", comment=MARKER) + MARKER,
        make_animation(3, (40, 40), comment=MARKER) + MARKER,
    ]

    for data in dirty:
        assert MARKER in data
        assert MARKER not in transform_image(data, wish)


@pytest.mark.parametrize("image_format", ["PNG", "JPEG"])
def test_transform_keeps_a_color_profile_that_fits(image_format: str) -> None:
    data = encode_image(draw_quarters((40, 40)), image_format, icc_profile=PROFILE)

    assert decode_image(transform_image(data, Transformation(width=10))).info["icc_profile"] == PROFILE


def test_transform_drops_a_color_profile_that_fits_no_longer_or_is_huge() -> None:
    four_colors = make_plain_image("JPEG", (40, 40), "CMYK", icc_profile=PROFILE)
    huge = make_plain_image("PNG", (40, 40), icc_profile=PROFILE + bytes(70_000))

    for data in (four_colors, huge):
        result = decode_image(transform_image(data, Transformation(width=10)))

        assert result.mode == "RGB"
        assert "icc_profile" not in result.info


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
@as_it_is_and_smaller
def test_transform_handles_every_kind_of_png(mode: str, wish: Transformation) -> None:
    result = decode_image(transform_image(make_plain_image("PNG", (40, 40), mode), wish))

    assert result.format == "PNG"
    assert result.width == (wish.width or 40)


def test_transform_keeps_the_brightness_of_16_bit_pictures() -> None:
    data = encode_image(Image.new("I;16", (40, 40), 0x8000), "PNG")

    assert decode_image(transform_image(data, Transformation(width=10))).getpixel((5, 5)) == 0x80


@as_it_is_and_smaller
@pytest.mark.parametrize("image_format", ["PNG", "GIF"])
def test_transform_keeps_transparency(image_format: str, wish: Transformation) -> None:
    picture = Image.new("RGBA", (40, 40), (255, 0, 0, 0))
    picture.paste((0, 0, 255, 255), (20, 0, 40, 40))

    result = decode_image(transform_image(encode_image(picture, image_format), wish)).convert("RGBA")

    assert result.getpixel((2, 2))[3] == 0  # type: ignore[index]
    assert result.getpixel((result.width - 3, 2)) == (0, 0, 255, 255)


@as_it_is_and_smaller
@pytest.mark.parametrize(("transparency", "alpha"), [(1, 0), (b"\xff\x80", 0x80)])
def test_transform_keeps_palette_transparency(wish: Transformation, transparency: int | bytes, alpha: int) -> None:
    picture = Image.new("P", (40, 40), 1)
    picture.putpalette([255, 0, 0, 0, 255, 0])
    data = encode_image(picture, "PNG", transparency=transparency)

    result = decode_image(transform_image(data, wish)).convert("RGBA")

    assert result.getpixel((5, 5))[3] == alpha  # type: ignore[index]


def test_transform_leaves_no_faint_pixels_in_a_gif() -> None:
    picture = Image.new("RGBA", (40, 40), (0, 0, 255, 0))
    for column in range(0, 40, 4):
        picture.paste((0, 0, 255, 255), (column, 0, column + 1, 40))

    result = decode_image(transform_image(encode_image(picture, "GIF"), Transformation(width=10))).convert("RGBA")

    assert result.getchannel("A").getextrema() == (0, 0)


@as_it_is_and_smaller
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_transform_makes_jpegs_that_browsers_show(mode: str, wish: Transformation) -> None:
    result = decode_image(transform_image(make_plain_image("JPEG", (40, 40), mode), wish))

    assert (result.format, result.mode) == ("JPEG", "L" if mode == "L" else "RGB")


def test_transform_takes_only_the_photograph_of_a_jpeg_with_a_preview() -> None:
    data = make_plain_image("MPO", (40, 30), save_all=True, append_images=[Image.new("RGB", (8, 6))])

    result = decode_image(transform_image(data, Transformation(width=20)))

    assert (result.format, result.size) == ("JPEG", (20, 15))


def test_transform_keeps_an_animation_with_its_times_and_loops() -> None:
    data = make_animation(4, duration=[70, 80, 90, 100], loop=3)

    result = decode_image(transform_image(data, Transformation(width=20)))

    assert (result.size, result.n_frames, result.info["loop"]) == ((20, 10), 4, 3)  # type: ignore[attr-defined]
    durations = []
    for index in range(4):
        result.seek(index)
        durations.append(result.info["duration"])
        assert has_color_near(result, (5, 5), (index, 255 - index, 7))
    assert durations == [70, 80, 90, 100]


def test_animations_are_cropped_and_unchanged_if_they_keep_their_size() -> None:
    data = make_animation(4, duration=70, loop=0)

    assert transform_image(data, Transformation(width=4_000)) == data
    assert parse_gif_structure(transform_image(data, Transformation(10, 10, Crop.LEFT))).frames == 4


@pytest.mark.parametrize("limit", ["MAX_ANIMATION_PIXELS_IN", "MAX_ANIMATION_PIXELS_OUT"])
def test_transform_makes_a_still_of_an_expensive_animation(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_animation(4)
    wish = Transformation(width=20)
    cost = 4 * 40 * 20 if limit.endswith("IN") else 4 * 20 * 10

    for pixels, frames in ((cost, 4), (cost - 1, 1)):
        monkeypatch.setattr(transform_module, limit, pixels)
        assert parse_gif_structure(transform_image(data, wish)).frames == frames


def make_odd_animation(start: int, content: bytes) -> bytes:
    """Return an animation of two frames. The second one has other bytes for its place and size."""
    data = bytearray(make_animation(2, (8, 8)))
    at = data.rindex(b",\0\0\0\0\x08\0\x08\0") + start
    data[at : at + len(content)] = content
    return bytes(data)


def test_transform_clips_a_later_frame_that_leaves_the_canvas() -> None:
    result = transform_image(make_odd_animation(1, b"\4"), Transformation(width=4))

    assert decode_image(result).size == (4, 4)
    assert parse_gif_structure(result).frames == 2


def test_transform_refuses_a_later_frame_that_is_a_bomb() -> None:
    with pytest.raises(ImageRefused, match=r"^is larger than 25 megapixels$"):
        transform_image(make_odd_animation(5, b"\xff\xff\xff\xff"), Transformation(width=4))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_transform_refuses_a_large_later_frame_even_where_the_warning_is_silenced() -> None:
    with pytest.raises(ImageRefused, match=r"^is larger than 25 megapixels$"):
        transform_image(make_odd_animation(5, struct.pack("<2H", 5_001, 5_000)), Transformation(width=4))


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", make_plain_image("WEBP", (8, 8)), make_plain_image("JPEG", (80, 80))[:-40]]
)
def test_transform_refuses_what_is_no_image(data: bytes) -> None:
    with pytest.raises(ImageRefused, match=r"^(is invalid|must be in one of the formats .*)$"):
        transform_image(data, Transformation(width=4))


@pytest.mark.parametrize("image_format", ["PNG", "GIF", "JPEG"])
def test_transform_answers_every_flipped_byte_with_a_refusal_or_an_image(image_format: str) -> None:
    data = encode_image(Image.effect_noise((16, 12), 60), image_format)

    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        try:
            result = transform_image(bytes(damaged), Transformation(width=8))
        except ImageRefused:
            continue
        assert Image.open(io.BytesIO(result)).format == image_format
