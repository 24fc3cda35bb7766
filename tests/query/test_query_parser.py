from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.search_query import (
    And,
    Comparator,
    Kind,
    Node,
    Not,
    Or,
    QuerySyntaxError,
    Term,
    iterate_terms,
    parse_query,
    parse_search,
    parser,
    render_query,
)
from apps.core.search_query.multiword_values import expand_multiword_values
from tests.support.function_calls import count_calls

GOLDEN = (
    "id:* AND status:active AND (product_type:Music OR product_type:Movies) AND -invalid_field:* "
    "AND variants.taxable:true AND variants.weight:<5 AND variants.price:>=100 AND variants.title:Album*"
)


def build_equality(field: str | None, value: str, kind: Kind = Kind.EXACT, *, quoted: bool = False) -> Term:
    return Term(field, Comparator.EQUAL, value, kind, quoted)


A, B, C = build_equality("a", "1"), build_equality("b", "2"), build_equality("c", "3")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            GOLDEN,
            And(
                (
                    build_equality("id", "", Kind.PRESENT),
                    build_equality("status", "active"),
                    Or((build_equality("product_type", "Music"), build_equality("product_type", "Movies"))),
                    Not(build_equality("invalid_field", "", Kind.PRESENT)),
                    build_equality("variants.taxable", "true"),
                    Term("variants.weight", Comparator.LESS, "5"),
                    Term("variants.price", Comparator.GREATER_OR_EQUAL, "100"),
                    build_equality("variants.title", "Album", Kind.PREFIX),
                )
            ),
        ),
        ("a:1 AND b:2 OR c:3", And((A, Or((B, C))))),
        ("a:1 OR b:2 AND c:3", And((Or((A, B)), C))),
        ("a:1 b:2 OR c:3", And((A, Or((B, C))))),
        ("(a:1 AND b:2) OR c:3", Or((And((A, B)), C))),
        ("a:1 (b:2 c:3)", And((A, And((B, C))))),
        ("((a:1))", A),
        ("NOT a:1 b:2", And((Not(A), B))),
        ("-a:1 OR b:2", Or((Not(A), B))),
        ("-(a:1 OR b:2)", Not(Or((A, B)))),
        ("NOT (a:1)", Not(A)),
        (" \ta:1\n", A),
        ("a:<5", Term("a", Comparator.LESS, "5")),
        ("a:<=5", Term("a", Comparator.LESS_OR_EQUAL, "5")),
        ("a:>5", Term("a", Comparator.GREATER, "5")),
        ("a:>='2026-03-02 10:00'", Term("a", Comparator.GREATER_OR_EQUAL, "2026-03-02 10:00", quoted=True)),
        ("a:>2026-03-02T10:00:00Z", Term("a", Comparator.GREATER, "2026-03-02T10:00:00Z")),
        ("variants.title:'The Miseducation of'", build_equality("variants.title", "The Miseducation of", quoted=True)),
        ('a:"it\'s \\"so\\""', build_equality("a", 'it\'s "so"', quoted=True)),
        ("a:''", build_equality("a", "", quoted=True)),
        ("a:'b*'", build_equality("a", "b*", quoted=True)),
        (r"a:b\*", build_equality("a", "b*")),
        (r"a:b\:\(c\)\\", build_equality("a", r"b:(c)" + "\\")),
        (r"a:c\d", build_equality("a", r"c\d")),
        (r"a:New\ York*", build_equality("a", "New York", Kind.PREFIX)),
        ("a:AND", build_equality("a", "AND")),
        ("AND:1", build_equality("AND", "1")),
        ("a:-5", build_equality("a", "-5")),
        ("a:%_", build_equality("a", "%_")),
        ("straße:größe", build_equality("straße", "größe")),
        ("O'Brien", build_equality(None, "O'Brien")),
        ("bob*", build_equality(None, "bob", Kind.PREFIX)),
        ("*", build_equality(None, "", Kind.PRESENT)),
        ("'Bob Norman'", build_equality(None, "Bob Norman", quoted=True)),
        ('"AND"', build_equality(None, "AND", quoted=True)),
        ("ANDy", build_equality(None, "ANDy")),
        ("🎉", build_equality(None, "🎉")),
    ],
)
def test_parse_reads_terms_and_binds_not_before_or_before_and(text: str, tree: Node) -> None:
    assert parse_query(text) == tree


