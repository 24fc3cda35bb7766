import base64
import os
import threading
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.base import ContentFile
from hypothesis import given
from hypothesis import strategies as st

from apps.core.media.attachments import AttachmentRefused, decode_attachment
from apps.core.media.image_validation import ImageFormat
from apps.core.media.names import MAX_STEM, NAMED_SIZES, Crop, Transformation, normalize_filename, parse_transformation
from apps.core.media.storage import AtomicFileStorage, list_files, list_folders, read_file
from apps.core.media.transform import DELETED_AT_ONCE, MAX_RENDITIONS, get_or_create_rendition
from tests.support.types import Json


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


def test_filename_takes_the_extension_of_the_content() -> None:
    names = [normalize_filename("mug.webp", image) for image in (ImageFormat.PNG, ImageFormat.GIF, ImageFormat.JPEG)]

    assert names == ["mug.png", "mug.gif", "mug.jpg"]


@given(name=st.text(max_size=300), image_format=st.sampled_from(ImageFormat))
def test_filename_is_always_safe_and_stable(name: str, image_format: ImageFormat) -> None:
    normalized = normalize_filename(name, image_format)

    stem, dot, extension = normalized.rpartition(".")
    assert dot
    assert extension in ({"jpg", "jpeg"} if image_format is ImageFormat.JPEG else {image_format.value})
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


def test_unknown_transformation_is_none() -> None:
    names = [
        "mug.jpg", "mug_x.jpg", "mug_.jpg", "mug_0x.jpg", "mug_0200x.jpg", "mug_0x200.jpg", "mug_5761x.jpg",
        "mug_x9999.jpg", "mug_99999x.jpg", "mug_2048x2048@3x.jpg", "mug_200x@1x.jpg", "mug_200x@4x.jpg", "mug@2x.jpg",
        "mug_200.jpg", "mug_200x200_crop.jpg", "mug_200x200_crop_middle.jpg", "mug_200x200_crop_top_crop_left.jpg",
        "mug_crop_top.jpg", "mug_huge.jpg", "mug_SMALL.jpg", "mug_master@2x.jpg", "mug_original_crop_top.jpg",
        "mug_200x200", "mug_200x200.webp", "mug_200x200.jpg\n", "mug_\N{ARABIC-INDIC DIGIT THREE}x.jpg", "_200x.jpg",
        "a/mug_200x.jpg", "m" * 250 + "_200x.jpg", "",
    ]  # fmt: skip

    assert {name: parsed for name in names if (parsed := parse_transformation(name))} == {}


def test_equal_wishes_share_their_cache_key() -> None:
    assert parse_transformation("mug_small.jpg") == parse_transformation("mug_100x100.jpg")
    keys = {
        "100x100": Transformation(100, 100),
        "100x@2x": Transformation(100, None, None, 2),
        "100x50_crop_top@3x": Transformation(100, 50, Crop.TOP, 3),
        "master": Transformation(),
    }
    assert list(map(str, keys.values())) == list(keys)


@given(name=st.from_regex(r"[a-z_]{0,9}_[0-9]{0,5}x[0-9]{0,5}(_crop_(top|left))?(@[0-9]x)?\.(jpg|png)", fullmatch=True))
def test_transformation_never_asks_for_more_than_the_largest_side(name: str) -> None:
    parsed = parse_transformation(name)

    if parsed is not None:
        base, wish = parsed
        sides = [side for side in wish.box if side is not None]
        assert sides
        assert 1 <= min(sides) <= max(sides) <= 5760
        assert name.startswith(base.rpartition(".")[0] + "_")


LIMIT = 20 * 1024 * 1024


@given(data=st.binary(min_size=1, max_size=200))
def test_attachment_decodes_what_was_encoded(data: bytes) -> None:
    assert decode_attachment(base64.b64encode(data).decode(), len(data)) == data


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_attachment_may_have_line_breaks(line_break: str) -> None:
    text = base64.encodebytes(bytes(range(256))).decode().replace("\n", line_break)

    assert decode_attachment(text, 256) == bytes(range(256))


