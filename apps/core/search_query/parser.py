"""Parse a query into a syntax tree, in linear time."""

import re
from functools import lru_cache

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.search_query.nodes import ESCAPABLE, And, Comparator, Kind, Node, Not, Or, Term

MAX_LENGTH = 4096
MAX_TERMS = 50
MAX_DEPTH = 20

_AT = define_message("query.position", "{problem} (position {position})")
_TOO_LONG = define_message("query.too_long", "The query is too long (maximum is {limit} characters).")
_TOO_DEEP = define_message("query.too_deep", "The query has too many nested parentheses (maximum is {limit}).")
_TOO_MANY = define_message("query.too_many", "The query has too many terms (maximum is {limit}).")

_UNSTORABLE_CHARACTER = define_text("query.unstorable_character", "The query contains a character that is not allowed.")
_EMPTY = define_text("query.empty", "The query is empty.")
_NOT_CLOSED = define_text("query.not_closed", "This parenthesis is not closed.")
_INCOMPLETE = define_text("query.incomplete", "The query ends where a term is expected.")
_WRONG_ASTERISK = define_text(
    "query.wrong_asterisk",
    "'*' is only allowed at the end of a value after ':', or as the whole value. Write \\* for the character itself.",
)
_TERM_EXPECTED = define_text("query.term_expected", "A field, a word or a group is expected here.")

_ESCAPE = re.compile(rf"\\([{ESCAPABLE}])")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that cannot be stored in the database or encoded as UTF-8."""

_KINDS = {
    "PRESENT": Kind.PRESENT,
    "WORD_PREFIX": Kind.PREFIX,
    "VALUE_PREFIX": Kind.PREFIX,
    "VALUE_SUFFIX": Kind.SUFFIX,
    "WORD": Kind.EXACT,
    "VALUE": Kind.EXACT,
    "QUOTED": Kind.EXACT,
}


class QuerySyntaxError(ValueError):
    """Raised when a string is not a valid query. ``position`` is the 0-based offset of the problem in characters."""

    def __init__(self, message: Message, position: int) -> None:
        super().__init__(_AT(problem=message, position=position))
        self.message = message
        self.position = position


@lru_cache(maxsize=1024)
def parse_query(text: str) -> Node:
    """Parse a filter. Results are cached per query string. A blank query is an error."""
    return _parse_limited(text, endings=False)


@lru_cache(maxsize=1024)
def parse_search(text: str) -> Node:
    """Parse a search, in which a value can also begin with an asterisk (``email:*@example.com``)."""
    return _parse_limited(text, endings=True)


def _parse_limited(text: str, *, endings: bool) -> Node:
    if len(text) > MAX_LENGTH:
        raise QuerySyntaxError(_TOO_LONG(limit=MAX_LENGTH), MAX_LENGTH)
    if unstorable := _UNSTORABLE.search(text):
        raise QuerySyntaxError(_UNSTORABLE_CHARACTER, unstorable.start())
    if not text.strip():
        raise QuerySyntaxError(_EMPTY, 0)
    return _build(text, endings=endings)


def _build(text: str, *, endings: bool) -> Node:
    """Feed the parser token by token, so that parsing stops at the token that exceeds a limit."""
    session = _PARSER.parse_interactive(text)
    opened: list[int] = []
    terms = 0
    try:
        for token in session.iter_parse():
            position = token.start_pos or 0
            if token.type == "LPAR":
                opened.append(position)
                if len(opened) > MAX_DEPTH:
                    raise QuerySyntaxError(_TOO_DEEP(limit=MAX_DEPTH), position)
            elif token.type == "RPAR" and opened:
                opened.pop()
            elif token.type in _KINDS:
                terms += 1
                _check_term(token, terms, text, endings=endings)
    except UnexpectedInput as error:
        position = error.pos_in_stream or 0
        raise QuerySyntaxError(_explain(text, position), position) from None
    try:
        tree: Node = session.feed_token(Token("$END", ""))
    except UnexpectedInput:
        if opened:
            raise QuerySyntaxError(_NOT_CLOSED, opened[-1]) from None
        raise QuerySyntaxError(_INCOMPLETE, len(text)) from None
    return tree


def _check_term(token: Token, number: int, text: str, *, endings: bool) -> None:
    position = token.start_pos or 0
    if number > MAX_TERMS:
        raise QuerySyntaxError(_TOO_MANY(limit=MAX_TERMS), position)
    if token.type == "VALUE_SUFFIX" and not endings:
        raise QuerySyntaxError(_explain(text, position), position)


_REASONS = {
    ":": define_text("query.wrong_colon", "':' needs a field name directly before it and a value directly after it."),
    "<": define_text("query.wrong_comparison", "Use ':', ':<', ':<=', ':>' or ':>=', directly followed by a value."),
    "-": define_text("query.wrong_minus", "'-' must be directly before a term or group."),
    ")": define_text(
        "query.not_opened", "This closing parenthesis has no opening parenthesis, or no term or value before it."
    ),
    '"': define_text(
        "query.quote_not_closed",
        "This quotation mark is not closed, or the closing quotation mark is directly followed by text.",
    ),
}
_REASONS |= {"'": _REASONS['"'], ">": _REASONS["<"], "=": _REASONS["<"]}


def _explain(text: str, position: int) -> Message:
    """Return an error message that explains the grammar at the character where the parser stopped."""
    if reason := _REASONS.get(text[position]):
        return reason
    if "*" in text[position:].split(maxsplit=1)[0]:
        return _WRONG_ASTERISK
    return _TERM_EXPECTED


@v_args(inline=True)
class _TreeBuilder(Transformer[Token, Node]):
    """A Lark transformer that builds the nodes during parsing, without recursion."""

    def conjunction(self, *operands: Node) -> Node:
        return operands[0] if len(operands) == 1 else And(operands)

    def disjunction(self, *operands: Node) -> Node:
        return operands[0] if len(operands) == 1 else Or(operands)

    def negation(self, operand: Node) -> Node:
        return Not(operand)

    def condition(self, name: Token, comparator: Token, value: Token) -> Node:
        return _build_term(name, comparator, value)

    def bare(self, value: Token) -> Node:
        return _build_term(None, Comparator.EQUAL, value)


def _strip_asterisk(value: Token, kind: Kind) -> str:
    return value[1:] if kind is Kind.SUFFIX else value.removesuffix("*") if kind is not Kind.EXACT else str(value)


def _build_term(name: Token | None, comparator: str, value: Token) -> Term:
    kind = _KINDS[value.type]
    quoted = value.type == "QUOTED"
    text = value[1:-1] if quoted else _strip_asterisk(value, kind)
    return Term(
        field=None if name is None else str(name),
        comparator=Comparator(comparator),
        value=_ESCAPE.sub(r"\1", text),
        kind=kind,
        quoted=quoted,
        position=(value if name is None else name).start_pos or 0,
    )


_PARSER = Lark.open(
    "grammar.lark",
    rel_to=__file__,
    parser="lalr",
    lexer="contextual",
    transformer=_TreeBuilder(),
    maybe_placeholders=False,
)
