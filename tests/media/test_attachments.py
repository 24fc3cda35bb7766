"""Tests that Base64 attachments are decoded strictly and never beyond the size limit."""

import base64
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.media.attachments import AttachmentRefused, AttachmentTooLarge, decode_attachment

LIMIT = 20 * 1024 * 1024


@given(data=st.binary(min_size=1, max_size=200))
def test_attachment_decodes_what_was_encoded(data: bytes) -> None:
    assert decode_attachment(base64.b64encode(data).decode(), len(data)) == data


@pytest.mark.parametrize("encode", [base64.encodebytes, lambda data: base64.encodebytes(data).replace(b"\n", b"\r\n")])
def test_attachment_may_have_line_breaks(encode: object) -> None:
    data = bytes(range(256))
    assert callable(encode)

    assert decode_attachment(encode(data).decode(), len(data)) == data


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "can't be blank"),
        ("\n\r\n", "can't be blank"),
        ("data:image/png;base64,iVBORw0=", "data: prefix"),
        ("DATA:,x", "data: prefix"),
        ("aGVsbG8", "not valid Base64"),
        ("aGVsbG8==", "not valid Base64"),
        ("aGVsbG8=x", "not valid Base64"),
        ("aGVsbG8=aGVsbG8=", "not valid Base64"),
        ("=aGVsbG8", "not valid Base64"),
        ("aGVs bG8=", "not valid Base64"),
        ("aGVs\tbG8=", "not valid Base64"),
        ("aGVs-_8=", "not valid Base64"),
        ("aGVs*G8=", "not valid Base64"),
        ("aGVs\u00e9G8=", "not valid Base64"),
        ("aGVs\0G8=", "not valid Base64"),
        ("\ud800GVsbG8=", "not valid Base64"),
        ("a", "not valid Base64"),
        ("====", "not valid Base64"),
        (None, "must be a Base64 string"),
        (17, "must be a Base64 string"),
        (["aGVsbG8="], "must be a Base64 string"),
        (b"aGVsbG8=", "must be a Base64 string"),
    ],
)
def test_attachment_is_refused(text: object, reason: str) -> None:
    with pytest.raises(AttachmentRefused, match=reason):
        decode_attachment(text, LIMIT)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_attachment_of_exactly_the_limit_is_accepted(size: int) -> None:
    text = base64.encodebytes(bytes(size)).decode()

    assert decode_attachment(text, size) == bytes(size)
    with pytest.raises(AttachmentTooLarge, match=f"^is larger than {size - 1} bytes$"):
        decode_attachment(text, size - 1)


def test_attachment_of_30_mib_is_refused_without_decoding() -> None:
    text = base64.b64encode(bytes(30 * 1024 * 1024)).decode()
    tracemalloc.start()

    with pytest.raises(AttachmentTooLarge, match=r"^is larger than 20 MiB$"):
        decode_attachment(text, LIMIT)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1024 * 1024
