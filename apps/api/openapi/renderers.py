"""Writing answers: orjson, in the one content type of the interface."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class OrjsonRenderer(BaseRenderer):
    """Renders what the kit has not rendered itself."""

    media_type = "application/json"
    format = "json"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """The data as JSON."""
        return b"" if data is None else orjson.dumps(data)
