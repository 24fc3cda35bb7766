"""The media types of theme files, by their names."""

_TYPES = {
    ".avif": "image/avif",
    ".css": "text/css",
    ".csv": "text/csv",
    ".eot": "application/vnd.ms-fontobject",
    ".gif": "image/gif",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "application/javascript",
    ".json": "application/json",
    ".liquid": "application/x-liquid",
    ".map": "application/json",
    ".md": "text/markdown",
    ".mjs": "application/javascript",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".otf": "font/otf",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".sass": "text/x-sass",
    ".scss": "text/x-scss",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
UNKNOWN = "application/octet-stream"
# What a browser does nothing with but show it, style with it or run it where a page asks for it.
_SERVED = frozenset(
    _TYPES[suffix]
    for suffix in (
        *(".avif", ".gif", ".ico", ".jpeg", ".png", ".svg", ".webp"),
        *(".css", ".csv", ".js", ".json", ".txt"),
        *(".eot", ".otf", ".ttf", ".woff", ".woff2", ".mp3", ".mp4", ".webm"),
    )
)


def media_type(key: str) -> str:
    """The media type that the interface shows of a file."""
    name = key.rpartition("/")[2].lower()
    return _TYPES.get(name[name.rfind(".") :], UNKNOWN) if "." in name else UNKNOWN


def served_type(key: str) -> str:
    """The media type with which a file is served: never a document, whatever its name."""
    kind = media_type(key)
    if kind not in _SERVED:
        return "text/plain; charset=utf-8" if kind.startswith("text/") or "liquid" in kind else UNKNOWN
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind.endswith(("javascript", "json")) else kind
