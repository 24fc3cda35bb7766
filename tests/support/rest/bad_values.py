from tests.support.types import Json, JsonObject

DEEP = {depth: b'{"a":' + b"[" * depth + b"]" * depth + b"}" for depth in (33, 1_200, 100_000)}
MALFORMED = {
    "truncated": b'{"a": {"b": 1',
    "trailing comma": b'{"a": 1,}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "invalid utf-8": b'{"a": "\xff"}',
    "not a number": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "too many digits": b'{"a": ' + b"9" * 5_000 + b"}",
    "a key twice": b'{"a": {"b": 1, "b": 2}}',
    "two values": b"{} {}",
    **{f"{depth} deep": body for depth, body in DEEP.items()},
}
CONTENT_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
    "application/json; charset=utf-16",
    "application/json; charset=latin-1",
    "application/json; charset=bogus",
    "application/json; charset=idna",
    "application/json; charset=unicode_escape",
]
UNFIT_FILTERS = [
    ("since_id", "abc"),
    ("since_id", "-1"),
    ("since_id", str(2**63)),
    ("since_id", "１"),
    ("ids", "1,2,,"),
    ("ids", "x"),
    ("ids", ",".join(["1"] * 251)),
    ("created_at_min", "yesterday"),
    ("created_at_min", "2026-02-30"),
    ("updated_at_max", "9999-12-31T23:59:59-14:00"),
    ("updated_at_max", "1" * 1000),
    ("created_at_max", "1700000000"),
]
NO_ROW: JsonObject = {"null": None, "list": [], "text": "x", "number": 1}
NO_OBJECT = {"nothing": b"", "null": b"null", "list": b"[]", "text": b'"x"', "number": b"1"}
# Values that a database may refuse or change although the application accepts them: numbers, texts and times beyond the
# limits of a column, or values of another type.
EXTREMES: list[Json] = [
    True, 2**31, 2**63, 10**30, 1.5, "x" * 70_000, "１２", {"a": {"b": 1}}, "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
]  # fmt: skip
# The application refuses these values, or stores them like any other value.
STRANGE: list[Json] = [
    None, -1, "", " ", "1_0", " 7 ", [], {}, [[]], [{}], [None], "2026-02-30", "10000-01-01T00:00:00Z",
    "2026-06-30T23:59:60Z", "=1+1", "<script>", "../../etc/passwd", "https://127.0.0.1/",
]  # fmt: skip
WRONG_TYPES: list[Json] = [None, True, 2**63, [], {}, [{}], [[]]]
BAD_IDS = ["0", "-1", "9" * 30, "9" * 5000, str(2**63), "１", "1.json", "abc", "1%00", "01", "1/2"]
BAD_LIMITS = ["0", "-1", "abc", "1e3", "1_0", "", "１", "9" * 40]
BAD_PAGE_TOKENS = ["garbage", "", "a.b", "W10.W10", "é", "." * 500]
# Repeated to reach a text's maximum length: plain, emoji, combining, right-to-left and zero-width characters.
SCRIPTS = ["a", "😀", "e\u0301", "א", "a\u200b"]
