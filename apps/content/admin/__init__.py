"""The staff face of content."""

from apps.content.admin import articles, mobile, script_tags, themes

__all__ = ["articles", "mobile", "script_tags", "themes"]
