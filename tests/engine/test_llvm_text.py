"""Kernels as LLVM compiles them: the same numbers as in Python, and what they may not hold is refused."""

import ast
import math
import textwrap

import numpy as np
import pytest

from ctpwa.engine.backends.cpu.threads import ThreadedKernel
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.codegen.llvm_text import llvm_text
from ctpwa.engine.codegen.llvm_values import Argument
from ctpwa.model.lineshapes.functions import FUNCTIONS

HEAD = "import math\n\nimport numpy as np\n\nSIZE = 3\n\n\n"


def kernel(body, names):
    return load_generated("tried", f"{HEAD}def f({', '.join(names)}, part, n_parts):\n{textwrap.indent(textwrap.dedent(body), '    ')}").f


def same(body, *arguments, parts=1):
    """Arguments are a0, a1, … and out; what is in the last one afterwards, the same in Python and compiled."""
    own = kernel(body, [*(f"a{k}" for k in range(len(arguments) - 1)), "out"])
    expected, out = arguments[-1].copy(), arguments[-1].copy()
    for part in range(parts):
        own(*arguments[:-1], expected, part, parts)
    ThreadedKernel(own, None)(parts, *arguments[:-1], out)
    np.testing.assert_allclose(out, expected, rtol=1e-15, atol=1e-15)  # a product and a sum may be one operation
    return out


X = np.array([0.3, 1.7, 2.2, 5.0])


@pytest.mark.parametrize(
    "expression",
    [
        "x + 2 * x - 0.1",
        "-x / 3",
        "-(x * x) + SIZE",
        "i - 7",
        "(i + 9) // 4 * x",
        "-i + 1e-300",
        "1 / (i + 1)",
        "abs(1.0 - x)",
        "min(i, 2) * 1.0",
        "(x if x > 2.0 else -x)",
        "(x if (x > 1.0) & (x < 2.1) else (0.0 if (i == 3) | (i != 1) else 5.0))",
        "(1.5 if i <= 1 else 2.5) - (x if x >= 1.7 else 0.25)",
    ],
)
def test_expressions(expression):
    same(f"for i in range(out.shape[0]):\n    x = a0[i]\n    out[i] = {expression}\n", X, np.zeros(4))


@pytest.mark.parametrize("name", [*FUNCTIONS, "sqrt"])
def test_functions(name):
    code = FUNCTIONS[name].python if name in FUNCTIONS else "math.sqrt"
    found = same(f"for i in range(out.shape[0]):\n    out[i] = {code}(a0[i])\n", X, np.zeros(4))
    np.testing.assert_allclose(found, [getattr(math, name)(x) for x in X], rtol=1e-15)


def test_division_by_zero_gives_infinity():
    out = np.zeros(3)
    own = kernel("out[0], out[1], out[2] = 1.0 / a[0], -1.0 / a[0], a[0] / a[0]\n", ["a", "out"])
    ThreadedKernel(own, None)(1, np.zeros(1), out)
    np.testing.assert_array_equal(out, [np.inf, -np.inf, np.nan])


def test_only_what_is_chosen_is_computed():
    """An integer divided by 0 would end the program."""
    found = same("out[0] = (7 // a0 * a0 if a0 > 1 else 5) + 0.0\n", 0, np.zeros(1))
    assert found == [5.0]
    assert same("out[0] = (7 // a0 * a0 if a0 > 1 else 5) + 0.0\n", 3, np.zeros(1)) == [6.0]


def test_loops_and_conditions():
    body = """
    total = 0.0
    for i in range(2, a0.shape[0], 2):
        if a0[i] > 3.0:
            total += 100.0
            continue
        for j in range(i):
            if j == 1:
                continue
            total += j * a0[i]
        if i == 2:
            total -= 1
        elif i == 4:
            total *= 2.0
        else:
            total /= 3.0
    for j in range(0):
        total = 0.0
    out[0] = total + i
    """
    same(body, np.array([1.0, 2.0, 0.5, 7.0, 1.5, 1.0, 9.0, 1.0, 2.5]), np.zeros(1))


def test_a_tuple_is_assigned_at_once():
    assert same("a, b = 1.0, 2.0\na, b = b, a\nout[0], out[1] = a, b\n", np.zeros(2)).tolist() == [2.0, 1.0]


def test_changing_what_a_range_was_made_of_changes_no_loop():
    same("n = 4\nfor i in range(n):\n    n = 2\n    i = 3\n    out[0] += i + n\n", np.zeros(1))


def test_arrays_of_several_dimensions():
    body = """
    buffer, more = np.zeros((a0.shape[1], SIZE)), np.empty(SIZE)
    for r in range(a0.shape[0]):
        for c in range(a0.shape[1]):
            buffer[c, r] += a0[r, c, 1] * a1[c]
    for r in range(SIZE):
        more[r] = 0.0
        for c in range(a0.shape[1]):
            more[r] += buffer[c, r]
        out[r, part] = more[r]
    """
    random = np.random.default_rng(1)
    same(body, random.normal(size=(3, 5, 2)), np.arange(1, 6), np.zeros((3, 2)), parts=2)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_other_numbers(dtype):
    """In single precision they are widened before anything is computed."""
    given = np.array([1 / 3, 0.1]).astype(dtype)
    given = given if dtype == "float32" else given + np.array([0.7j, -0.2j]).astype(dtype)
    line = "out[i] = k.real * 3.0 - k.imag" if dtype.startswith("complex") else "out[i] = k * 3.0"
    found = np.zeros(2)
    own = kernel(f"for i in range(2):\n    k = a[i]\n    {line}\n", ["a", "out"])
    ThreadedKernel(own, None)(1, given, found)
    wide = given.astype(complex)
    np.testing.assert_allclose(found, wide.real * 3.0 - wide.imag, rtol=1e-15)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("while x[0] > 1.0: x[0] = 0.0", "while x"),
        ("x[0] = y", "'y', in line 2"),
        ("x[0] = x[0] ** 2.0", "Pow"),
        ("x[0] = x[0] // 2.0", "FloorDiv"),
        ("x[0] = x[0, 0]", "x[0, 0]"),
        ("x[0] = x[0.5]", "x[0.5]"),
        ("x[0] = x", "x[0]"),
        ("x[0] = sorted(x)", "sorted(x)"),
        ("x[0] = 1.0 if x[0] > 0.0 and x[0] < 1.0 else 0.0", "and"),
        ("x[0] = 1.0 if 0.0 < x[0] < 1.0 else 0.0", "0.0 < x[0] < 1.0"),
        ("n = 1\n    n = 0.5", "n"),
        ("x[0] = 1 if x[0] > 0.0 else 0.5", "if x[0] > 0.0"),
        ("x[0] = True", "True"),
        ("x[0] = math.pi", "math.pi"),
        ("x = 1", "x"),
    ],
)
def test_what_a_kernel_may_not_hold_is_refused(line, found):
    (function,) = ast.parse(f"def f(x, part, n_parts):\n    {line}\n").body
    with pytest.raises(TypeError, match="kernels cannot hold") as error:
        llvm_text(function, {}, [Argument("float64", 1)], "entry")
    assert found in str(error.value)
