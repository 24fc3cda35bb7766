"""Tests that the GIF parser follows the block structure exactly."""

import pytest

from apps.media.gif_parser import InvalidGif, parse_gif_structure
from tests.media.images import decode_image, make_animation, make_plain_image

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
