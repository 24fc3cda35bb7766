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
    """The positions of a GIF's blocks.

    Attributes:
        frames: The number of frames.
        spans: Start and end of each byte range that the frames need.
    """

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
    walker = _Walker(data)
    try:
        return walker.walk()
    except IndexError as error:
        message = "ends before its trailer"
        raise InvalidGif(message) from error


class _Walker:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._blocks_left = MAX_BLOCKS

    def walk(self) -> GifStructure:
        data = self._data
        if data[:6] not in {b"GIF87a", b"GIF89a"}:
            message = "has no GIF signature"
            raise InvalidGif(message)

        position = _HEADER_SIZE + _color_table_size(data[10])
        spans = [(0, position)]
        frames = 0
        while data[position] != _TRAILER:
            start, kind = position, data[position]
            if kind == _IMAGE:
                # An image consists of a descriptor of ten bytes, an optional color table, one byte for the code size,
                # and sub-blocks.
                position = self._after_sub_blocks(start + 10 + _color_table_size(data[start + 9]) + 1)
                frames += 1
                keep = True
            elif kind == _EXTENSION:
                position = self._after_sub_blocks(start + 2)
                label = data[start + 1]
                keep = label == _GRAPHIC_CONTROL or (
                    label == _APPLICATION and data.startswith(_LOOPING, start + 2, position)
                )
            else:
                message = "has an unknown block"
                raise InvalidGif(message)
            if keep:
                spans.append((start, position))
        if not frames:
            message = "has no frame"
            raise InvalidGif(message)
        spans.append((position, position + 1))
        return GifStructure(frames=frames, spans=tuple(spans))

    def _after_sub_blocks(self, position: int) -> int:
        data, blocks_left = self._data, self._blocks_left
        while size := data[position]:
            position += size + 1
            blocks_left -= 1
            if blocks_left < 0:
                break
        self._blocks_left = blocks_left - 1
        if self._blocks_left < 0:
            message = "has too many blocks"
            raise InvalidGif(message)
        return position + 1


def _color_table_size(flags: int) -> int:
    return 3 << ((flags & 0x07) + 1) if flags & 0x80 else 0
