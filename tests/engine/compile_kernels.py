"""Compile the GPU kernels of some cases with Triton's compiler, for a GPU that need not be there: ``python compile_kernels.py CASE …``."""

from __future__ import annotations

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ctpwa.engine.backends.cuda.engine import BLOCK, WARPS
from ctpwa.engine.backends.cuda.source import gpu_source
from ctpwa.engine.backends.cuda.straight import BLOCK as STRAIGHT_BLOCK
from ctpwa.engine.backends.cuda.straight import WARPS as STRAIGHT_WARPS
from ctpwa.engine.backends.cuda.straight import is_straight, straight_source
from ctpwa.engine.backends.cuda.straight_hessian import has_straight_hessian, hessian_source
from ctpwa.engine.backends.cuda.straight_log_hessian import log_hessian_source, slopes_depth
from ctpwa.engine.backends.cuda.straight_many import many_source
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.plan.compact import compacted
from engine.cases import model

INTEGERS = ("visits_ptr", "offsets_ptr", "entries_ptr", "entry_ranges_ptr")
TARGET = GPUTarget("cuda", 80, 32)


def compile_kernel(kernel, warps=WARPS, **constants):
    """The machine code of a kernel with some arguments that are constant."""
    names = kernel.arg_names
    types = {name: "*i64" if name in INTEGERS else "*fp64" if name.endswith("_ptr") else "i32" for name in names}
    source = ASTSource(
        kernel,
        {name: "constexpr" if name in constants else kind for name, kind in types.items()},
        {(names.index(name),): value for name, value in constants.items()},
        {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name.endswith("_ptr")},
    )
    return triton.compile(source, target=TARGET, options={"num_warps": warps, "enable_fp_fusion": True}).asm["cubin"]


for case in sys.argv[1:]:
    plan = compacted(model_channels(model(case)).plan(model(case)))
    module = load_generated("gpu", gpu_source(plan, portable=False))
    for order in (0, 1, 2):
        assert compile_kernel(getattr(module, f"sums_{order}"), LOG=True, BLOCK=BLOCK)
    assert compile_kernel(module.sums_1, LOG=False, BLOCK=BLOCK)
    assert compile_kernel(module.intensities, BLOCK=BLOCK)
    for log, with_D in ((True, True), (False, True)):
        assert compile_kernel(module.columns, LOG=log, WITH_D=with_D, BLOCK=BLOCK)
    if is_straight(plan):
        straight = load_generated("gpu_gradient", straight_source(plan, portable=False))
        for log, points in ((True, 1), (False, 1), (True, 3)):
            assert compile_kernel(straight.gradient, STRAIGHT_WARPS, LOG=log, POINTS=points, BLOCK=STRAIGHT_BLOCK)
        many = load_generated("gpu_many", many_source(plan, portable=False))
        for log in (True, False) if plan.n_floating else ():
            assert compile_kernel(many.gradients, STRAIGHT_WARPS, LOG=log, POINTS=1, BLOCK=STRAIGHT_BLOCK)
    if has_straight_hessian(plan):
        products = load_generated("gpu_hessian", hessian_source(plan, portable=False))
        for log in (True, False):
            assert compile_kernel(products.hessian, STRAIGHT_WARPS, LOG=log, BLOCK=STRAIGHT_BLOCK)
        logarithms = load_generated("gpu_log_hessian", log_hessian_source(plan, portable=False))
        for points in (1, 3):
            constants = {"POINTS": points, "SLOPES_DEPTH": slopes_depth(points), "BLOCK": STRAIGHT_BLOCK}
            assert compile_kernel(logarithms.log_hessian, STRAIGHT_WARPS, **constants)