def test_parse_notes_where_terms_start_and_caches_by_text() -> None:
    text = "a:1  -(b:2 OR bob) '🎉'"

    assert [term.position for term in iterate_terms(parse_query(text))] == [0, 7, 14, 19]
    assert parse_query(text) is parse_query(text)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "The query is empty."),
        (" \t ", 0, "The query is empty."),
        (":::", 0, "':' needs a field name directly before it"),
        ("a::b", 2, "':' needs"),
        ("a: b", 1, "':' needs"),
        ("x a:", 3, "':' needs"),
        ("bob@example:x", 11, "':' needs"),
        ("a:=5", 2, "Use ':', ':<'"),
        ("a:<>5", 3, "Use ':', ':<'"),
        ("a:> 5", 1, "':' needs"),
        ("(a:)", 3, "or no term or value before it"),
        ("a:>5*", 3, "'*' is only allowed at the end of a value"),
        ("a:>*", 3, "'*' is only allowed at the end of a value"),
        ("b a*a*a*a*b", 2, "'*' is only allowed at the end of a value"),
        ("a:*b", 2, "'*' is only allowed at the end of a value"),
        ("'abc", 0, "This quotation mark is not closed"),
        ("a:'b'c", 2, "This quotation mark is not closed"),
        (r"a:'b\'", 2, "This quotation mark is not closed"),
        ("-", 0, "'-' must be directly before"),
        ("- a", 0, "'-' must be directly before"),
        ("--a", 1, "'-' must be directly before"),
        ("NOT -a", 4, "'-' must be directly before"),
        ("a)", 1, "This closing parenthesis has no opening parenthesis"),
        ("()", 1, "This closing parenthesis has no opening parenthesis"),
        ("(((a)", 1, "This parenthesis is not closed."),
        ("AND", 0, "A field, a word or a group is expected here."),
        ("a AND AND b", 6, "A field, a word or a group is expected here."),
        ("OR a", 0, "A field, a word or a group is expected here."),
        ("a OR", 4, "The query ends where a term is expected."),
        ("NOT", 3, "The query ends where a term is expected."),
        ("email:*@example.com", 6, "'*' is only allowed at the end of a value"),
        ("a OR b:*x", 7, "'*' is only allowed at the end of a value"),
        ("a\0b", 1, "not allowed"),
        ("a \ud800", 2, "not allowed"),
    ],
)
def test_parse_refuses_what_is_no_query_and_says_where(text: str, position: int, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as error_info:
        parse_query(text)

    assert error_info.value.position == position
    assert message in error_info.value.message
    assert str(error_info.value) == f"{error_info.value.message} (position {position})"


@pytest.mark.parametrize(
    ("longest", "too_much", "position"),
    [
        ("a" * 4096, "a" * 4097, 4096),
        ("a " * 50, "a " * 51, 100),
        ("(" * 20 + "a" + ")" * 20, "(" * 21 + "a" + ")" * 21, 20),
        ("-(" * 20 + "a" + ")" * 20, "(" * 1000, 20),
    ],
)
def test_parse_holds_its_limits_to_the_character(longest: str, too_much: str, position: int) -> None:
    parse_query(longest)

    with pytest.raises(QuerySyntaxError, match="maximum is") as error_info:
        parse_query(too_much)

    assert error_info.value.position == position


def test_a_filter_never_reads_on_beyond_its_value() -> None:
    assert parse_query("country:United States") == And(
        (build_equality("country", "United"), build_equality(None, "States"))
    )


@pytest.mark.parametrize(("text", "value"), [("a:*@b.c", "@b.c"), (r"a:*b\*", "b*"), ("a:*b:c", "b:c")])
def test_a_search_takes_the_end_of_a_value(text: str, value: str) -> None:
    assert parse_search(text) == Term("a", Comparator.EQUAL, value, Kind.SUFFIX)
    assert parse_search(render_query(parse_search(text))) == parse_search(text)


@pytest.mark.parametrize("text", ["*b", "a:*b*", "a:**", "a:* b:*c*", "a:>*b"])
def test_a_search_refuses_asterisks_elsewhere(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse_search(text)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("t:a b", '(t:a b) OR t:"a b"'),
        ("t:a b c", '(t:a b c) OR (t:"a b" c) OR t:"a b c"'),
        ("x t:a b n:1 c", 'x AND ((t:a b) OR t:"a b") AND n:1 AND c'),
        ("n:1 b", "n:1 b"),
        ("t:a AND b", "t:a b"),
        ("t:'a' b", "t:'a' b"),
        ("t:a 'b'", "t:a 'b'"),
        ("t:a* b", "t:a* b"),
        ("t:a b*", "t:a b*"),
        ("(t:a) b", "t:a b"),
        ("-t:a b", "-t:a b"),
        ("t:a b OR c", "t:a (b OR c)"),
        ("x OR t:a b", '((x OR t:a) b) OR (x OR t:"a b")'),
        ("(t:a b)", '(t:a b) OR t:"a b"'),
    ],
)
def test_a_value_goes_on_over_the_next_words(text: str, readings: str) -> None:
    def plain(node: Node) -> object:
        """Return a comparable form of the node that ignores quotes."""
        if isinstance(node, Term):
            return node.field, node.value, node.kind
        if isinstance(node, Not):
            return "not", plain(node.operand)
        return type(node).__name__, *map(plain, node.operands)

    assert plain(expand_multiword_values(parse_query(text), text, {"t"})) == plain(parse_query(readings))


