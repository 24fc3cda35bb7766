"""Parse the golden refund cases in ``golden.md``, and check the arithmetic of each case with exact numbers."""

import ast
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from apps.core.types import Attrs

TABLE = Path(__file__).parent / "golden.md"
_LINE = re.compile(
    r"(\d+) ([A-Z]) @ ([\d.]+)(?: off ([\d.]+))?(?: tax ([\d.]+))?(?: duty ([\d.]+))?(?: taxed ([\d.]+))?"
)
_POST = re.compile(r"post ([\d.]+)(?: tax ([\d.]+))?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class RefundStep:
    """The input of one refund."""

    units: tuple[tuple[str, int], ...]  # the letter and the refunded quantity of each line
    post: Decimal  # the shipping amount
    whole: tuple[str, ...] = ()  # lines with a full refund of duties
    share: tuple[str, ...] = ()  # lines with a proportional refund of duties


@dataclass(frozen=True)
class GoldenCase:
    """One case in the table."""

    name: str
    currency: str
    included: bool
    lines: tuple[Attrs, ...]  # ``letter``, ``quantity``, ``price``, ``off``, ``tax``, ``duty`` and ``taxed`` of each
    posts: tuple[dict[str, Decimal], ...]  # ``price`` and ``tax`` of each shipping line
    code: Decimal
    seen: tuple[str, Decimal] | None
    payments: tuple[tuple[Decimal | None, str], ...]  # amount and currency; an amount of None is the full balance
    steps: tuple[RefundStep, ...]
    expected: tuple[Decimal, Decimal, Decimal]  # subtotal, tax and shipping
    duties: tuple[Decimal, Decimal]  # expected duties and taxes on duties
    back: tuple[Decimal, ...]  # expected refund for each payment
    arithmetic: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def load_cases() -> list[GoldenCase]:
    results: list[GoldenCase] = []
    section = ""
    for text in TABLE.read_text().splitlines():
        if text.startswith("## "):
            section = text[3:]
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if text.startswith("|") and cells[0] not in {"case", "---"}:
            results.append(_case(section, cells))
    return results


def _case(section: str, cells: list[str]) -> GoldenCase:
    name, order, refund, outcome, arithmetic = cells
    head, *parts = [part.strip() for part in order.split(";")]
    currency, kind = head.split()
    lines, posts, code, observed = [], [], Decimal(0), None
    payments: list[tuple[Decimal | None, str]] = []
    for part in parts:
        if line := _LINE.fullmatch(part):
            quantity, letter, *amounts = line.groups("0")
            values = dict(zip(("price", "off", "tax", "duty", "taxed"), map(Decimal, amounts), strict=True))
            lines.append({"letter": letter, "quantity": int(quantity), **values})
        elif post := _POST.fullmatch(part):
            posts.append({"price": Decimal(post[1]), "tax": Decimal(post[2] or 0)})
        elif part.startswith("code "):
            code = Decimal(part[5:])
        elif part.startswith("seen "):
            word, rate = part[5:].split()
            observed = word, Decimal(rate)
        elif part == "paid":
            payments.append((None, currency))
        elif part != "unpaid":
            assert part.startswith("paid "), part
            payments += [_payment(word, currency) for word in re.findall(r"(?:[A-Z]{3} )?[\d.]+", part[5:])]
    sums, back = (half.strip() for half in outcome.split(";"))
    subtotal, tax, shipping, *duties = (Decimal(word) for word in sums.split(", "))
    duty, taxed = duties or (Decimal(0), Decimal(0))
    return GoldenCase(
        name=f"{section}: {name}",
        currency=currency,
        included=kind == "gross",
        lines=tuple(lines),
        posts=tuple(posts),
        code=code,
        seen=observed,
        payments=tuple(payments),
        steps=tuple(_step(words) for words in refund.split(" then ")),
        expected=(subtotal, tax, shipping),
        duties=(duty, taxed),
        back=tuple(Decimal(word) for word in back.removeprefix("back").split()),
        arithmetic=tuple(arithmetic.split("; ")),
    )


def _payment(words: str, currency: str) -> tuple[Decimal, str]:
    label, _, amount = words.rpartition(" ")
    return Decimal(amount), label or currency


def _step(words: str) -> RefundStep:
    units, post = [], Decimal(0)
    duties: dict[str, list[str]] = {"duty": [], "share": []}
    for part in words.split(", "):
        if part.startswith("post "):
            post = Decimal(part[5:])
        elif part.startswith(("duty ", "share ")):
            kind, letter = part.split()
            duties[kind].append(letter)
        else:
            count, letter = part.split()
            units.append((letter, int(count)))
    return RefundStep(tuple(units), post, tuple(duties["duty"]), tuple(duties["share"]))


def find_wrong_arithmetic(case: GoldenCase) -> list[str]:
    """Return a message for each wrong equation in a case, and for each expected amount that no equation calculates."""
    wrong, reached = [], set[Decimal]()
    for statement in case.arithmetic:
        left_side, sign, right = re.split(r" ([=≈]) ", statement)
        exact, fraction = _value(left_side), Fraction(right)
        if sign == "≈":
            scale = 10 ** len(right.partition(".")[2])
            exact = Fraction(int(exact * scale + Fraction(1, 2)), scale)
        if exact != fraction:
            wrong.append(f"{statement}: it is {float(exact)}")
        reached.add(Decimal(right))
    amounts = (*case.expected, *case.duties, *case.back)
    return wrong + [f"{amount} is not worked out" for amount in amounts if amount and amount not in reached]


def _value(text: str) -> Fraction:
    plain = text.replace("×", "*").replace("−", "-")
    return _evaluated(ast.parse(_NUMBER.sub(lambda match: repr(match[0]), plain), mode="eval").body)


def _evaluated(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant):
        return Fraction(str(node.value))
    assert isinstance(node, ast.BinOp)
    left_operand, right = _evaluated(node.left), _evaluated(node.right)
    match node.op:
        case ast.Add():
            return left_operand + right
        case ast.Sub():
            return left_operand - right
        case ast.Mult():
            return left_operand * right
        case ast.Div():
            return left_operand / right
    raise AssertionError(ast.dump(node))
