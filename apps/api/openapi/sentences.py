"""What each operation does, in a sentence of its own, for people who have never seen the inside of this product."""

import re

from apps.api.requests.views import ApiView
from apps.api.viewsets import ShopViewSet

# Of the actions that every resource has; ``one`` and ``many`` are its names, ``of`` what it is below.
_PLAIN = {
    "list": "List {many}{of}, page by page",
    "count": "Count {many}{of}",
    "retrieve": "Read {one}{of}",
    "create": "Create {one}{of}",
    "update": "Change {one}{of}; what the body does not name stays",
    "destroy": "Delete {one}{of}",
}


def sentence(view: ApiView, action: str, path: str) -> str:
    """What an operation does; an action of a resource's own says it itself, in its docstring."""
    parents = _parents(path)
    of = "".join(f" of {_a(parent)}" for parent in reversed(parents))
    if action in _PLAIN and isinstance(view, ShopViewSet):
        many, one = _words(view.plural), _words(view.singular)
        return _PLAIN[action].format(many=many, one=_a(one), of=of)
    said = (getattr(view, action).__doc__ or action).strip().splitlines()[0].rstrip(".").replace("``", "")
    if path.startswith("/admin/") and not path.startswith("/admin/oauth/"):
        return f"{said}, at the address without a version"
    return said if isinstance(view, ShopViewSet) else said + of


def _parents(path: str) -> list[str]:
    """What stands with an id before the resource itself: ``blog`` in ``blogs/{blog_id}/articles/{id}``."""
    return [_singular(segment) for segment in re.findall(r"(\w+)/{\w+}/(?=.)", path)]


def _singular(word: str) -> str:
    words = _words(word)
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    return words[:-2] if words.endswith("sses") else words.removesuffix("s")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _a(thing: str) -> str:
    return f"{'an' if thing[0] in 'aeio' else 'a'} {thing}"
