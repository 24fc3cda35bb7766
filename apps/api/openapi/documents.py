"""The interface's own description: OpenAPI 3.1, one document per version, made of the declarations."""

import copy
from functools import lru_cache

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from apps.api.openapi.words import explain
from apps.api.requests.views import ApiView
from apps.api.shapes import Schema
from apps.api.versions import newest


class VersionGenerator(SchemaGenerator):
    """Walks the project's routes; the views know for which version they are described."""

    def __init__(self, version: str = "") -> None:
        """Describe one version, by default the newest, as the deployment check does."""
        SchemaGenerator.__init__(self, api_version=version or newest())

    def create_view(self, callback: object, method: str, request: object = None) -> ApiView:
        """The view of a route."""
        view: ApiView = SchemaGenerator.create_view(self, callback, method, request)
        view.version = self.api_version
        return view


@lru_cache(maxsize=16)
def document(version: str) -> Schema:
    """The OpenAPI document of one version."""
    generator: SchemaGenerator = VersionGenerator(version)
    made: Schema = copy.deepcopy(generator.get_schema(request=None, public=True))
    made["openapi"] = "3.1.0"
    made["info"]["version"] = version
    made["servers"] = [{"url": "/"}]
    made["paths"] = {
        path.replace("{version}", version): operations for path, operations in sorted(made["paths"].items())
    }
    made.setdefault("components", {})["securitySchemes"] = {
        "AccessToken": {
            "type": "apiKey",
            "in": "header",
            "name": f"X-{settings.BRAND.capitalize()}-Access-Token",
        }
    }
    explain(made)
    return made


def newest_document() -> Schema:
    """The document of the newest dated version."""
    return document(newest())
