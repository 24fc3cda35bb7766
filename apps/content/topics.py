"""Topics for the content app."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.webhook_topics import DEFAULT_LABELS, register_resource_topics
from apps.content.api.articles import ArticleSerializer
from apps.content.api.blogs import BlogSerializer
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationSerializer
from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.api.themes import ThemeSerializer
from apps.content.models import StoreFile
from apps.events.domain import topics


def _render_file(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, StoreFile)
    return {"id": instance.pk, "name": instance.name, "width": instance.width, "height": instance.height}


def register_content_topics() -> None:
    """Register the topics for script tags, blogs, articles, themes, files and mobile apps."""
    register_resource_topics("script_tags", gettext_noop("Script tag"), ScriptTagSerializer, scope="read_script_tags")
    register_resource_topics("blogs", gettext_noop("Blog"), BlogSerializer, scope="read_content")
    register_resource_topics("articles", gettext_noop("Article"), ArticleSerializer, scope="read_content")
    register_resource_topics(
        "themes",
        gettext_noop("Theme"),
        ThemeSerializer,
        scope="read_themes",
        verbs={**DEFAULT_LABELS, "publish": gettext_noop("Theme published")},
    )
    for verb, label in (("create", gettext_noop("File uploaded")), ("delete", gettext_noop("File deleted"))):
        topics.register_topic(f"files/{verb}", scope="read_content", render=_render_file, label=label, offered=False)
    register_resource_topics(
        "mobile_platform_applications",
        gettext_noop("Mobile app"),
        MobilePlatformApplicationSerializer,
        scope="read_mobile_platform_applications",
    )
