"""A sample app in one file, without packages: OAuth, a list of products, and a webhook for new products.

    APP_KEY=… APP_SECRET=… BACKOFFICE=http://127.0.0.1:8000 APP=http://127.0.0.1:3000 python app.py

Register the app in the panel (In-house apps) with the redirect URL http://127.0.0.1:3000/callback, then open
http://127.0.0.1:3000/. The sample stores everything in memory; a real app needs a database.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY, SECRET = os.environ["APP_KEY"], os.environ["APP_SECRET"]
BACKOFFICE, APP = os.environ["BACKOFFICE"], os.environ["APP"]
BRAND = os.environ.get("BRAND", "Platform")
API = f"{BACKOFFICE}/admin/api/2026-10"
SCOPES = "read_products"

pending_states: set[str] = set()
tokens: dict[str, str] = {}
new_products: list[dict[str, Any]] = []


def authorization_url(shop: str) -> str:
    """Return the URL of the approval page, with a state that is valid once."""
    state = secrets.token_urlsafe(16)
    pending_states.add(state)
    query = {"client_id": KEY, "scope": SCOPES, "redirect_uri": f"{APP}/callback", "state": state}
    return f"{BACKOFFICE}/admin/oauth/authorize?{urllib.parse.urlencode(query | ({'shop': shop} if shop else {}))}"


def is_signed(query: dict[str, str]) -> bool:
    """Return True if Backoffice signed the callback; the signature covers all other parameters."""
    pairs = (
        f"{name.replace('%', '%25').replace('&', '%26').replace('=', '%3D')}"
        f"={value.replace('%', '%25').replace('&', '%26')}"
        for name, value in query.items()
        if name != "hmac"
    )
    expected = hmac.new(SECRET.encode(), "&".join(sorted(pairs)).encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, query.get("hmac", ""))


def is_genuine(body: bytes, header: str) -> bool:
    """Return True if Backoffice signed the webhook."""
    expected = base64.b64encode(hmac.digest(SECRET.encode(), body, hashlib.sha256))
    return hmac.compare_digest(expected, header.encode())


def call(method: str, url: str, body: object = None, token: str = "") -> Any:
    """Send JSON and return the JSON of the response."""
    headers = {"Content-Type": "application/json"} | ({f"X-{BRAND}-Access-Token": token} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - the URLs are our own
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
        return json.load(response)


def install(query: dict[str, str]) -> str:
    """Exchange the code for a token, subscribe to new products, and return the shop's domain."""
    credentials = {"client_id": KEY, "client_secret": SECRET, "code": query["code"]}
    token = call("POST", f"{BACKOFFICE}/admin/oauth/access_token", credentials)["access_token"]
    tokens[query["shop"]] = token
    if not call("GET", f"{API}/webhooks.json?topic=products/create", token=token)["webhooks"]:
        webhook = {"topic": "products/create", "address": f"{APP}/webhooks", "format": "json"}
        call("POST", f"{API}/webhooks.json", {"webhook": webhook}, token)
    return query["shop"]


class Handler(BaseHTTPRequestHandler):
    """The app's pages and its webhook endpoint."""

    def do_GET(self) -> None:
        """Redirect to the approval page, handle the callback, or list products."""
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/":
            self.redirect(authorization_url(query.get("shop", "")))
        elif url.path == "/callback":
            self.handle_callback(query)
        elif url.path == "/products":
            token = tokens.get(query.get("shop", ""), "")
            products = call("GET", f"{API}/products.json?fields=id,title", token=token) if token else {}
            titles = [product["title"] for product in new_products]
            self.respond(200 if token else 404, json.dumps({**products, "new": titles}))
        else:
            self.respond(404, "Not found")

    def handle_callback(self, query: dict[str, str]) -> None:
        """Install the app if staff approved it."""
        if not is_signed(query) or query.get("state") not in pending_states:
            self.respond(401, "The signature or the state is invalid.")
            return
        pending_states.discard(query["state"])
        if "error" in query:
            self.respond(200, f"Not installed: {query.get('error_description', query['error'])}")
            return
        self.redirect(f"/products?{urllib.parse.urlencode({'shop': install(query)})}")

    def do_POST(self) -> None:
        """Receive a webhook."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/webhooks" or not is_genuine(body, self.headers.get(f"X-{BRAND}-Hmac-Sha256", "")):
            self.respond(401, "")
            return
        new_products.append(json.loads(body))
        self.respond(200, "")

    def redirect(self, url: str) -> None:
        """Send a redirect."""
        self.send_response(302)
        self.send_header("Location", url)
        self.end_headers()

    def respond(self, status: int, text: str) -> None:
        """Send plain text, or JSON if the text is an object."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if text.startswith("{") else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    own_url = urllib.parse.urlsplit(APP)
    ThreadingHTTPServer((own_url.hostname or "127.0.0.1", own_url.port or 3000), Handler).serve_forever()
