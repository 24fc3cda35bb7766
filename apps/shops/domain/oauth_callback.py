"""Build the signed callback URL that tells an app whether staff approved the request.

The signature is the hexadecimal HMAC-SHA256 of the sorted query parameters, computed with the app's secret. While the
secret is being rotated, callback URLs, like webhooks, are signed with the old secret.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qsl, urlencode, urlsplit

from apps.shops.domain.app_secrets import get_valid_secrets
from apps.shops.models import App, Shop


def build_callback_url(app: App, redirect_uri: str, values: Mapping[str, str], *, shop: Shop, at: datetime) -> str:
    """Add the values, shop, time and signature to the query of a registered redirect URL."""
    parameters = {
        **values,
        "host": base64.b64encode(f"{shop.domain}/admin".encode()).decode().rstrip("="),
        "shop": shop.domain,
        "timestamp": str(int(at.timestamp())),
    }
    existing_parameters = dict(parse_qsl(urlsplit(redirect_uri).query, keep_blank_values=True))
    parameters["hmac"] = sign_parameters(get_valid_secrets(app, at)[0], {**existing_parameters, **parameters})
    separator = "" if redirect_uri.endswith(("?", "&")) else "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{separator}{urlencode(parameters)}"


def sign_parameters(secret: str, parameters: Mapping[str, str]) -> str:
    """Return the ``hmac`` parameter: the signature of all other parameters, sorted and with escaped delimiters."""
    pairs = sorted(
        f"{_escape(name).replace('=', '%3D')}={_escape(value)}" for name, value in parameters.items() if name != "hmac"
    )
    return hmac.new(secret.encode(), "&".join(pairs).encode(), hashlib.sha256).hexdigest()


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("&", "%26")
