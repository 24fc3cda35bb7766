"""The topics that content publishes."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.topics import PLAIN, register_resource
from apps.content.api.articles import ArticleSerializer
from apps.content.api.blogs import BlogSerializer
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationSerializer
from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.api.themes import ThemeSerializer
from apps.content.models import StoreFile
from apps.events.domain import topics


def _file(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, StoreFile)
    return {"id": instance.pk, "name": instance.name, "width": instance.width, "height": instance.height}


def register_all() -> None:
    """Add the topics."""
    register_resource("script_tags", gettext_noop("Script tag"), ScriptTagSerializer, scope="read_script_tags")
    register_resource("blogs", gettext_noop("Blog"), BlogSerializer, scope="read_content")
    register_resource("articles", gettext_noop("Article"), ArticleSerializer, scope="read_content")
    register_resource(
        "themes",
        gettext_noop("Theme"),
        ThemeSerializer,
        scope="read_themes",
        verbs={**PLAIN, "publish": gettext_noop("Theme published")},
    )
    for verb, said in (("create", gettext_noop("File stored")), ("delete", gettext_noop("File deleted"))):
        topics.register(f"files/{verb}", scope="read_content", render=_file, label=said, offered=False)
    register_resource(
        "mobile_platform_applications",
        gettext_noop("Mobile app"),
        MobilePlatformApplicationSerializer,
        scope="read_mobile_platform_applications",
    )
