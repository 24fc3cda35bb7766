"""Decode the Base64 attachments of request bodies."""

import binascii

from apps.core.i18n.error_messages import BLANK, is_larger_than


class AttachmentRefused(ValueError):
    """Raised when an attachment cannot be decoded. The message continues a sentence that starts with "Attachment"."""


def decode_attachment(text: object, max_bytes: int) -> bytes:
    """Decode strict Base64 text in the standard alphabet, with padding.

    Line breaks are allowed, because many clients wrap lines as in MIME. All other characters outside the alphabet are
    rejected.

    Raises:
        AttachmentRefused: The value is empty, is not a string, is a data URL, is not strict Base64, or is larger than
            `max_bytes` when decoded. The size is checked before any data is decoded.
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
        raise AttachmentRefused(is_larger_than(max_bytes))

    compact = text if length == len(text) else text.replace("\r", "").replace("\n", "")
    try:
        return binascii.a2b_base64(compact, strict_mode=True)
    except ValueError as error:
        raise AttachmentRefused("is not valid Base64") from error
