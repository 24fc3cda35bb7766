import io
import struct
import zlib

from PIL import Image


def encode_image(picture: Image.Image, image_format: str, **options: object) -> bytes:
    output = io.BytesIO()
    picture.save(output, image_format, **options)
    return output.getvalue()


def make_plain_image(image_format: str, size: tuple[int, int], mode: str = "RGB", **options: object) -> bytes:
    return encode_image(Image.new(mode, size), image_format, **options)


def make_animation(frames: int, size: tuple[int, int] = (40, 20), **options: object) -> bytes:
    pictures = [Image.new("RGB", size, (index % 256, 255 - index % 256, 7)) for index in range(frames)]
    return encode_image(pictures[0], "GIF", save_all=True, append_images=pictures[1:], **options)


def decode_image(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def draw_quarters(size: tuple[int, int]) -> Image.Image:
    width, height = size
    picture = Image.new("RGB", size, "white")
    picture.paste("red", (0, 0, width // 2, height // 2))
    picture.paste((0, 255, 0), (width // 2, 0, width, height // 2))
    picture.paste("blue", (0, height // 2, width // 2, height))
    return picture


def build_orientation_exif(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def make_blank_png(width: int, height: int) -> bytes:
    """Encode a black 1-bit PNG without storing all pixels in memory."""
    deflate = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    pixels = b"".join(deflate.compress(row) for _ in range(height)) + deflate.flush()
    header = struct.pack(">2L5B", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + build_png_chunk(b"IHDR", header)
        + build_png_chunk(b"IDAT", pixels)
        + build_png_chunk(b"IEND", b"")
    )


def build_png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
