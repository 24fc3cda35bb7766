"""Make the smaller versions of an image that file names ask for."""

import io
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image

from apps.media.names import Crop, Transformation
from apps.media.pictures import ImageFormat, OpenedImage, check_pixels, open_image, refusing

# An animation beyond these becomes a still of its first frame: the work must fit in a request.
MAX_ANIMATION_PIXELS_IN = 100_000_000
MAX_ANIMATION_PIXELS_OUT = 50_000_000

# Of 9. A large picture that is only turned is encoded within a second; it may be a tenth larger than it was.
RESIZED_COMPRESSION, UNRESIZED_COMPRESSION = 6, 1
RESIZED_QUALITY = 85
UNRESIZED_QUALITY = 95
MAX_COLOR_PROFILE = 64 * 1024

_OPAQUE_FROM = 128
_MODELS = {"L": "gray", "LA": "gray", "P": "rgb", "RGB": "rgb", "RGBA": "rgb"}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What part of the upright picture is used (in its own pixels) and how large it becomes."""

    source: tuple[float, float, float, float]
    size: tuple[int, int]


def transform(data: bytes, transformation: Transformation) -> bytes:
    """Make the picture that a transformation asks for, in the same format.

    It is never larger than the original; the EXIF orientation is applied; metadata, comments and trailing bytes are
    gone. Animated GIFs stay animated unless that would be too much work. Of other formats the first picture counts.

    Args:
        data: An image as `apps.media.pictures.identify` accepts it.
        transformation: What is wished for.

    Raises:
        ImageRefused: The data is no such image.
    """
    opened = open_image(data)
    plan = _plan(opened.displayed_size, transformation)
    resized = plan.size != opened.displayed_size
    if opened.gif:
        return _transform_gif(opened.picture, opened.gif.frames, plan) if resized else opened.gif.clean(data)

    picture = _decode(opened, plan, resized=resized)
    profile = _color_profile(opened.picture, picture)
    output = io.BytesIO()
    if opened.format is ImageFormat.JPEG:
        quality = RESIZED_QUALITY if resized else UNRESIZED_QUALITY
        picture.save(output, "JPEG", quality=quality, icc_profile=profile)
    else:
        picture.save(output, "PNG", icc_profile=profile, **_packing(picture, len(data), resized=resized))
    return output.getvalue()


def _packing(picture: Image.Image, size: int, *, resized: bool) -> dict[str, int]:
    """How tightly a PNG is packed, whose original had so many bytes.

    One that could be packed to no less than half of its pixels has little that repeats: looking for that takes half of
    the time and saves next to nothing, so that its bytes are only coded by how often they occur.
    """
    if resized:
        return {"compress_level": RESIZED_COMPRESSION}
    packing = {"compress_level": UNRESIZED_COMPRESSION}
    if 2 * size > picture.width * picture.height * len(picture.getbands()):
        packing["compress_type"] = zlib.Z_HUFFMAN_ONLY
    return packing


def _plan(original: tuple[int, int], transformation: Transformation) -> _Plan:
    width, height = original
    box_width, box_height = transformation.box
    ratios = [box / side for box, side in ((box_width, width), (box_height, height)) if box is not None]
    if transformation.crop and box_width and box_height:
        ratio = min(1.0, max(ratios))
        # Cutting on whole pixels of the result; rounding must not push the cut beyond the picture.
        size = (min(box_width, max(1, round(width * ratio))), min(box_height, max(1, round(height * ratio))))
        return _Plan(_cut(original, (size[0] / ratio, size[1] / ratio), transformation.crop), size)
    ratio = min([1.0, *ratios])
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    return _Plan((0, 0, width, height), size)


def _cut(original: tuple[int, int], wanted: tuple[float, float], crop: Crop) -> tuple[float, float, float, float]:
    width, height = min(wanted[0], original[0]), min(wanted[1], original[1])
    across = {Crop.LEFT: 0.0, Crop.RIGHT: 1.0}.get(crop, 0.5)
    down = {Crop.TOP: 0.0, Crop.BOTTOM: 1.0}.get(crop, 0.5)
    left, top = (original[0] - width) * across, (original[1] - height) * down
    return (left, top, min(left + width, original[0]), min(top + height, original[1]))


def _decode(opened: OpenedImage, plan: _Plan, *, resized: bool) -> Image.Image:
    """Decode, turn upright and resize a PNG or JPEG."""
    picture = opened.picture
    width, height = opened.displayed_size
    with refusing():
        if resized:
            # JPEG can decode at 1/2, 1/4 or 1/8; twice the size needed keeps the final resampling sharp.
            ratio = plan.size[0] / (plan.source[2] - plan.source[0])
            picture.draft(None, (math.ceil(picture.width * ratio * 2), math.ceil(picture.height * ratio * 2)))
        picture.load()
        # The whole palette or depth only matters to resampling; an unresized PNG keeps its own.
        upright = _resamplable(picture) if resized or opened.format is ImageFormat.JPEG else picture.copy()
    if opened.transposition is not None:
        upright = upright.transpose(opened.transposition)
    if resized:
        across, down = upright.width / width, upright.height / height
        left, top, right, bottom = plan.source
        box = (left * across, top * down, min(right * across, upright.width), min(bottom * down, upright.height))
        upright = upright.resize(plan.size, Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)
    _strip(upright)
    return upright


def _resamplable(picture: Image.Image) -> Image.Image:
    """Convert the picture to a mode that can be averaged and saved: L, LA, RGB or RGBA."""
    if "transparency" in picture.info:
        return picture.convert("RGBA")
    if picture.mode in {"L", "LA", "RGB", "RGBA"}:
        return picture
    if picture.mode.startswith("I"):
        # 16 bits per pixel; a mere conversion would clip them at 255 instead of scaling.
        return picture.point(lambda value: value * (1 / 256) + 0).convert("L")
    if picture.mode == "1":
        return picture.convert("L")
    return picture.convert("RGB")


def _strip(picture: Image.Image) -> None:
    """Forget what Pillow would write along by itself, such as JPEG comments; keep what the pixels mean."""
    kept: dict[str | tuple[int, int], object] = {
        key: value for key, value in picture.info.items() if key == "transparency" and picture.mode != "RGBA"
    }
    picture.info = kept


def _color_profile(original: Image.Image, result: Image.Image) -> bytes | None:
    """Take over the original's color profile where it still fits the pixels and is of a sane size."""
    profile = original.info.get("icc_profile")
    if not isinstance(profile, bytes) or len(profile) > MAX_COLOR_PROFILE:
        return None
    return profile if _MODELS.get(original.mode, "other") == _MODELS.get(result.mode) else None


