"""The Content-Security-Policy of every page.

What shops put on this host (pictures, theme files, scripts of script tags below ``/storefront/``) is content and no
script of ours, so scripts come from the path of our own static files alone. A policy names a path together with its
host, which is therefore the one that the page was asked for under.
"""

from csp.constants import UNSAFE_EVAL
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from apps.panel.addresses import panel_prefix
from apps.panel.requests import shop_of

_REFERENCE = "/docs/"


def scripts_of_our_own(request: HttpRequest) -> list[str]:
    """Where our scripts come from on the host of this request: all below the path of our static files.

    In a shop's panel also Django's words for its date fields, the one script that is not a file.
    """
    host, shop = f"{request.scheme}://{request.get_host()}", shop_of(request)
    words = [f"{host}{panel_prefix(shop)}jsi18n/"] if shop else []
    return [f"{host}{settings.STATIC_URL}", *words]


class ContentPolicy(CSPMiddleware):
    """Adds the scripts' source, which depends on the request, to the policy of the settings."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of this answer."""
        parts: PolicyParts = super().get_policy_parts(request, response, report_only)
        ours = scripts_of_our_own(request)
        if request.path.startswith(_REFERENCE):
            # Readers enter a token there: nothing runs and nothing is styled but by our files.
            parts.replace = {"script-src": ours, "style-src": ["'self'"], **(parts.replace or {})}
            return parts
        # Alpine, on which the panel's theme stands, compiles its attributes with the Function constructor.
        parts.replace = {"script-src": [*ours, UNSAFE_EVAL], **(parts.replace or {})}
        return parts
