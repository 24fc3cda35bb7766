"""Create demo content: a theme, a blog with articles, pages, two mobile apps, and an app with a script tag."""

import io
import random
from datetime import datetime, timedelta
from pathlib import Path

from PIL import Image, ImageDraw

from apps.content.domain import articles, blogs, script_tags, themes
from apps.content.domain.article_images import ArticleImage, store_article_image
from apps.content.domain.theme_extraction import store_folder
from apps.content.models import MobilePlatformApplication, Theme
from apps.core.events.recording import record_event
from apps.core.tenancy.models import App, Shop
from apps.demo.data.articles import ARTICLES, DemoArticle
from apps.demo.data.pages import load_demo_pages
from apps.metafields.domain.write import MetafieldInput
from apps.shops.domain import app_installation

THEME = Path(__file__).parent / "theme"
PALETTES = (
    ("#7a4b2a", "#c98d5a", "#efe0c6", "#3f5b57"),
    ("#2f4858", "#86a6a0", "#f4ede0", "#b5533c"),
    ("#5b3a4f", "#b48395", "#f1e4e0", "#71805a"),
)
FINGERPRINT = ":".join(f"{(number * 37 + 11) % 256:02X}" for number in range(32))


def load_demo_content(shop: Shop, at: datetime) -> None:
    theme = Theme.objects.create(shop=shop, name="Skein", publish_when_ready=True, created_at=at)
    record_event("themes/create", theme, actor="system", at=at)
    themes.install_theme_files(theme.pk, store_folder(THEME), actor="system", at=at)
    themes.duplicate_theme(theme, name="Skein, winter draft", actor="system", at=at)
    editor = MetafieldInput("imprint", "editor", "single_line_text_field", "Mara Lindqvist")
    journal = {"title": "Journal", "commentable": "moderate"}
    blog = blogs.create_blog(journal, metafield_drafts=[editor], actor="system", at=at)
    random_generator = random.Random(10)  # noqa: S311 - the demo must be the same every time
    for number, sketch in enumerate(ARTICLES):
        _create_article(blog.pk, sketch, _draw_image(random_generator, sketch, number), at, minutes=3 + number % 5)
    load_demo_pages(at)
    _create_mobile_apps(shop, at)
    _install_size_guide(shop, at)


def _create_article(
    blog_id: int, sketch: DemoArticle, image: ArticleImage | None, at: datetime, *, minutes: int
) -> None:
    published_at = None if sketch.days_ago is None else at - timedelta(days=sketch.days_ago)
    attrs = {
        **{name: getattr(sketch, name) for name in ("title", "author", "tags", "body_html", "summary_html")},
        "published_at": published_at,
        "image_alt": sketch.image_alt or None,
    }
    written_at = min(at, published_at or at)
    reading = MetafieldInput("reading", "minutes", "number_integer", str(minutes), "How long it takes to read")
    articles.create_article(blog_id, attrs, image=image, metafield_drafts=[reading], actor="system", at=written_at)


def _draw_image(random_generator: random.Random, sketch: DemoArticle, number: int) -> ArticleImage | None:
    """Draw an image of striped cloth. Return None if the article has no image."""
    if not sketch.image_alt:
        return None
    colors = PALETTES[number % len(PALETTES)]
    image = Image.new("RGB", (960, 540), colors[2])
    draw = ImageDraw.Draw(image)
    top = 0
    while top < image.height:
        height = random_generator.randrange(8, 60)
        draw.rectangle((0, top, image.width, top + height), fill=random_generator.choice(colors))
        for left in range(0, image.width, 24):
            draw.arc((left, top, left + 24, top + 16), 0, 180, fill=colors[2], width=2)
        top += height + random_generator.randrange(2, 10)
    output = io.BytesIO()
    image.save(output, "PNG")
    return store_article_image(output.getvalue(), f"journal-{number + 1}.png")


def _create_mobile_apps(shop: Shop, at: datetime) -> None:
    for values in (
        {"platform": "ios", "application_id": "A1B2C3D4E5.example.skein", "enabled_shared_webcredentials": True},
        {"platform": "android", "application_id": "example.skein", "sha256_cert_fingerprints": [FINGERPRINT]},
    ):
        app = MobilePlatformApplication.objects.create(
            shop=shop, created_at=at, enabled_universal_or_app_links=True, **values
        )
        record_event("mobile_platform_applications/create", app, actor="system", at=at)


def _install_size_guide(shop: Shop, at: datetime) -> None:
    """Install an app that adds a size table to the storefront."""
    app = app_installation.create_app(name="Size guide", distribution=App.Distribution.PRIVATE)
    scopes = ("read_script_tags", "write_script_tags")
    installation = app_installation.install_app(app, shop, scopes=scopes, actor="system", at=at)
    attrs = {"src": "https://size-guide.example.com/table.js", "event": "onload", "display_scope": "online_store"}
    script_tags.create_script_tag(installation, attrs, actor="system", at=at)