def _transform_gif(picture: Image.Image, frames: int, plan: _Plan) -> bytes:
    """Resize a GIF, frame by frame."""
    canvas = picture.size
    animated = (
        frames > 1
        and frames * canvas[0] * canvas[1] <= MAX_ANIMATION_PIXELS_IN
        and frames * plan.size[0] * plan.size[1] <= MAX_ANIMATION_PIXELS_OUT
    )
    options: dict[str, Any] = {key: value for key, value in picture.info.items() if key == "loop"}
    pictures = _gif_frames(picture, plan, frames if animated else 1)
    first = next(pictures)
    output = io.BytesIO()
    if animated:
        # A generator, so that only the quantised frames are held in memory.
        first.save(output, "GIF", save_all=True, append_images=pictures, disposal=2, **options)
    else:
        first.save(output, "GIF")
    return output.getvalue()


def _gif_frames(picture: Image.Image, plan: _Plan, count: int) -> Iterator[Image.Image]:
    for index in range(count):
        with refusing():
            picture.seek(index)
            check_pixels(picture)
            frame = picture.convert("RGBA")
        # The source box lies on the first canvas: what a later frame adds beyond it is clipped, as in browsers.
        frame = frame.resize(plan.size, Image.Resampling.LANCZOS, box=plan.source)
        # GIF knows no half transparency; a clear cut avoids dark fringes.
        frame.putalpha(frame.getchannel("A").point(lambda alpha: 255 if alpha >= _OPAQUE_FROM else 0))
        frame.info = {"duration": picture.info.get("duration", 0)}
        yield frame
