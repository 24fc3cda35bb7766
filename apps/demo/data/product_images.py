"""Draw images of demo products, each a simple shape in the variant's color on a plain background."""

import io
from collections.abc import Callable
from random import Random

from PIL import Image, ImageDraw, ImageFilter

SIDE = 640
_FINE = 2
Color = tuple[int, int, int]
Draw = ImageDraw.ImageDraw

COLORS: dict[str, Color] = {
    "Chalk": (232, 226, 214),
    "Moss": (112, 128, 88),
    "Ink": (48, 60, 84),
    "Rust": (176, 92, 60),
    "Sand": (204, 178, 138),
    "Olive": (122, 118, 74),
    "Brass": (196, 160, 84),
    "Oak": (186, 142, 92),
    "Ash": (214, 190, 156),
}
BACKGROUNDS: tuple[Color, ...] = ((238, 234, 228), (226, 232, 232), (236, 228, 222), (228, 232, 224), (232, 228, 236))


def draw_product(shape: str, color: Color, seed: str) -> bytes:
    """Draw a product image as JPEG. The same arguments always produce the same image."""
    random = Random(seed)  # noqa: S311 - not used for secrets
    side = SIDE * _FINE
    ground = random.choice(BACKGROUNDS)
    image = Image.new("RGB", (side, side), ground)
    table = int(side * random.uniform(0.7, 0.76))
    ImageDraw.Draw(image).rectangle((0, table, side, side), fill=_shade(ground, 0.93))
    _shadow(image, random, table)
    SHAPES[shape](ImageDraw.Draw(image), color, side)
    return _jpeg(image.reduce(_FINE))


def draw_banner(colors: list[Color], seed: str) -> bytes:
    random = Random(seed)  # noqa: S311 - not used for secrets
    width, height = 1200, 480
    image = Image.new("RGB", (width, height), random.choice(BACKGROUNDS))
    draw = ImageDraw.Draw(image)
    left = 0
    while left < width:
        stripe = random.randint(40, 160)
        draw.rectangle((left, random.randint(120, 300), left + stripe - 12, height), fill=random.choice(colors))
        left += stripe
    return _jpeg(image)


def _jpeg(image: Image.Image) -> bytes:
    output = io.BytesIO()
    image.save(output, "JPEG", quality=84)
    return output.getvalue()


def _shade(color: Color, factor: float) -> Color:
    red, green, blue = (min(int(part * factor), 255) for part in color)
    return red, green, blue


def _shadow(image: Image.Image, random: Random, table: int) -> None:
    """Draw a soft shadow below the product, blurred at low resolution because a large blur is slow."""
    scale = image.width // 160
    middle, half_width, top = 80, 160 * random.uniform(0.26, 0.32), table / scale
    mask = Image.new("L", (160, 160), 0)
    ImageDraw.Draw(mask).ellipse((middle - half_width, top + 4, middle + half_width, top + 18), fill=70)
    soft = mask.filter(ImageFilter.GaussianBlur(4))
    # Enlarge and paste only the rows of the shadow, with a transparent row above and below.
    _, first, _, last = soft.getbbox() or (0, 0, 160, 160)
    first, last = max(first - 1, 0), min(last + 1, 160)
    size = (image.width, (last - first) * scale)
    enlarged = soft.resize(size, Image.Resampling.BILINEAR, box=(0, first, 160, last))
    image.paste((60, 56, 52), (0, first * scale, image.width, last * scale), enlarged)


def _box(side: int, left: float, top: float, right: float, bottom: float) -> tuple[int, int, int, int]:
    return int(side * left), int(side * top), int(side * right), int(side * bottom)


def _points(side: int, *pairs: tuple[float, float]) -> list[tuple[int, int]]:
    return [(int(side * x), int(side * y)) for x, y in pairs]


