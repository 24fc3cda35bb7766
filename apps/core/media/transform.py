"""Create resized versions of images on the first request, and store them up to a limit per image."""

import io
import logging
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from PIL import Image

from apps.core.media.image_validation import ImageFormat, OpenedImage, check_pixels, convert_pillow_errors, open_image
from apps.core.media.names import Crop, Transformation
from apps.core.media.storage import list_files, read_file

# Larger animations are reduced to their first frame, because resizing all frames would take too long for a request.
MAX_ANIMATION_PIXELS_IN = 100_000_000
MAX_ANIMATION_PIXELS_OUT = 50_000_000

# PNG compression levels from 0 to 9. Images that are only rotated may be large. With level 1, encoding takes less than
# a second, and the file becomes at most 10 percent larger.
RESIZED_COMPRESSION, UNRESIZED_COMPRESSION = 6, 1
RESIZED_QUALITY = 85
UNRESIZED_QUALITY = 95
MAX_COLOR_PROFILE = 64 * 1024

_OPAQUE_FROM = 128
_MODELS = {"L": "gray", "LA": "gray", "P": "rgb", "RGB": "rgb", "RGBA": "rgb"}


@dataclass(frozen=True, slots=True)
class _Plan:
    """The source box in pixels of the upright image, and the size of the result."""

    source: tuple[float, float, float, float]
    size: tuple[int, int]


def transform_image(data: bytes, transformation: Transformation) -> bytes:
    """Create the image that a transformation requests, in the format of the original.

    The result is never larger than the original. The EXIF orientation is applied. Metadata, comments and trailing bytes
    are removed. Animated GIFs stay animated unless they are too large. For other formats, only the first image is used.

    Raises:
        ImageRefused: The data is not an accepted image.
    """
    image = open_image(data)
    plan = _make_plan(image.displayed_size, transformation)
    resized = plan.size != image.displayed_size
    if image.gif:
        return _transform_gif(image.picture, image.gif.frames, plan) if resized else image.gif.clean(data)

    pillow_image = _decode(image, plan, resized=resized)
    return encode_image(pillow_image, image.format, original=image.picture, size=len(data), resized=resized)


def encode_image(
    pillow_image: Image.Image, image_format: ImageFormat, *, original: Image.Image, size: int, resized: bool = False
) -> bytes:
    """Encode an image as PNG or JPEG with the color profile of the original. ``size`` is the original's in bytes."""
    profile = _color_profile(original, pillow_image)
    output = io.BytesIO()
    if image_format is ImageFormat.JPEG:
        quality = RESIZED_QUALITY if resized else UNRESIZED_QUALITY
        pillow_image.save(output, "JPEG", quality=quality, icc_profile=profile)
    else:
        options = _get_png_options(pillow_image, size, resized=resized)
        pillow_image.save(output, "PNG", icc_profile=profile, **options)
    return output.getvalue()


def convert_to_gif(pillow_image: Image.Image, frames: int) -> bytes | None:
    """Return an animation of any format as a GIF, or None if it is too large."""
    if frames * pillow_image.width * pillow_image.height > MAX_ANIMATION_PIXELS_OUT:
        return None
    return _transform_gif(pillow_image, frames, _make_plan(pillow_image.size, Transformation()))


def _get_png_options(pillow_image: Image.Image, size: int, *, resized: bool) -> dict[str, int]:
    """Return the compression options for a PNG, given the size of the original file.

    If the original is larger than half of the raw pixel data, it contains few repetitions. Searching for repetitions
    would double the time and save almost nothing, so only Huffman coding is used.
    """
    if resized:
        return {"compress_level": RESIZED_COMPRESSION}
    packing = {"compress_level": UNRESIZED_COMPRESSION}
    if 2 * size > pillow_image.width * pillow_image.height * len(pillow_image.getbands()):
        packing["compress_type"] = zlib.Z_HUFFMAN_ONLY
    return packing


def _make_plan(original: tuple[int, int], transformation: Transformation) -> _Plan:
    width, height = original
    box_width, box_height = transformation.box
    ratios = [box / side for box, side in ((box_width, width), (box_height, height)) if box is not None]
    if transformation.crop and box_width and box_height:
        ratio = min(1.0, max(ratios))
        # Round to whole pixels of the result, and clamp the size so that rounding cannot move the crop box outside the
        # image.
        size = (min(box_width, max(1, round(width * ratio))), min(box_height, max(1, round(height * ratio))))
        return _Plan(_get_crop_box(original, (size[0] / ratio, size[1] / ratio), transformation.crop), size)
    ratio = min([1.0, *ratios])
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    return _Plan((0, 0, width, height), size)


def _get_crop_box(
    original: tuple[int, int], target: tuple[float, float], crop: Crop
) -> tuple[float, float, float, float]:
    width, height = min(target[0], original[0]), min(target[1], original[1])
    across = {Crop.LEFT: 0.0, Crop.RIGHT: 1.0}.get(crop, 0.5)
    down = {Crop.TOP: 0.0, Crop.BOTTOM: 1.0}.get(crop, 0.5)
    x, y = (original[0] - width) * across, (original[1] - height) * down
    return (x, y, min(x + width, original[0]), min(y + height, original[1]))


