"""Tests for image file names during upload and storage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.media.image_validation import ImageFormat
from apps.media.names import MAX_STEM, NAMED_SIZES, Crop, Transformation, normalize_filename, parse_transformation


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mug.jpg", "mug.jpg"),
        ("mug.jpeg", "mug.jpeg"),
        ("Mug_Front-1.JPG", "Mug_Front-1.jpg"),
        ("mug.png", "mug.jpg"),
        ("mug.php", "mug-php.jpg"),
        ("mug.svg", "mug.jpg"),
        ("mug", "mug.jpg"),
        ("my red  mug.jpg", "my-red-mug.jpg"),
        ("v1.2.final.jpg", "v1-2-final.jpg"),
        ("--_mug_--.jpg", "mug.jpg"),
        (".htaccess", "htaccess.jpg"),
        ("../../etc/passwd", "passwd.jpg"),
        ("C:\\photos\\mug.jpg", "mug.jpg"),
        ("Caf\N{LATIN SMALL LETTER E WITH ACUTE}.jpg", "Cafe.jpg"),
        ("\N{CYRILLIC CAPITAL LETTER KA}\N{CYRILLIC SMALL LETTER O}\N{CYRILLIC SMALL LETTER TE}.jpg", "Kot.jpg"),
        ('a"\r\nSet-Cookie: b=c.jpg', "a-Set-Cookie-b-c.jpg"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe", "gpj-exe.jpg"),
        ("mug\0.jpg", "mug.jpg"),
        ("&#60;b&#62;.jpg", "60-b-62.jpg"),
        ("", "image.jpg"),
        ("...", "image.jpg"),
        (".jpg", "image.jpg"),
        ("\N{SNOWMAN}", "image.jpg"),
        ("mug_200x200.jpg", "mug_200x200.jpg"),
        ("m" * 400 + ".jpg", "m" * MAX_STEM + ".jpg"),
    ],
)
def test_filename_is_normalised(name: str, expected: str) -> None:
    assert normalize_filename(name, ImageFormat.JPEG) == expected


@pytest.mark.parametrize(
    ("image_format", "expected"),
    [(ImageFormat.PNG, "mug.png"), (ImageFormat.GIF, "mug.gif"), (ImageFormat.JPEG, "mug.jpg")],
)
def test_filename_takes_the_extension_of_the_content(image_format: ImageFormat, expected: str) -> None:
    assert normalize_filename("mug.webp", image_format) == expected


@given(name=st.text(max_size=300), image_format=st.sampled_from(ImageFormat))
def test_filename_is_always_safe_and_stable(name: str, image_format: ImageFormat) -> None:
    normalized = normalize_filename(name, image_format)

    stem, dot, extension = normalized.rpartition(".")
    assert dot
    assert extension in {image_format.extension, image_format.value}
    assert 1 <= len(stem) <= MAX_STEM
    assert stem.isascii()
    assert stem.replace("-", "").replace("_", "").isalnum()
    assert stem[0].isalnum()
    assert stem[-1].isalnum()
    assert normalize_filename(normalized, image_format) == normalized


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("mug_200x.jpg", "mug.jpg", Transformation(width=200)),
        ("mug_x200.jpg", "mug.jpg", Transformation(height=200)),
        ("mug_200x300.png", "mug.png", Transformation(200, 300)),
        ("mug_200x300_crop_top.gif", "mug.gif", Transformation(200, 300, Crop.TOP)),
        ("mug_200x300_crop_center@2x.jpeg", "mug.jpeg", Transformation(200, 300, Crop.CENTER, 2)),
        ("mug_200x300_crop_bottom@3x.jpg", "mug.jpg", Transformation(200, 300, Crop.BOTTOM, 3)),
        ("mug_9x9_crop_left.jpg", "mug.jpg", Transformation(9, 9, Crop.LEFT)),
        ("mug_9x9_crop_right.jpg", "mug.jpg", Transformation(9, 9, Crop.RIGHT)),
        ("mug_200x_crop_left.jpg", "mug.jpg", Transformation(width=200)),
        ("mug_x5@2x.jpg", "mug.jpg", Transformation(height=5, scale=2)),
        ("mug_1024x1024.jpg", "mug.jpg", Transformation(1024, 1024)),
        ("mug_2048x2048.jpg", "mug.jpg", Transformation(2048, 2048)),
        ("mug_master.jpg", "mug.jpg", Transformation()),
        ("mug_original.jpg", "mug.jpg", Transformation()),
        ("mug_thumb_crop_center.jpg", "mug.jpg", Transformation(50, 50, Crop.CENTER)),
        ("mug_grande@2x.jpg", "mug.jpg", Transformation(600, 600, scale=2)),
        ("mug_5760x.jpg", "mug.jpg", Transformation(width=5760)),
        ("red_mug_small_200x.jpg", "red_mug_small.jpg", Transformation(width=200)),
        ("mug_100x100_50x50.jpg", "mug_100x100.jpg", Transformation(50, 50)),
        ("x_x_1x.jpg", "x_x.jpg", Transformation(width=1)),
    ],
)
def test_transformation_is_parsed(name: str, base: str, expected: Transformation) -> None:
    assert parse_transformation(name) == (base, expected)


def test_named_sizes_are_those_of_the_specification() -> None:
    sizes = {name: parse_transformation(f"mug_{name}.png") for name in NAMED_SIZES}

    pixels = (16, 32, 50, 100, 160, 240, 480, 600)
    names = ("pico", "icon", "thumb", "small", "compact", "medium", "large", "grande")
    assert sizes == {name: ("mug.png", Transformation(side, side)) for name, side in zip(names, pixels, strict=True)}


@pytest.mark.parametrize(
    "name",
    [
        "mug.jpg",
        "mug_x.jpg",
        "mug_.jpg",
        "mug_0x.jpg",
        "mug_0200x.jpg",
        "mug_0x200.jpg",
        "mug_5761x.jpg",
        "mug_x9999.jpg",
        "mug_99999x.jpg",
        "mug_2048x2048@3x.jpg",
        "mug_200x@1x.jpg",
        "mug_200x@4x.jpg",
        "mug@2x.jpg",
        "mug_200.jpg",
        "mug_200x200_crop.jpg",
        "mug_200x200_crop_middle.jpg",
        "mug_200x200_crop_top_crop_left.jpg",
        "mug_crop_top.jpg",
        "mug_huge.jpg",
        "mug_SMALL.jpg",
        "mug_master@2x.jpg",
        "mug_original_crop_top.jpg",
        "mug_200x200",
        "mug_200x200.webp",
        "mug_200x200.jpg\n",
        "mug_\N{ARABIC-INDIC DIGIT THREE}x.jpg",
        "_200x.jpg",
        "a/mug_200x.jpg",
        "m" * 250 + "_200x.jpg",
        "",
    ],
)
def test_unknown_transformation_is_none(name: str) -> None:
    assert parse_transformation(name) is None


def test_equal_wishes_share_their_cache_key() -> None:
    spelled = [parse_transformation(f"mug_{size}.jpg") for size in ("small", "100x100")]

    assert spelled[0] == spelled[1]
    assert str(Transformation(100, 100)) == "100x100"
    assert str(Transformation(100, None, None, 2)) == "100x@2x"
    assert str(Transformation(100, 50, Crop.TOP, 3)) == "100x50_crop_top@3x"
    assert str(Transformation()) == "master"


@given(name=st.from_regex(r"[a-z_]{0,9}_[0-9]{0,5}x[0-9]{0,5}(_crop_(top|left))?(@[0-9]x)?\.(jpg|png)", fullmatch=True))
def test_transformation_never_asks_for_more_than_the_largest_side(name: str) -> None:
    parsed = parse_transformation(name)

    if parsed is not None:
        base, wish = parsed
        sides = [side for side in wish.box if side is not None]
        assert sides
        assert 1 <= min(sides) <= max(sides) <= 5760
        assert name.startswith(base.rpartition(".")[0] + "_")
