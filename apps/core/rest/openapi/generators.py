"""Generate the OpenAPI 3.1 documents, one per version, from the viewsets and serializers."""

import copy
from functools import lru_cache

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from apps.core.rest.openapi.descriptions import add_descriptions
from apps.core.rest.openapi.operation_texts import add_operation_texts
from apps.core.rest.requests.views import ApiView
from apps.core.rest.versions import get_latest_version
from apps.core.types import Schema


class VersionGenerator(SchemaGenerator):
    """Generates the document of one version and sets that version on each view."""

    def __init__(self, version: str = "") -> None:
        """Create a generator for one version. drf-spectacular's system check uses the default: the newest version."""
        SchemaGenerator.__init__(self, api_version=version or get_latest_version())

    def create_view(self, callback: object, method: str, request: object = None) -> ApiView:
        view: ApiView = SchemaGenerator.create_view(self, callback, method, request)
        view.version = self.api_version
        return view


@lru_cache(maxsize=16)
def get_document(version: str) -> Schema:
    """Return the OpenAPI document of one version."""
    generator: SchemaGenerator = VersionGenerator(version)
    result: Schema = copy.deepcopy(generator.get_schema(request=None, public=True))
    result["openapi"] = "3.1.0"
    result["info"]["version"] = version
    result["servers"] = [{"url": "/"}]
    result["paths"] = {
        path.replace("{version}", version): operations for path, operations in sorted(result["paths"].items())
    }
    result.setdefault("components", {})["securitySchemes"] = {
        "AccessToken": {
            "type": "apiKey",
            "in": "header",
            "name": f"X-{settings.BRAND.capitalize()}-Access-Token",
        }
    }
    add_descriptions(result)
    add_operation_texts(result, version)
    return result


def get_latest_document() -> Schema:
    return get_document(get_latest_version())
