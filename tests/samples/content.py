from django.utils import timezone

from apps.content.domain import articles, themes
from apps.content.models import MobilePlatformApplication, Theme
from apps.core.types import Attrs
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.content import make_blog

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


def make_article_ids(world: SampleContext) -> Attrs:
    blog_id = make_blog().pk
    attrs = {"title": "Hello", "tags": "a, b", "published_at": timezone.now()}
    return {"blog_id": blog_id, "id": articles.create_article(blog_id, attrs, actor="system", at=timezone.now()).pk}


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
register_resource("themes", THEME, {"theme": {"name": "Dusk", "role": "main"}}, make_draft_ids, count=False)
register_sample("GET themes/<theme_id>/assets.json", arrange=make_assets_parent)
register_sample("PUT themes/<theme_id>/assets.json", ASSET, arrange=make_assets_parent)
register_sample(
    "DELETE themes/<theme_id>/assets.json", arrange=make_assets_parent, query={"asset[key]": "assets/theme.css"}
)
register_resource("mobile_platform_applications", APP, APP, make_mobile_app_id, count=False)
