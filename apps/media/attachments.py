"""Decode the Base64 attachments of request bodies."""

import binascii

from apps.ground.error_messages import BLANK, larger_than


class AttachmentRefused(ValueError):
    """Raised when an attachment cannot be decoded; the message completes "Attachment …"."""


class AttachmentTooLarge(AttachmentRefused):
    """Raised before decoding when an attachment is larger than allowed."""


def decode_attachment(text: object, max_bytes: int) -> bytes:
    """Decode a strict Base64 text in the standard alphabet, with padding.

    Line breaks are allowed, because many clients wrap lines as in MIME. All other characters outside of the alphabet
    are
    refused.

    Args:
        text: The value from the request body, of any JSON type.
        max_bytes: The maximum decoded size, checked before decoding.

    Raises:
        AttachmentTooLarge: The decoded data would be larger than `max_bytes`.
        AttachmentRefused: The value is not a string, empty, a data URL, or not strict Base64.
    """
    if not isinstance(text, str):
        raise AttachmentRefused("must be a Base64 string")
    if text[:5].lower() == "data:":
        raise AttachmentRefused("must be plain Base64, without a data: prefix")
    length = len(text) - text.count("\n") - text.count("\r")
    if not length:
        raise AttachmentRefused(BLANK)
    padding = text[-4:].count("=")
    if length * 3 // 4 - padding > max_bytes:
        raise AttachmentTooLarge(f"is {larger_than(max_bytes)}")

    compact = text if length == len(text) else text.replace("\r", "").replace("\n", "")
    try:
        return binascii.a2b_base64(compact, strict_mode=True)
    except ValueError as error:
        raise AttachmentRefused("is not valid Base64") from error
