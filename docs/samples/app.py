"""A whole app in one file, of Python's own parts: it asks a shop for access, lists products, and hears of new ones.

    APP_KEY=… APP_SECRET=… BACKOFFICE=http://127.0.0.1:8000 APP=http://127.0.0.1:3000 python app.py

Register it in the panel (Own apps) with the redirect URL http://127.0.0.1:3000/callback, then open http://127.0.0.1:3000/.
It keeps what it knows in memory; yours will have a database.
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
API = f"{BACKOFFICE}/admin/api/2026-07"
SCOPES = "read_products"

states: set[str] = set()
tokens: dict[str, str] = {}
heard: list[dict[str, Any]] = []


def ask(shop: str) -> str:
    """The address at which staff decide. The state is ours to know again, and good once."""
    state = secrets.token_urlsafe(16)
    states.add(state)
    asked = {"client_id": KEY, "scope": SCOPES, "redirect_uri": f"{APP}/callback", "state": state}
    return f"{BACKOFFICE}/admin/oauth/authorize?{urllib.parse.urlencode(asked | ({'shop': shop} if shop else {}))}"


def is_signed(answer: dict[str, str]) -> bool:
    """Whether the answer comes from Backoffice: everything in it but the signature is signed."""
    pairs = (
        f"{name.replace('%', '%25').replace('&', '%26').replace('=', '%3D')}"
        f"={value.replace('%', '%25').replace('&', '%26')}"
        for name, value in answer.items()
        if name != "hmac"
    )
    made = hmac.new(SECRET.encode(), "&".join(sorted(pairs)).encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(made, answer.get("hmac", ""))


def is_genuine(body: bytes, header: str) -> bool:
    """Whether a webhook comes from Backoffice."""
    made = base64.b64encode(hmac.digest(SECRET.encode(), body, hashlib.sha256))
    return hmac.compare_digest(made, header.encode())


def call(method: str, url: str, body: object = None, token: str = "") -> Any:
    """Send JSON, and read JSON."""
    headers = {"Content-Type": "application/json"} | ({f"X-{BRAND}-Access-Token": token} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - our own addresses
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def install(answer: dict[str, str]) -> str:
    """Exchange the code for a token, and subscribe to new products; answers the shop's domain."""
    keys = {"client_id": KEY, "client_secret": SECRET, "code": answer["code"]}
    token = call("POST", f"{BACKOFFICE}/admin/oauth/access_token", keys)["access_token"]
    tokens[answer["shop"]] = token
    known = call("GET", f"{API}/webhooks.json?topic=products/create", token=token)["webhooks"]
    if not known:
        webhook = {"topic": "products/create", "address": f"{APP}/webhooks", "format": "json"}
        call("POST", f"{API}/webhooks.json", {"webhook": webhook}, token)
    return answer["shop"]


class Pages(BaseHTTPRequestHandler):
    """What the app answers."""

    def do_GET(self) -> None:
        """Lead to the question, take its answer, show products."""
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        if address.path == "/":
            self.lead(ask(query.get("shop", "")))
        elif address.path == "/callback":
            self.callback(query)
        elif address.path == "/products":
            token = tokens.get(query.get("shop", ""), "")
            shown = call("GET", f"{API}/products.json?fields=id,title", token=token) if token else {}
            self.say(200 if token else 404, json.dumps({**shown, "heard": [each["title"] for each in heard]}))
        else:
            self.say(404, "There is nothing here.")

    def callback(self, answer: dict[str, str]) -> None:
        """Take the answer, if it is one to a question of ours."""
        if not is_signed(answer) or answer.get("state") not in states:
            self.say(401, "This answer is not one to a question of ours.")
            return
        states.discard(answer["state"])
        if "error" in answer:
            self.say(200, f"Not installed: {answer.get('error_description', answer['error'])}")
            return
        self.lead(f"/products?{urllib.parse.urlencode({'shop': install(answer)})}")

    def do_POST(self) -> None:
        """Hear of an event, if Backoffice tells of it."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/webhooks" or not is_genuine(body, self.headers.get(f"X-{BRAND}-Hmac-Sha256", "")):
            self.say(401, "")
            return
        heard.append(json.loads(body))
        self.say(200, "")

    def lead(self, address: str) -> None:
        """Lead elsewhere."""
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def say(self, status: int, text: str) -> None:
        """Answer with a text, or with JSON."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if text.startswith("{") else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    place = urllib.parse.urlsplit(APP)
    ThreadingHTTPServer((place.hostname or "127.0.0.1", place.port or 3000), Pages).serve_forever()
