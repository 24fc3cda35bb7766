"""Convert WebP and AVIF images to the formats of the REST API: PNG, JPEG and GIF.

HEIC is refused: the libraries that decode it are not under a permissive license.
"""

import io

from PIL import Image

from apps.core.i18n.messages import define_message
from apps.core.media.image_validation import (
    ACCEPTED,
    MAX_BYTES,
    MAX_FRAMES,
    TOO_MANY_FRAMES,
    ImageFormat,
    ImageRefused,
    check_pixels,
    check_size,
    convert_pillow_errors,
    get_transposition,
    read_orientation,
)
from apps.core.media.transform import MAX_ANIMATION_PIXELS_OUT, convert_to_gif, encode_image

_HEIC = define_message("images.heic", "is a HEIC file. Convert it to one of the formats {formats}")(formats=ACCEPTED)
_LARGE_ANIMATION = define_message(
    "images.large_animation", "is an animation with more than {count} megapixels in all frames together"
)(count=MAX_ANIMATION_PIXELS_OUT // 10**6)

_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_MAX_BRANDS = 64
_OPAQUE = 255


def convert_image(content: bytes) -> bytes:
    """Return a WebP or AVIF image as PNG, JPEG or GIF, and any other file unchanged.

    Animations become GIFs. Images with transparent pixels and lossless images become PNGs, all others JPEGs.

    Raises:
        ImageRefused: The image is a HEIC file, is damaged, or exceeds a limit.
    """
    pillow_format = _detect_format(content)
    if pillow_format is None:
        return content
    check_size(content)
    with convert_pillow_errors():
        pillow_image = Image.open(io.BytesIO(content), formats=(pillow_format,))
        check_pixels(pillow_image)
        frames: int = getattr(pillow_image, "n_frames", 1)
        if frames > MAX_FRAMES:
            raise ImageRefused(TOO_MANY_FRAMES)
        if frames == 1:
            return _convert_still(pillow_image, content)
        gif = convert_to_gif(pillow_image, frames)
    if gif is None:
        raise ImageRefused(_LARGE_ANIMATION)
    return gif


def _detect_format(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "WEBP"
    if content[4:8] != b"ftyp":
        return None
    # The file starts with a box that lists the formats that it fits: a major brand, a version, and more brands.
    end = min(int.from_bytes(content[:4]), len(content), 4 * _MAX_BRANDS)
    brands = {content[start : start + 4] for start in (8, *range(16, end, 4))}
    if brands & _AVIF_BRANDS:
        return "AVIF"
    if brands & _HEIC_BRANDS:
        raise ImageRefused(_HEIC)
    return None


def _convert_still(pillow_image: Image.Image, content: bytes) -> bytes:
    pillow_image.load()
    has_alpha = pillow_image.mode == "RGBA" and pillow_image.getchannel("A").getextrema()[0] != _OPAQUE
    mode = "RGBA" if has_alpha else "RGB"
    converted = pillow_image if pillow_image.mode == mode else pillow_image.convert(mode)
    transposition = get_transposition(read_orientation(pillow_image))
    if transposition is not None:
        converted = converted.transpose(transposition)
    if has_alpha or content[12:16] == b"VP8L":
        data = encode_image(converted, ImageFormat.PNG, original=pillow_image, size=len(content))
        if has_alpha or len(data) <= MAX_BYTES:
            return data
    return encode_image(converted, ImageFormat.JPEG, original=pillow_image, size=len(content))
