"""From kernels in Python to the language of LLVM.

Generated kernels hold little of Python: loops over ranges, conditions, numbers, and contiguous arrays that do not overlap. What an
operation is follows from that at once, where a compiler for all of Python takes a millisecond to find out. All else is refused.

Integers have 64 bits; none that is divided is negative, and positions do not count from the end. Reals are in double precision: what an
array holds in single precision is widened as it is read. A complex number is read as a whole, and used by its parts.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctpwa.engine.codegen.llvm_values import (
    ALIGNED,
    ARITHMETIC,
    BOOL,
    COMPARISONS,
    ELEMENTS,
    FAST,
    INT,
    INTRINSICS,
    REAL,
    Argument,
    Array,
    Complex,
    Number,
    Value,
    real_constant,
)


def llvm_text(function: ast.FunctionDef, constants: Mapping[str, int], arguments: Sequence[Argument], entry: str) -> str:
    """A module with a function ``void entry(i64 address, i64 part, i64 n_parts)``.

    Args:
        function:   the kernel, whose last two arguments are the part and their number
        constants:  integers of its module
        arguments:  all others; at the address there is a table of them: an integer, or the address and the shape of an array
        entry:      its name
    """
    return _Kernel(dict(constants)).module(function, arguments, entry)


@dataclass
class _Kernel:
    """The text of one kernel.

    Attributes:
        constants:  integers by name
        lines:      instructions so far
        slots:      places of variables, made when the kernel begins; LLVM turns them into registers
        variables:  name → the place of a number, or what another name stands for
        declared:   functions that are called
        buffers:    memory that is given back at the end
    """

    constants: dict[str, int]
    lines: list[str] = field(default_factory=list)
    slots: list[str] = field(default_factory=list)
    variables: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, None] = field(default_factory=dict)
    buffers: list[str] = field(default_factory=list)
    _n: int = 0
    _block: str = ".begin"
    _latches: list[str] = field(default_factory=list)

    # the function

    def module(self, function: ast.FunctionDef, arguments: Sequence[Argument], entry: str) -> str:
        """The kernel, and the function that reads its arguments from the table."""
        names = [argument.arg for argument in function.args.args]
        table = [entry for name, argument in zip(names[:-2], arguments, strict=True) for entry in self._parameter(name, argument)]
        table_and_part = [*table, *(own for name in names[-2:] for own in self._parameter(name, Argument(None)))]
        for line in function.body:
            self._statement(line)
        for buffer in self.buffers:
            self._declare("void @free(ptr)")
            self.lines.append(f"call void @free(ptr {buffer})")
        parameters = ", ".join(f"{'ptr noalias' if kind == 'ptr' else kind} {name}" for kind, name in table_and_part)
        begin = [*self.declared, f"define internal void @kernel({parameters}) noinline nounwind {{", ".begin:"]
        return "\n".join([*begin, *self.slots, *self.lines, "ret void", "}", *_entry(entry, [kind for kind, _ in table])])

    def _parameter(self, name: str, argument: Argument) -> list[tuple[str, str]]:
        """The parameters that stand for an argument: their types and names."""
        if argument.dtype is None:
            self.slots += [f"%{name}.slot = alloca i64", f"store i64 %{name}, ptr %{name}.slot"]
            self.variables[name] = Number(INT, f"%{name}.slot")
            return [(INT, f"%{name}")]
        shape = tuple(Number(INT, f"%{name}.{k}") for k in range(argument.n_dimensions))
        self.variables[name] = Array(f"%{name}", *ELEMENTS[argument.dtype], shape)
        return [("ptr", f"%{name}"), *((INT, size.code) for size in shape)]

    # what is written

    def _new(self, code: str) -> str:
        self._n += 1
        self.lines.append(f"%.{self._n} = {code}")
        return f"%.{self._n}"

    def _label(self) -> str:
        self._n += 1
        return f".block{self._n}"

    def _begin(self, label: str) -> None:
        """What follows is in a block of its own."""
        self.lines.append(f"{label}:")
        self._block = label

    def _jump(self, label: str) -> None:
        self.lines.append(f"br label %{label}")

    def _branch(self, condition: Number, yes: str, no: str) -> None:
        self.lines.append(f"br i1 {condition.code}, label %{yes}, label %{no}")

    def _declare(self, declaration: str) -> None:
        self.declared[f"declare {declaration}"] = None

    # statements

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]):
                self._assign_all(target, node.value)
            case ast.AugAssign(target=target, op=op):
                self._store(target, self._operation(op, self._number(target), self._number(node.value)))
            case ast.For(target=ast.Name() as name, iter=ast.Call(func=ast.Name(id="range"), args=limits), orelse=[]):
                self._loop(name, [self._number(limit) for limit in limits], node.body)
            case ast.If():
                self._if(node)
            case ast.Continue():
                self._jump(self._latches[-1])
                self._begin(self._label())  # which nothing reaches
            case ast.Expr(value=ast.Constant(value=str())):
                pass  # a docstring
            case _:
                raise _unknown(node)

    def _assign_all(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            found = [self._value(each) for each in value.elts]
            for each, own in zip(target.elts, found, strict=True):
                self._store(each, own)
        else:
            self._store(target, self._value(value))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value, target)
            return
        if not isinstance(target, ast.Subscript) or not isinstance(value, Number):
            raise _unknown(target)
        array, place = self._place(target)
        if array.parts > 1:
            raise _unknown(target)
        self._write(value, array.kind, place, target)

    def _assign(self, name: str, value: Value, node: ast.AST) -> None:
        if not isinstance(value, Number):
            self.variables[name] = value
            return
        if name not in self.variables:
            self.slots.append(f"%{name}.slot = alloca {value.kind}")
            self.variables[name] = Number(value.kind, f"%{name}.slot")
        place = self.variables[name]
        if not isinstance(place, Number):
            raise _unknown(node)
        self._write(value, place.kind, place.code, node)

    def _write(self, value: Number, kind: str, place: str, node: ast.AST) -> None:
        value = self._real(value) if kind == REAL else value
        if value.kind != kind:
            raise _unknown(node)
        self.lines.append(f"store {kind} {value.code}, ptr {place}")

    def _loop(self, name: ast.Name, limits: Sequence[Number], body: Sequence[ast.stmt]) -> None:
        first, stop = (Number(INT, "0"), limits[0]) if len(limits) == 1 else limits[:2]
        step = limits[2] if len(limits) == 3 else Number(INT, "1")
        head, inside, latch, after = (self._label() for _ in range(4))
        counter = f"%{head}.counter"
        self.slots.append(f"{counter} = alloca i64")
        self.lines.append(f"store i64 {first.code}, ptr {counter}")
        self._jump(head)
        self._begin(head)
        here = Number(INT, self._new(f"load i64, ptr {counter}"))
        self._branch(Number(BOOL, self._new(f"icmp slt i64 {here.code}, {stop.code}")), inside, after)
        self._begin(inside)
        self._assign(name.id, here, name)
        self._latches.append(latch)
        for line in body:
            self._statement(line)
        self._latches.pop()
        self._jump(latch)
        self._begin(latch)
        following = self._new(f"add nsw i64 {here.code}, {step.code}")
        self.lines.append(f"store i64 {following}, ptr {counter}")
        self._jump(head)
        self._begin(after)

    def _if(self, node: ast.If) -> None:
        yes, no, after = (self._label() for _ in range(3))
        self._branch(self._number(node.test), yes, no)
        for label, body in ((yes, node.body), (no, node.orelse)):
            self._begin(label)
            for line in body:
                self._statement(line)
            self._jump(after)
        self._begin(after)

    # values

    def _number(self, node: ast.expr) -> Number:
        value = self._value(node)
        if not isinstance(value, Number):
            raise _unknown(node)
        return value

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool()):
                raise _unknown(node)
            case ast.Constant(value=int() as number):
                return Number(INT, str(number))
            case ast.Constant(value=float() as number):
                return real_constant(number)
            case ast.Name(id=name):
                return self._variable(name, node)
            case ast.BinOp():
                return self._operation(node.op, self._number(node.left), self._number(node.right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(self._number(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._comparison(op, self._number(left), self._number(right))
            case ast.IfExp():
                return self._choice(node)
            case ast.Attribute(value=ast.Name(id=name), attr=("real" | "imag") as part):
                value = self.variables.get(name)
                if isinstance(value, Complex):
                    return value.real if part == "real" else value.imag
            case ast.Subscript(value=ast.Attribute(value=ast.Name() as name, attr="shape"), slice=ast.Constant(value=int() as k)):
                return self._array(name).shape[k]
            case ast.Subscript():
                return self._element(node)
            case ast.Call():
                return self._call(node)
        raise _unknown(node)

    def _variable(self, name: str, node: ast.expr) -> Value:
        if name in self.constants:
            return Number(INT, str(self.constants[name]))
        if name not in self.variables:
            raise _unknown(node)
        value = self.variables[name]
        return Number(value.kind, self._new(f"load {value.kind}, ptr {value.code}")) if isinstance(value, Number) else value

    def _real(self, value: Number) -> Number:
        if value.kind == INT:
            return Number(REAL, self._new(f"sitofp i64 {value.code} to double"))
        return value

    def _operation(self, op: ast.operator, a: Number, b: Number) -> Number:
        of_integers, of_reals = ARITHMETIC.get(type(op), ("", ""))
        if a.kind == BOOL == b.kind and of_integers in ("and", "or"):
            return Number(BOOL, self._new(f"{of_integers} i1 {a.code}, {b.code}"))
        if a.kind == INT == b.kind and of_integers:
            return Number(INT, self._new(f"{of_integers} i64 {a.code}, {b.code}"))
        if BOOL in (a.kind, b.kind) or not of_reals:
            raise _unknown(op)
        return Number(REAL, self._new(f"{of_reals} {FAST} double {self._real(a).code}, {self._real(b).code}"))

    def _negative(self, a: Number) -> Number:
        if a.kind == INT:
            return Number(INT, self._new(f"sub nsw i64 0, {a.code}"))
        return Number(REAL, self._new(f"fneg {FAST} double {a.code}"))

    def _comparison(self, op: ast.cmpop, a: Number, b: Number) -> Number:
        if type(op) not in COMPARISONS or BOOL in (a.kind, b.kind):
            raise _unknown(op)
        of_integers, of_reals = COMPARISONS[type(op)]
        if a.kind == INT == b.kind:
            return Number(BOOL, self._new(f"icmp {of_integers} i64 {a.code}, {b.code}"))
        return Number(BOOL, self._new(f"fcmp {of_reals} double {self._real(a).code}, {self._real(b).code}"))

    def _choice(self, node: ast.IfExp) -> Number:
        """Only what is chosen is computed: the other may divide by 0."""
        yes, no, after = (self._label() for _ in range(3))
        self._branch(self._number(node.test), yes, no)
        found = []
        for label, branch in ((yes, node.body), (no, node.orelse)):
            self._begin(label)
            value = self._number(branch)
            found.append((value, self._block))
            self._jump(after)
        self._begin(after)
        kind = found[0][0].kind
        if found[1][0].kind != kind:
            raise _unknown(node)
        return Number(kind, self._new(f"phi {kind} " + ", ".join(f"[{value.code}, %{block}]" for value, block in found)))

    def _array(self, node: ast.expr) -> Array:
        array = self.variables.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(array, Array):
            raise _unknown(node)
        return array

    def _numbers(self, node: ast.expr) -> list[Number]:
        return [self._number(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node])]

    def _place(self, node: ast.Subscript) -> tuple[Array, str]:
        """An array, and the address of one of its elements."""
        array, indices = self._array(node.value), self._numbers(node.slice)
        if len(indices) != len(array.shape) or any(index.kind != INT for index in indices):
            raise _unknown(node)
        at = indices[0].code
        for index, size in zip(indices[1:], array.shape[1:], strict=True):
            row = self._new(f"mul nsw i64 {at}, {size.code}")
            at = self._new(f"add nsw i64 {row}, {index.code}")
        if array.parts == 2:
            at = self._new(f"shl nsw i64 {at}, 1")
        return array, self._new(f"getelementptr inbounds {array.kind}, ptr {array.start}, i64 {at}")

    def _element(self, node: ast.Subscript) -> Value:
        array, place = self._place(node)
        parts = [self._widened(array.kind, place)]
        if array.parts == 1:
            return parts[0]
        other = self._new(f"getelementptr inbounds {array.kind}, ptr {place}, i64 1")
        return Complex(parts[0], self._widened(array.kind, other))

    def _widened(self, kind: str, place: str) -> Number:
        code = self._new(f"load {kind}, ptr {place}")
        return Number(REAL, self._new(f"fpext float {code} to double")) if kind == "float" else Number(kind, code)

    def _call(self, node: ast.Call) -> Value:
        match node.func:
            case ast.Name(id="min"):
                a, b = (self._number(argument) for argument in node.args)
                self._declare("i64 @llvm.smin.i64(i64, i64)")
                return Number(INT, self._new(f"call i64 @llvm.smin.i64(i64 {a.code}, i64 {b.code})"))
            case ast.Name(id="abs"):
                return self._function("@llvm.fabs.f64", node)
            case ast.Attribute(value=ast.Name(id="math"), attr=name):
                return self._function(f"@llvm.{name}.f64" if name in INTRINSICS else f"@{name}", node)
            case ast.Attribute(value=ast.Name(id="np"), attr=("empty" | "zeros") as name):
                return self._buffer(self._numbers(node.args[0]), name == "zeros")
        raise _unknown(node)

    def _function(self, name: str, node: ast.Call) -> Number:
        (argument,) = node.args
        self._declare(f"double {name}(double) nounwind willreturn memory(none)")
        return Number(REAL, self._new(f"call {FAST} double {name}(double {self._real(self._number(argument)).code})"))

    def _buffer(self, shape: Sequence[Number], cleared: bool) -> Array:
        """Memory of the kernel, as many whole lines of the cache as it takes."""
        size = "8"
        for n in shape:
            size = self._new(f"mul nsw i64 {size}, {n.code}")
        whole = self._new(f"and i64 {self._new(f'add nsw i64 {size}, {ALIGNED - 1}')}, {-ALIGNED}")
        self._declare("noalias ptr @aligned_alloc(i64, i64)")
        start = self._new(f"call noalias align {ALIGNED} ptr @aligned_alloc(i64 {ALIGNED}, i64 {whole})")
        self.buffers.append(start)
        if cleared:
            self._declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            self.lines.append(f"call void @llvm.memset.p0.i64(ptr align {ALIGNED} {start}, i8 0, i64 {whole}, i1 false)")
        return Array(start, REAL, 1, tuple(shape))


def _entry(name: str, kinds: Sequence[str]) -> list[str]:
    """A function that reads arguments of these types from a table, and calls the kernel."""
    lines = [f"define void @{name}(i64 %address, i64 %part, i64 %n_parts) nounwind {{", "%table = inttoptr i64 %address to ptr"]
    for k, kind in enumerate(kinds):
        lines += [f"%at{k} = getelementptr i64, ptr %table, i64 {k}", f"%a{k} = load {kind}, ptr %at{k}"]
    given = [*(f"{kind} %a{k}" for k, kind in enumerate(kinds)), "i64 %part", "i64 %n_parts"]
    return [*lines, f"call void @kernel({', '.join(given)})", "ret void", "}"]


def _unknown(node: ast.AST) -> TypeError:
    written = ast.unparse(node) or type(node).__name__
    line = getattr(node, "lineno", None)
    return TypeError(f"kernels cannot hold {written!r}" + (f", in line {line}" if line else ""))
