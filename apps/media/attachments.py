"""Decode the Base64 attachments of request bodies."""

import binascii

from apps.ground.phrases import BLANK, larger_than


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
