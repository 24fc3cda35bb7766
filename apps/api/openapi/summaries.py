"""Build the one-line summaries of operations in the OpenAPI documents."""

import re

from apps.api.requests.views import ApiView
from apps.api.viewsets import ShopViewSet

# Summaries of the standard actions. ``one`` and ``many`` are the resource's singular and plural names; ``of`` lists the
# parents.
_SUMMARIES = {
    "list": "List {many}{of}",
    "count": "Count {many}{of}",
    "retrieve": "Get {one}{of}",
    "create": "Create {one}{of}",
    "update": "Update {one}{of}",
    "destroy": "Delete {one}{of}",
}


def build_summary(view: ApiView, action: str, path: str) -> str:
    """Return the summary of an operation. For custom actions, it is the first line of the docstring."""
    parents = _find_parents(path)
    of = "".join(f" of {_with_article(parent)}" for parent in reversed(parents))
    if action in _SUMMARIES and isinstance(view, ShopViewSet):
        plural, singular = _to_words(view.plural), _to_words(view.singular)
        return _SUMMARIES[action].format(many=plural, one=_with_article(singular), of=of)
    summary = (getattr(view, action).__doc__ or action).strip().splitlines()[0].rstrip(".").replace("``", "")
    if path.startswith("/admin/") and not path.startswith("/admin/oauth/"):
        return f"{summary}, without a version in the path"
    return summary if isinstance(view, ShopViewSet) else summary + of


def _find_parents(path: str) -> list[str]:
    """Return the singular names of the parents in a path: ``blog`` for ``blogs/{blog_id}/articles/{id}``."""
    return [singularize(segment) for segment in re.findall(r"(\w+)/{\w+}/(?=.)", path)]


def singularize(word: str) -> str:
    """Return the singular of a tag or of a name in a path, with spaces between the words."""
    words = _to_words(word)
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    return words[:-2] if words.endswith("sses") else words.removesuffix("s")


def _to_words(name: str) -> str:
    return name.replace("_", " ")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