REFUSED: dict[str, list[Json]] = {
    "can't be blank": ["", "\n\r\n"],
    "data: prefix": ["data:image/png;base64,iVBORw0=", "DATA:,x"],
    "not valid Base64": [
        "aGVsbG8", "aGVsbG8==", "aGVsbG8=x", "aGVsbG8=aGVsbG8=", "=aGVsbG8", "aGVs bG8=", "aGVs\tbG8=", "aGVs-_8=",
        "aGVs*G8=", "aGVs\u00e9G8=", "aGVs\0G8=", "\ud800GVsbG8=", "a", "====",
    ],
    "must be a Base64 string": [None, 17, ["aGVsbG8="], b"aGVsbG8="],
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_attachment_is_refused(reason: str) -> None:
    for value in REFUSED[reason]:
        with pytest.raises(AttachmentRefused, match=reason):
            decode_attachment(value, LIMIT)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_attachment_of_exactly_the_limit_is_accepted(size: int) -> None:
    text = base64.encodebytes(bytes(size)).decode()

    assert decode_attachment(text, size) == bytes(size)
    with pytest.raises(AttachmentRefused, match=f"^is larger than {size - 1} bytes$"):
        decode_attachment(text, size - 1)


def test_attachment_of_30_mib_is_refused_without_decoding() -> None:
    text = base64.b64encode(bytes(30 * 1024 * 1024)).decode()
    tracemalloc.start()

    with pytest.raises(AttachmentRefused, match=r"^is larger than 20 MB$"):
        decode_attachment(text, LIMIT)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1024 * 1024


@pytest.fixture
def storage(tmp_path: Path) -> AtomicFileStorage:
    return AtomicFileStorage(location=str(tmp_path))


def get_created_versions(storage: AtomicFileStorage, *numbers: int) -> list[int]:
    """Request the renditions with these numbers; return the numbers of the renditions that were not cached."""
    created: list[int] = []

    def make(number: int) -> bytes:
        created.append(number)
        return str(number).encode()

    for number in numbers:
        content = get_or_create_rendition(storage, "a/sizes", f"{number}.png", partial(make, number))
        assert content == str(number).encode()
        path = Path(storage.path(f"a/sizes/{number}.png"))
        if number in created:
            os.utime(path, (number, number))
    return created


def test_a_version_is_made_once(storage: AtomicFileStorage) -> None:
    assert get_created_versions(storage, 1, 2, 1, 2) == [1, 2]


def test_the_oldest_versions_make_room_for_more(storage: AtomicFileStorage) -> None:
    get_created_versions(storage, *range(1, MAX_RENDITIONS + 1))

    assert get_created_versions(storage, MAX_RENDITIONS + 1) == [MAX_RENDITIONS + 1]
    assert get_created_versions(storage, MAX_RENDITIONS + 1, DELETED_AT_ONCE + 1, MAX_RENDITIONS) == []
    assert len(list_files(storage, "a/sizes")) == MAX_RENDITIONS - DELETED_AT_ONCE + 1
    assert get_created_versions(storage, 1, DELETED_AT_ONCE) == [1, DELETED_AT_ONCE]


def test_renditions_never_exceed_the_limit(storage: AtomicFileStorage) -> None:
    for number in range(1, 3 * MAX_RENDITIONS):
        get_created_versions(storage, number)
        assert len(list_files(storage, "a/sizes")) <= MAX_RENDITIONS


def test_a_version_that_cannot_be_kept_is_shown_all_the_same(
    storage: AtomicFileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_save", Mock(side_effect=OSError(28, "No space left on device")))

    assert get_or_create_rendition(storage, "a/sizes", "1.png", lambda: b"one") == b"one"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class _SlowContent(ContentFile[bytes]):
    """File content in two parts. The second part waits for an event."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.begun, self.go_on = threading.Event(), threading.Event()

    def chunks(self, chunk_size: int | None = None) -> Any:
        yield b"first half, "
        self.begun.set()
        if not self.go_on.wait(timeout=30):
            raise OSError
        yield b"second half"


def test_a_file_is_there_completely_or_not_at_all(storage: AtomicFileStorage) -> None:
    content = _SlowContent()
    writer = threading.Thread(target=lambda: storage.save("a/file.png", content))
    writer.start()
    content.begun.wait(timeout=30)

    assert read_file(storage, "a/file.png") is None
    content.go_on.set()
    writer.join(timeout=30)
    assert read_file(storage, "a/file.png") == b"first half, second half"
    assert list_files(storage, "a") == ["file.png"]


def test_a_missing_rendition_is_none(storage: AtomicFileStorage) -> None:
    assert read_file(storage, "no/file") is None
    assert list_files(storage, "no") == list_folders(storage, "no") == []
