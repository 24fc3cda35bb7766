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
# Media types that are safe to serve. Browsers never render these files as HTML, and run a script file only if a page
# includes it.
_SAFE_TYPES = frozenset(
    _TYPES[suffix]
    for suffix in (
        *(".avif", ".gif", ".ico", ".jpeg", ".png", ".svg", ".webp"),
        *(".css", ".csv", ".js", ".json", ".txt"),
        *(".eot", ".otf", ".ttf", ".woff", ".woff2", ".mp3", ".mp4", ".webm"),
    )
)


def get_media_type(key: str) -> str:
    name = key.rpartition("/")[2].lower()
    return _TYPES.get(name[name.rfind(".") :], UNKNOWN) if "." in name else UNKNOWN


def get_served_type(key: str) -> str:
    """Return the media type for the storefront. Unsafe files are served as plain text or binary data."""
    kind = get_media_type(key)
    if kind not in _SAFE_TYPES:
        return "text/plain; charset=utf-8" if kind.startswith("text/") or "liquid" in kind else UNKNOWN
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind.endswith(("javascript", "json")) else kind
