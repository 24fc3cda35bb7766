"""The demo store's content: a theme of our own, a journal with ten articles, two mobile apps."""

import io
import random
from datetime import datetime, timedelta
from pathlib import Path

from PIL import Image, ImageDraw

from apps.content.demo.articles import ARTICLES, Draft
from apps.content.domain import articles, blogs, themes
from apps.content.domain.extraction import stored_folder
from apps.content.domain.pictures import Picture, store_picture
from apps.content.models import MobilePlatformApplication, Theme
from apps.events.domain.recording import record_event
from apps.shops.models import Shop

THEME = Path(__file__).parent / "theme"
PALETTES = (
    ("#7a4b2a", "#c98d5a", "#efe0c6", "#3f5b57"),
    ("#2f4858", "#86a6a0", "#f4ede0", "#b5533c"),
    ("#5b3a4f", "#b48395", "#f1e4e0", "#71805a"),
)
FINGERPRINT = ":".join(f"{(number * 37 + 11) % 256:02X}" for number in range(32))


def make(shop: Shop, at: datetime) -> None:
    """Put the content into a fresh demo shop."""
    theme = Theme.objects.create(shop=shop, name="Skein", publish_when_ready=True, created_at=at)
    record_event("themes/create", theme, actor="system", at=at)
    themes.complete(theme.pk, stored_folder(THEME), actor="system", at=at)
    themes.duplicate(theme, name="Skein, winter draft", actor="system", at=at)
    blog = blogs.create_blog({"title": "Journal", "commentable": "moderate"}, actor="system", at=at)
    chance = random.Random(10)  # noqa: S311 - the demo must be the same each time
    for number, draft in enumerate(ARTICLES):
        _write(blog.pk, draft, _picture(chance, draft, number), at)
    _register_apps(shop, at)


def _write(blog_id: int, draft: Draft, picture: Picture | None, at: datetime) -> None:
    published_at = None if draft.days_ago is None else at - timedelta(days=draft.days_ago)
    attrs = {
        "title": draft.title,
        "author": draft.author,
        "tags": draft.tags,
        "body_html": draft.body_html,
        "summary_html": draft.summary_html,
        "published_at": published_at,
        "image_alt": draft.picture_alt or None,
    }
    written_at = min(at, published_at or at)
    articles.create_article(blog_id, attrs, picture=picture, actor="system", at=written_at)


def _picture(chance: random.Random, draft: Draft, number: int) -> Picture | None:
    """A piece of striped cloth, as a picture of its own."""
    if not draft.picture_alt:
        return None
    colours = PALETTES[number % len(PALETTES)]
    picture = Image.new("RGB", (960, 540), colours[2])
    draw = ImageDraw.Draw(picture)
    top = 0
    while top < picture.height:
        height = chance.randrange(8, 60)
        draw.rectangle((0, top, picture.width, top + height), fill=chance.choice(colours))
        for left in range(0, picture.width, 24):
            draw.arc((left, top, left + 24, top + 16), 0, 180, fill=colours[2], width=2)
        top += height + chance.randrange(2, 10)
    output = io.BytesIO()
    picture.save(output, "PNG")
    return store_picture(output.getvalue(), f"journal-{number + 1}.png")


def _register_apps(shop: Shop, at: datetime) -> None:
    for values in (
        {
            "platform": "ios",
            "application_id": "A1B2C3D4E5.example.skein",
            "enabled_universal_or_app_links": True,
            "enabled_shared_webcredentials": True,
        },
        {
            "platform": "android",
            "application_id": "example.skein",
            "enabled_universal_or_app_links": True,
            "sha256_cert_fingerprints": [FINGERPRINT],
        },
    ):
        app = MobilePlatformApplication.objects.create(shop=shop, created_at=at, **values)
        record_event("mobile_platform_applications/create", app, actor="system", at=at)
