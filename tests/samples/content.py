"""Requests for blogs, articles, themes, theme files and mobile apps."""

from typing import Any

from django.utils import timezone

from apps.content.domain import articles, blogs, themes
from apps.content.models import MobilePlatformApplication, Theme
from tests.samples import World, sample

BLOG = {"blog": {"title": "Field notes", "commentable": "no"}}
ARTICLE = {
    "article": {
        "title": "First snow",
        "author": "Kim",
        "tags": "winter, walks",
        "body_html": "<p>It snowed.</p>",
        "summary_html": "Snow",
        "published_at": "2026-03-01T10:00:00Z",
        "template_suffix": "wide",
        "handle": "first-snow",
        "published": True,
    }
}
THEME = {"theme": {"name": "Dawn", "role": "unpublished", "src": "https://themes.example/dawn.zip"}}
ASSET = {"asset": {"key": "assets/extra.css", "value": "a { color: red }"}}
APP = {
    "mobile_platform_application": {
        "platform": "android",
        "application_id": "example.app",
        "sha256_cert_fingerprints": [":".join(["AB"] * 32)],
        "enabled_universal_or_app_links": True,
        "enabled_shared_webcredentials": False,
        "enabled_app_clips": False,
        "app_clip_application_id": None,
    }
}


def one_blog(world: World) -> dict[str, Any]:
    return {"id": blogs.create_blog({"title": "News"}, actor="system", at=timezone.now()).pk}


def blog_of_articles(world: World) -> dict[str, Any]:
    return {"blog_id": one_blog(world)["id"]}


def one_article(world: World) -> dict[str, Any]:
    blog_id = one_blog(world)["id"]
    attrs = {"title": "Hello", "tags": "a, b", "published_at": timezone.now()}
    return {"blog_id": blog_id, "id": articles.create_article(blog_id, attrs, actor="system", at=timezone.now()).pk}


def one_draft(world: World) -> dict[str, Any]:
    main = Theme.objects.get(role=Theme.Role.MAIN)
    return {"id": themes.duplicate_theme(main, actor="system", at=timezone.now()).pk}


def theme_of_assets(world: World) -> dict[str, Any]:
    return {"theme_id": one_draft(world)["id"]}


def one_app(world: World) -> dict[str, Any]:
    number = MobilePlatformApplication.objects.count()
    app = MobilePlatformApplication(shop=world.shop, platform="ios", application_id=f"X1Y2.example{number}")
    app.save()
    return {"id": app.pk}


sample("GET blogs.json", arrange=one_blog)
sample("POST blogs.json", BLOG, status=201)
sample("GET blogs/count.json", arrange=one_blog)
sample("GET blogs/<id>.json", arrange=one_blog)
sample("PUT blogs/<id>.json", BLOG, arrange=one_blog)
sample("DELETE blogs/<id>.json", arrange=one_blog)
sample("GET blogs/<blog_id>/articles.json", arrange=one_article)
sample("POST blogs/<blog_id>/articles.json", ARTICLE, arrange=blog_of_articles, status=201)
sample("GET blogs/<blog_id>/articles/count.json", arrange=one_article)
sample("GET blogs/<blog_id>/articles/tags.json", arrange=one_article)
sample("GET blogs/<blog_id>/articles/<id>.json", arrange=one_article)
sample("PUT blogs/<blog_id>/articles/<id>.json", ARTICLE, arrange=one_article)
sample("DELETE blogs/<blog_id>/articles/<id>.json", arrange=one_article)
sample("GET articles/authors.json", arrange=one_article)
sample("GET articles/tags.json", arrange=one_article)
sample("GET themes.json", arrange=one_draft)
sample("POST themes.json", THEME, status=201)
sample("GET themes/<id>.json", arrange=one_draft)
sample("PUT themes/<id>.json", {"theme": {"name": "Dusk", "role": "main"}}, arrange=one_draft)
sample("DELETE themes/<id>.json", arrange=one_draft)
sample("GET themes/<theme_id>/assets.json", arrange=theme_of_assets)
sample("PUT themes/<theme_id>/assets.json", ASSET, arrange=theme_of_assets)
sample("DELETE themes/<theme_id>/assets.json", arrange=theme_of_assets, query={"asset[key]": "assets/theme.css"})
sample("GET mobile_platform_applications.json", arrange=one_app)
sample("POST mobile_platform_applications.json", APP, status=201)
sample("GET mobile_platform_applications/<id>.json", arrange=one_app)
sample("PUT mobile_platform_applications/<id>.json", APP, arrange=one_app)
sample("DELETE mobile_platform_applications/<id>.json", arrange=one_app)
