"""Arithmetic of shell scripts: `$((...))` and the comparisons of `[ ... ]`."""

import ast
import operator
from collections.abc import Callable

from simcluster.controllers.shell_parser import NotUnderstood


def evaluate(text: str) -> int:
    """An arithmetic expression of whole numbers. Raises NotUnderstood."""
    try:
        tree = ast.parse(text.strip().replace("&&", " and ").replace("||", " or "), mode="eval")
        return _evaluated(tree.body)
    except (SyntaxError, ArithmeticError, ValueError, RecursionError, MemoryError):
        raise NotUnderstood(f"$(({text}))") from None


_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _evaluated(node: ast.expr) -> int:
    """Raises ValueError for what is no plain sum, or grows out of bounds."""
    match node:
        case ast.Constant(value=int(number)):
            value = int(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_evaluated(operand)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _OPERATORS:
            value = _OPERATORS[type(kind)](_evaluated(left), _evaluated(right))
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _OPERATORS:
            value = int(_OPERATORS[type(kind)](_evaluated(left), _evaluated(right)))
        case ast.BoolOp(op=kind, values=values):
            truths = [bool(_evaluated(each)) for each in values]
            value = int(all(truths) if isinstance(kind, ast.And) else any(truths))
        case _:
            raise ValueError("no plain sum")
    if abs(value) > 2**63:
        raise ValueError("too large")
    return value
