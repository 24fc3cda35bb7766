"""The Content-Security-Policy of all pages.

The panel's host also serves shops' files: images, theme files and, under ``/storefront/``, scripts that script tags
load. These files must not run as scripts in the panel. The policy therefore allows scripts only from the path of the
product's own static files. A path in a policy includes the host, so the policy depends on the host of the request.
"""

from csp.constants import UNSAFE_EVAL
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.core.admin.reverse import get_panel_prefix
from apps.core.admin.staff_request import get_request_shop


def get_script_sources(request: HttpRequest) -> list[str]:
    """Return the static files and, in a shop's panel, the view with Django's translations for date fields."""
    host, shop = f"{request.scheme}://{request.get_host()}", get_request_shop(request)
    date_texts = [f"{host}{get_panel_prefix(shop)}jsi18n/"] if shop else []
    return [f"{host}{settings.STATIC_URL}", *date_texts]


class ShopCSPMiddleware(CSPMiddleware):
    """Middleware that adds the script sources for the request's host to the policy in the settings."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts: PolicyParts = super().get_policy_parts(request, response, report_only)
        sources = get_script_sources(request)
        if request.path.startswith("/docs/"):
            # Users enter an access token in the API reference, so it allows only the product's own scripts and styles.
            directives = {"script-src": sources, "style-src": ["'self'"]}
        else:
            # Alpine compiles the attributes of the panel theme with the Function constructor. Alpine's build without it
            # cannot evaluate these attributes, which contain globals, conditional statements and template strings.
            directives = {"script-src": [*sources, UNSAFE_EVAL]}
        parts.replace = directives | (parts.replace or {})
        return parts
