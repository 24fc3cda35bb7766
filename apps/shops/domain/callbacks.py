"""The address by which a person's browser tells an app what staff answered; signed, so that the app knows it is ours.

The signature is the hexadecimal HMAC-SHA256 of the query's parameters, sorted, under the app's secret. While a secret
is being replaced it is made with the old one, as webhooks are.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qsl, urlencode, urlsplit

from apps.shops.domain.app_secrets import secrets_of
from apps.shops.models import App, Shop


def callback_url(app: App, redirect_uri: str, values: Mapping[str, str], *, shop: Shop, at: datetime) -> str:
    """A registered address with the values, the shop, the time and the signature in its query."""
    added = {
        **values,
        "host": base64.b64encode(f"{shop.domain}/admin".encode()).decode().rstrip("="),
        "shop": shop.domain,
        "timestamp": str(int(at.timestamp())),
    }
    there = dict(parse_qsl(urlsplit(redirect_uri).query, keep_blank_values=True))
    added["hmac"] = signature(secrets_of(app, at)[0], {**there, **added})
    joint = "" if redirect_uri.endswith(("?", "&")) else "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{joint}{urlencode(added)}"


def signature(secret: str, parameters: Mapping[str, str]) -> str:
    """What stands in ``hmac``: over all other parameters, sorted, with the delimiters in them escaped."""
    pairs = sorted(
        f"{_escaped(name).replace('=', '%3D')}={_escaped(value)}"
        for name, value in parameters.items()
        if name != "hmac"
    )
    return hmac.new(secret.encode(), "&".join(pairs).encode(), hashlib.sha256).hexdigest()


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("&", "%26")