def test_a_value_of_many_words_gives_few_readings() -> None:
    text = "t:a " + "b " * 49

    assert len(list(iterate_terms(expand_multiword_values(parse_query(text), text, {"t"})))) <= 60


@given(st.one_of(st.text(), st.text(alphabet="ab:<>=*()'\"\\- ANDORT.%_\n\u2028é")))
def test_parse_raises_nothing_but_syntax_errors(text: str) -> None:
    tree, position = None, 0
    try:
        tree = parse_query(text)
    except QuerySyntaxError as error:
        position = error.position

    assert 0 <= position <= len(text)
    assert tree is None or parse_query(render_query(tree)) == tree


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
SOLID = WORDS.filter(lambda word: not any(character.isspace() for character in word))
FIELDS = st.from_regex(r"[a-z0-9_]\w{0,5}(?:\.[a-z][a-z-]{0,3}){0,2}", fullmatch=True)
TERMS = st.one_of(
    st.builds(Term, st.none() | FIELDS, st.just(Comparator.EQUAL), WORDS | st.just(""), quoted=st.just(value=True)),
    st.builds(
        Term,
        st.none() | FIELDS,
        st.just(Comparator.EQUAL),
        SOLID.filter(lambda word: word not in {"AND", "OR", "NOT"}),
        st.sampled_from((Kind.EXACT, Kind.PREFIX)),
    ),
    st.builds(Term, FIELDS, st.sampled_from(Comparator), SOLID),
    st.builds(Term, st.none() | FIELDS, st.just(Comparator.EQUAL), st.just(""), st.just(Kind.PRESENT)),
)


def combine_nodes(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    groups = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(Not, children), st.builds(And, groups), st.builds(Or, groups))


@given(st.recursive(TERMS, combine_nodes, max_leaves=20))
def test_render_and_parse_are_inverse(tree: Node) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "MAX_DEPTH", 1000)

        assert parse_query.__wrapped__(render_query(tree)) == tree


@pytest.mark.parametrize("unit", ["a ", "a:b OR ", "-a:'b c' ", "NOT (a:>1) AND ", "a.b.c:x* "])
def test_parse_takes_steps_in_proportion_to_the_terms(unit: str) -> None:
    uncached = parse_query.__wrapped__
    once, twice = (unit * count + "a" for count in (24, 48))
    uncached(once)

    first, second = count_calls(lambda: uncached(once)), count_calls(lambda: uncached(twice))

    assert second <= 2.05 * first


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit",
    [
        *("a", "a.", "a:", "\\", "\\'", "'", "'\\'", '"', "(", ")"),
        *("*", "a*", "-", "a-", ":", " ", "\\:", "%", "é", "(a+)+$"),
    ],
)
@pytest.mark.parametrize("head", ["", "a:", "a:'"])
def test_parse_reads_long_texts_without_going_back(monkeypatch: pytest.MonkeyPatch, head: str, unit: str) -> None:
    """Check texts for which a backtracking lexer would need 10**12 steps."""
    monkeypatch.setattr(parser, "MAX_LENGTH", 10**7)
    text = head + unit * 1_000_000

    with suppress(QuerySyntaxError):
        parse_query.__wrapped__(text)
