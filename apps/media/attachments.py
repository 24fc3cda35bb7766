"""Decode the Base64 attachments of request bodies."""

import binascii

_MIB = 1024 * 1024


class AttachmentRefused(ValueError):
    """The attachment cannot be decoded; the text completes "Attachment …"."""


class AttachmentTooLarge(AttachmentRefused):
    """The attachment would decode to more bytes than allowed; it was not decoded."""


def decode_attachment(text: object, max_bytes: int) -> bytes:
    """Decode strict Base64 of the standard alphabet, with padding.

    Line breaks are allowed, since many clients wrap their lines as MIME does; any other foreign character is not.

    Args:
        text: The value from the body, of any JSON type.
        max_bytes: The most that it may decode to; checked before decoding.

    Raises:
        AttachmentTooLarge: It would decode to more than `max_bytes`.
        AttachmentRefused: It is not a string, empty, a data URL, or not strict Base64.
    """
    if not isinstance(text, str):
        message = "must be a Base64 string"
        raise AttachmentRefused(message)
    if text[:5].lower() == "data:":
        message = "must be plain Base64, without a data: prefix"
        raise AttachmentRefused(message)
    length = len(text) - text.count("\n") - text.count("\r")
    if not length:
        message = "can't be blank"
        raise AttachmentRefused(message)
    padding = text[-4:].count("=")
    if length * 3 // 4 - padding > max_bytes:
        message = f"is larger than {_size(max_bytes)}"
        raise AttachmentTooLarge(message)

    compact = text if length == len(text) else text.replace("\r", "").replace("\n", "")
    try:
        return binascii.a2b_base64(compact, strict_mode=True)
    except ValueError as error:
        message = "is not valid Base64"
        raise AttachmentRefused(message) from error


def _size(max_bytes: int) -> str:
    return f"{max_bytes // _MIB} MiB" if max_bytes % _MIB == 0 else f"{max_bytes} bytes"