def _mug(draw: Draw, color: Color, side: int) -> None:
    draw.arc(_box(side, 0.56, 0.42, 0.76, 0.66), 270, 90, fill=_shade(color, 0.85), width=side // 28)
    draw.rounded_rectangle(_box(side, 0.3, 0.34, 0.66, 0.76), side // 20, fill=color)
    draw.ellipse(_box(side, 0.3, 0.31, 0.66, 0.38), fill=_shade(color, 1.1))
    draw.ellipse(_box(side, 0.32, 0.325, 0.64, 0.37), fill=_shade(color, 0.6))


def _bowl(draw: Draw, color: Color, side: int) -> None:
    draw.pieslice(_box(side, 0.2, 0.2, 0.8, 0.78), 0, 180, fill=color)
    draw.ellipse(_box(side, 0.2, 0.44, 0.8, 0.55), fill=_shade(color, 1.1))
    draw.ellipse(_box(side, 0.23, 0.455, 0.77, 0.54), fill=_shade(color, 0.7))
    draw.rectangle(_box(side, 0.42, 0.76, 0.58, 0.79), fill=_shade(color, 0.8))


def _bag(draw: Draw, color: Color, side: int) -> None:
    draw.arc(_box(side, 0.38, 0.2, 0.62, 0.62), 180, 360, fill=_shade(color, 0.6), width=side // 34)
    draw.polygon(_points(side, (0.26, 0.4), (0.74, 0.4), (0.8, 0.78), (0.2, 0.78)), fill=color)
    draw.polygon(_points(side, (0.26, 0.4), (0.74, 0.4), (0.755, 0.5), (0.245, 0.5)), fill=_shade(color, 0.86))
    draw.rectangle(_box(side, 0.47, 0.48, 0.53, 0.54), fill=(196, 160, 84))


def _lamp(draw: Draw, color: Color, side: int) -> None:
    draw.rectangle(_box(side, 0.485, 0.42, 0.515, 0.76), fill=_shade(color, 0.7))
    draw.ellipse(_box(side, 0.36, 0.74, 0.64, 0.79), fill=_shade(color, 0.75))
    draw.polygon(_points(side, (0.4, 0.2), (0.6, 0.2), (0.72, 0.45), (0.28, 0.45)), fill=color)
    draw.ellipse(_box(side, 0.28, 0.42, 0.72, 0.48), fill=(255, 236, 190))


def _candle(draw: Draw, color: Color, side: int) -> None:
    draw.rounded_rectangle(_box(side, 0.34, 0.44, 0.66, 0.77), side // 40, fill=_shade(color, 0.95))
    draw.ellipse(_box(side, 0.34, 0.41, 0.66, 0.48), fill=(250, 242, 224))
    draw.line(_points(side, (0.5, 0.44), (0.5, 0.38)), fill=(70, 60, 50), width=side // 120)
    draw.ellipse(_box(side, 0.475, 0.27, 0.525, 0.39), fill=(255, 190, 90))
    draw.rectangle(_box(side, 0.4, 0.56, 0.6, 0.68), fill=(248, 244, 236))


def _book(draw: Draw, color: Color, side: int) -> None:
    draw.polygon(_points(side, (0.3, 0.3), (0.7, 0.26), (0.74, 0.74), (0.34, 0.79)), fill=(246, 242, 232))
    draw.polygon(_points(side, (0.28, 0.28), (0.68, 0.24), (0.72, 0.72), (0.32, 0.77)), fill=color)
    draw.polygon(_points(side, (0.28, 0.28), (0.34, 0.274), (0.38, 0.763), (0.32, 0.77)), fill=_shade(color, 0.75))
    draw.line(_points(side, (0.6, 0.25), (0.64, 0.8)), fill=(176, 60, 50), width=side // 90)


def _blanket(draw: Draw, color: Color, side: int) -> None:
    for layer in range(4):
        top = 0.42 + layer * 0.09
        shade = _shade(color, 1.06 - layer * 0.07)
        draw.rounded_rectangle(_box(side, 0.2, top, 0.8, top + 0.1), side // 24, fill=shade)
    for step in range(14):
        left = 0.22 + step * 0.042
        draw.line(_points(side, (left, 0.77), (left, 0.82)), fill=_shade(color, 0.8), width=side // 160)


def _shirt(draw: Draw, color: Color, side: int) -> None:
    sleeves = ((0.34, 0.26), (0.66, 0.26), (0.86, 0.44), (0.77, 0.53), (0.68, 0.45), (0.68, 0.8), (0.32, 0.8))
    draw.polygon(_points(side, *sleeves, (0.32, 0.45), (0.23, 0.53), (0.14, 0.44)), fill=color)
    draw.pieslice(_box(side, 0.42, 0.2, 0.58, 0.33), 0, 180, fill=_shade(color, 0.7))
    for button in range(5):
        top = 0.38 + button * 0.08
        draw.ellipse(_box(side, 0.494, top, 0.506, top + 0.012), fill=_shade(color, 0.55))


def _bottle(draw: Draw, color: Color, side: int) -> None:
    draw.rounded_rectangle(_box(side, 0.38, 0.34, 0.62, 0.78), side // 22, fill=color)
    draw.polygon(_points(side, (0.38, 0.38), (0.62, 0.38), (0.56, 0.28), (0.44, 0.28)), fill=color)
    draw.rounded_rectangle(_box(side, 0.43, 0.2, 0.57, 0.29), side // 60, fill=(70, 70, 72))
    draw.rectangle(_box(side, 0.42, 0.36, 0.445, 0.74), fill=_shade(color, 1.25))


def _chair(draw: Draw, color: Color, side: int) -> None:
    dark = _shade(color, 0.75)
    for left in (0.3, 0.66):
        draw.rectangle(_box(side, left, 0.18, left + 0.035, 0.8), fill=color)
    for top in (0.24, 0.33, 0.42):
        draw.rectangle(_box(side, 0.31, top, 0.68, top + 0.035), fill=color)
    draw.polygon(_points(side, (0.28, 0.54), (0.72, 0.54), (0.76, 0.6), (0.24, 0.6)), fill=_shade(color, 1.1))
    for left in (0.26, 0.7):
        draw.rectangle(_box(side, left, 0.6, left + 0.035, 0.84), fill=dark)
    draw.rectangle(_box(side, 0.28, 0.7, 0.72, 0.725), fill=dark)


SHAPES: dict[str, Callable[[Draw, Color, int], None]] = {
    "mug": _mug,
    "bowl": _bowl,
    "bag": _bag,
    "lamp": _lamp,
    "candle": _candle,
    "book": _book,
    "blanket": _blanket,
    "shirt": _shirt,
    "bottle": _bottle,
    "chair": _chair,
}