def _decode(image: OpenedImage, plan: _Plan, *, resized: bool) -> Image.Image:
    pillow_image = image.picture
    width, height = image.displayed_size
    with convert_pillow_errors():
        if resized:
            # JPEG can be decoded at 1/2, 1/4 or 1/8 of its size. Twice the required size keeps the final resampling
            # sharp.
            scale = 2 * plan.size[0] / (plan.source[2] - plan.source[0])
            pillow_image.draft(None, (math.ceil(pillow_image.width * scale), math.ceil(pillow_image.height * scale)))
        pillow_image.load()
        # Only resampling needs a full color mode. A PNG that is not resized keeps its color mode.
        converts = resized or image.format is ImageFormat.JPEG
        upright = _convert_for_resampling(pillow_image) if converts else pillow_image.copy()
    if image.transposition is not None:
        upright = upright.transpose(image.transposition)
    if resized:
        across, down = upright.width / width, upright.height / height
        x1, y1, x2, y2 = plan.source
        box = (x1 * across, y1 * down, min(x2 * across, upright.width), min(y2 * down, upright.height))
        upright = upright.resize(plan.size, Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)
    # Remove data that Pillow would write to the file, such as JPEG comments. Keep data that affects the pixels.
    upright.info = {
        key: value for key, value in upright.info.items() if key == "transparency" and upright.mode != "RGBA"
    }
    return upright


def _convert_for_resampling(pillow_image: Image.Image) -> Image.Image:
    """Convert the image to a mode that can be resampled and saved: L, LA, RGB or RGBA."""
    if "transparency" in pillow_image.info:
        return pillow_image.convert("RGBA")
    if pillow_image.mode in {"L", "LA", "RGB", "RGBA"}:
        return pillow_image
    if pillow_image.mode.startswith("I"):
        # Scale the values from 16 to 8 bits. `convert` alone would clip values at 255.
        return pillow_image.point(lambda value: value * (1 / 256) + 0).convert("L")
    return pillow_image.convert("L" if pillow_image.mode == "1" else "RGB")


def _color_profile(original: Image.Image, result: Image.Image) -> bytes | None:
    """Return the original's color profile if the profile still matches the color mode and is not too large."""
    profile = original.info.get("icc_profile")
    if not isinstance(profile, bytes) or len(profile) > MAX_COLOR_PROFILE:
        return None
    return profile if _MODELS.get(original.mode, "other") == _MODELS.get(result.mode) else None


def _transform_gif(pillow_image: Image.Image, frames: int, plan: _Plan) -> bytes:
    canvas = pillow_image.size
    animated = (
        frames > 1
        and frames * canvas[0] * canvas[1] <= MAX_ANIMATION_PIXELS_IN
        and frames * plan.size[0] * plan.size[1] <= MAX_ANIMATION_PIXELS_OUT
    )
    options: dict[str, Any] = {key: value for key, value in pillow_image.info.items() if key == "loop"}
    resized_frames = _gif_frames(pillow_image, plan, frames if animated else 1)
    first_frame = next(resized_frames)
    output = io.BytesIO()
    if animated:
        # The frames come from a generator, so that only quantized frames are kept in memory.
        first_frame.save(output, "GIF", save_all=True, append_images=resized_frames, disposal=2, **options)
    else:
        first_frame.save(output, "GIF")
    return output.getvalue()


def _gif_frames(pillow_image: Image.Image, plan: _Plan, count: int) -> Iterator[Image.Image]:
    for index in range(count):
        with convert_pillow_errors():
            pillow_image.seek(index)
            check_pixels(pillow_image)
            frame = pillow_image.convert("RGBA")
        # The source box is based on the first canvas. Parts of later frames outside this canvas are clipped, as in
        # browsers.
        frame = frame.resize(plan.size, Image.Resampling.LANCZOS, box=plan.source)
        # GIF has no partial transparency. A hard threshold avoids dark fringes.
        frame.putalpha(frame.getchannel("A").point(lambda alpha: 255 if alpha >= _OPAQUE_FROM else 0))
        frame.info = {"duration": pillow_image.info.get("duration", 0)}
        yield frame


logger = logging.getLogger(__name__)

# The maximum number of stored renditions per image, so that requests cannot fill the storage.
MAX_RENDITIONS = 50
# The number of renditions to delete at once. Deleting several is faster, because some storages are slow to return the
# age of each file.
DELETED_AT_ONCE = 10


def get_or_create_rendition(storage: Storage, folder: str, name: str, make: Callable[[], bytes]) -> bytes:
    """Return a rendition of an image. Call ``make`` and store the rendition if it does not exist yet.

    The folder contains the renditions of this image only. If there are too many, the oldest ones are deleted.
    """
    path = f"{folder}/{name}"
    stored_data = read_file(storage, path)
    if stored_data is not None:
        return stored_data
    data = make()
    try:
        _delete_oldest_renditions(storage, folder)
        stored_name = storage.save(path, ContentFile(data))
        if stored_name != path:
            # Another request stored the same rendition first, so the storage has chosen another name. Delete this copy.
            storage.delete(stored_name)
    except Exception:
        # Storages raise various errors when they are full or unavailable. Ignore all errors, because the rendition can
        # be served even if it is not stored.
        logger.exception("Could not store image rendition %s", path)
    return data


def _delete_oldest_renditions(storage: Storage, folder: str) -> None:
    names = list_files(storage, folder)
    if len(names) < MAX_RENDITIONS:
        return
    renditions: list[tuple[datetime, str]] = []
    for name in names:
        with suppress(FileNotFoundError):
            renditions.append((storage.get_modified_time(f"{folder}/{name}"), name))
    for _, name in sorted(renditions)[: len(names) - MAX_RENDITIONS + DELETED_AT_ONCE]:
        storage.delete(f"{folder}/{name}")
