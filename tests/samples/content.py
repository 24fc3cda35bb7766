from django.utils import timezone

from apps.content.domain import articles, themes
from apps.content.models import MobilePlatformApplication, Theme
from apps.core.types import Attrs
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.content import (
    make_article,
    make_blog,
    make_comment,
    make_page,
    make_policy,
    make_redirect,
)

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
PAGE = {
    "page": {
        "title": "About us",
        "author": "Kim",
        "body_html": "<p>We sell mugs.</p>",
        "published_at": "2026-03-01T10:00:00Z",
        "template_suffix": "wide",
        "handle": "about-us",
        "published": True,
    }
}
REDIRECT = {"redirect": {"path": "/old-mugs", "target": "/collections/mugs"}}
COMMENT = {"body": "So white!\nLovely.", "author": "Ada Lovelace", "email": "ada@example.com", "ip": "203.0.113.7"}
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


def make_article_ids(world: SampleContext) -> Attrs:
    blog_id = make_blog().pk
    attrs = {"title": "Hello", "tags": "a, b", "published_at": timezone.now()}
    return {"blog_id": blog_id, "id": articles.create_article(blog_id, attrs, actor="system", at=timezone.now()).pk}


def make_comment_ids(world: SampleContext) -> Attrs:
    article = make_article(commentable="yes")
    return {"id": make_comment(article).pk, "article_id": article.pk, "blog_id": article.blog_id}


def build_comment(ids: Attrs) -> Attrs:
    return {"comment": COMMENT | {"article_id": ids["article_id"], "blog_id": ids["blog_id"]}}


def make_draft_ids(world: SampleContext) -> Attrs:
    main = Theme.objects.get(role=Theme.Role.MAIN)
    return {"id": themes.duplicate_theme(main, actor="system", at=timezone.now()).pk}


def make_assets_parent(world: SampleContext) -> Attrs:
    return {"theme_id": make_draft_ids(world)["id"]}


def make_mobile_app_id(world: SampleContext) -> Attrs:
    number = MobilePlatformApplication.objects.count()
    app = MobilePlatformApplication(shop=world.shop, platform="ios", application_id=f"X1Y2.example{number}")
    app.save()
    return {"id": app.pk}


register_resource("blogs", BLOG, BLOG, lambda world: {"id": make_blog().pk})
register_resource(
    "blogs/<blog_id>/articles", ARTICLE, ARTICLE, make_article_ids, parent=lambda world: {"blog_id": make_blog().pk}
)
register_sample("GET blogs/<blog_id>/articles/tags.json", arrange=make_article_ids)
register_sample("GET articles/authors.json", arrange=make_article_ids)
register_sample("GET articles/tags.json", arrange=make_article_ids)
register_resource("pages", PAGE, PAGE, lambda world: {"id": make_page().pk})
register_resource("redirects", REDIRECT, REDIRECT, lambda world: {"id": make_redirect().pk})
for route in ("GET comments.json", "GET comments/count.json", "GET comments/<id>.json"):
    register_sample(route, arrange=make_comment_ids)
register_sample("POST comments.json", build_comment, arrange=make_comment_ids, status=201)
register_sample(
    "PUT comments/<id>.json", {"comment": COMMENT | {"published_at": "2026-03-01T10:00:00Z"}}, arrange=make_comment_ids
)
for action in ("approve", "spam", "not_spam", "remove", "restore"):
    register_sample(f"POST comments/<id>/{action}.json", arrange=make_comment_ids, bodiless=True)
register_sample("GET policies.json", arrange=lambda world: {"id": make_policy().pk})
register_resource("themes", THEME, {"theme": {"name": "Dusk", "role": "main"}}, make_draft_ids, count=False)
register_sample("GET themes/<theme_id>/assets.json", arrange=make_assets_parent)
register_sample("PUT themes/<theme_id>/assets.json", ASSET, arrange=make_assets_parent)
register_sample(
    "DELETE themes/<theme_id>/assets.json", arrange=make_assets_parent, query={"asset[key]": "assets/theme.css"}
)
register_resource("mobile_platform_applications", APP, APP, make_mobile_app_id, count=False)
