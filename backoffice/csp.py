"""The Content-Security-Policy of all pages.

This host also serves files of shops: images, theme files and, below ``/storefront/``, scripts of script tags. They must
not run as scripts in the panel, so scripts are only allowed from the path of the product's own static files. A policy
names paths together with their host, so it depends on the host of the request.
"""

from csp.constants import UNSAFE_EVAL
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.panel.reverse import get_panel_prefix
from apps.panel.staff_request import get_request_shop

_REFERENCE = "/docs/"


def get_script_sources(request: HttpRequest) -> list[str]:
    """Return the script sources that are allowed for the host of this request.

    The static files are allowed. The panel of a shop also needs Django's texts for date fields, which are the only
    script that is not a static file.
    """
    host, shop = f"{request.scheme}://{request.get_host()}", get_request_shop(request)
    date_texts = [f"{host}{get_panel_prefix(shop)}jsi18n/"] if shop else []
    return [f"{host}{settings.STATIC_URL}", *date_texts]


class ShopCSPMiddleware(CSPMiddleware):
    """Middleware that adds the script sources for the host of the request to the policy in the settings."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """Return the parts of the policy for this response."""
        parts: PolicyParts = super().get_policy_parts(request, response, report_only)
        sources = get_script_sources(request)
        if request.path.startswith(_REFERENCE):
            # Users enter an access token on this page, so only the product's own scripts and styles may load.
            parts.replace = {"script-src": sources, "style-src": ["'self'"], **(parts.replace or {})}
            return parts
        # Alpine, which the panel theme uses, needs this because it compiles its attributes with the Function
        # constructor.
        parts.replace = {"script-src": [*sources, UNSAFE_EVAL], **(parts.replace or {})}
        return parts
