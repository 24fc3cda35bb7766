from urllib.parse import urlencode, urlsplit, urlunsplit


def decorate_url(url: str, charge_id: int) -> str:
    """Add the id of the charge to the URL to which staff are redirected after their decision."""
    if not url:
        return ""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode({"charge_id": charge_id}))))
    return urlunsplit(parts._replace(query=query))
