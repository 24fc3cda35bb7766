"""Parse the block structure of GIF files, to count frames and remove metadata without decoding any pixels."""

from dataclasses import dataclass

# The largest accepted file contains about 82,000 full sub-blocks. A file with far more sub-blocks would only waste CPU
# time.
MAX_BLOCKS = 400_000

_HEADER_SIZE = 13
_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_GRAPHIC_CONTROL, _APPLICATION = 0xF9, 0xFF
_LOOPING = (b"\x0bNETSCAPE2.0", b"\x0bANIMEXTS1.0")


class InvalidGif(ValueError):
    """Raised when the data is not a valid sequence of GIF blocks or ends before the trailer."""


@dataclass(frozen=True, slots=True)
class GifStructure:
    """The number of frames, and the start and end of each byte range that the frames need."""

    frames: int
    spans: tuple[tuple[int, int], ...]

    def clean(self, data: bytes) -> bytes:
        """Return the GIF without comments, informational extensions and bytes after the trailer."""
        return b"".join(data[start:end] for start, end in self.spans)


def parse_gif_structure(data: bytes) -> GifStructure:
    """Parse the blocks of a GIF.

    Raises:
        InvalidGif: The structure is broken or truncated, has no frames, or has too many blocks.
    """
    try:
        return _walk_blocks(data)
    except IndexError as error:
        raise InvalidGif("ends before its trailer") from error


def _walk_blocks(data: bytes) -> GifStructure:
    if data[:6] not in {b"GIF87a", b"GIF89a"}:
        raise InvalidGif("has no GIF signature")
    position = _HEADER_SIZE + _color_table_size(data[10])
    spans = [(0, position)]
    frames, blocks_left = 0, MAX_BLOCKS
    while (kind := data[position]) != _TRAILER:
        start = position
        if kind == _IMAGE:
            # An image consists of a descriptor of ten bytes, an optional color table, one byte for the code size, and
            # sub-blocks.
            position += 10 + _color_table_size(data[start + 9]) + 1
            frames += 1
        elif kind == _EXTENSION:
            position += 2
        else:
            raise InvalidGif("has an unknown block")
        size = -1
        while size:
            size = data[position]
            position += size + 1
            blocks_left -= 1
            if blocks_left < 0:
                raise InvalidGif("has too many blocks")
        label = data[start + 1]
        is_looping = label == _APPLICATION and data.startswith(_LOOPING, start + 2, position)
        if kind == _IMAGE or label == _GRAPHIC_CONTROL or is_looping:
            spans.append((start, position))
    if not frames:
        raise InvalidGif("has no frame")
    return GifStructure(frames, (*spans, (position, position + 1)))


def _color_table_size(flags: int) -> int:
    return 3 << ((flags & 0x07) + 1) if flags & 0x80 else 0
