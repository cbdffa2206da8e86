"""The demonstration J/psi -> K+ K- eta: times, memory, whole fits, projections, and fitted against generated values."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from common import first, load_kk_eta, perturbed, timed
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import model_values
from ctpwa.fitting.labels import decay_label, group_label, parameter_label
from ctpwa.fitting.result import FitResult
from ctpwa.observables.closure import Closure
from ctpwa.observables.projections import project, resonance_groups
from ctpwa.observe.variable import ProjectionSpec, parse_variable
from ctpwa.report.figures.projections import draw_projections
from ctpwa.report.figures.style import figure_label, save_figure
from fit import many_starts, whole_fit
from likelihood import measure, measure_autograd
from roofline import evaluation_costs

BINS, DRAWN = 100, 6
MOST_PROJECTED = 1_000_000  # phase-space events in projections: they are filled on the host
PAIRS = ("K+, K-", "K+, eta", "K-, eta")
DATA_SEED, PHASE_SPACE_SEED = 1, 2


def make_samples(n_data: int, n_phsp: int, device: str, engine: str) -> tuple[dict[str, float], Events, Events]:
    """Toy data of the model's own couplings and flat phase space, in main memory; and how long that took."""
    model = load_kk_eta(floating=True)
    toy_s, data = timed(lambda: ctpwa.generate_toy(model, n_data, DATA_SEED, device=device, engine=engine, progress=False), device)
    flat_s, phsp = timed(lambda: ctpwa.generate_phase_space(model, n_phsp, seed=PHASE_SPACE_SEED, device=device, progress=False), device)
    return {"toy_s": toy_s, "phase_space_s": flat_s}, *(Events({k: v.cpu() for k, v in events.items()}) for events in (data, phsp))


def measure_problem(
    data: Events,
    phsp: Events,
    *,
    tied: bool,
    floating: bool,
    device: str,
    engine: str,
    limits: Mapping[str, Any],
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Likelihood, FitResult]:
    """Everything about one of the four problems, its likelihood, and the result of its fit.

    Args:
        data, phsp:      samples in main memory
        tied, floating:  which problem
        device, engine:  where and how to compute
        limits:          ``budget_s`` for everything that is timed; ``hessian_events`` of autograd; ``lbfgs``: whether to fit so as well
        say:             prints progress
    """
    model = load_kk_eta(floating=floating, tied=tied)
    row, likelihood = measure(model, data, phsp, device, engine, budget_s=limits["budget_s"])
    row["tied"] = tied
    say(f"initialisation {row['initialisation_s']:.3g} s, gradient {row['gradient_ms']:.3g} ms, Hessian {row['hessian_ms']:.3g} ms")
    costs = evaluation_costs(likelihood.plan, row["N_data"], row["N_phsp"])
    row["costs"] = {kind: {"bytes": cost.bytes, "flops": cost.flops} for kind, cost in costs.items()}
    x = perturbed(likelihood, 1)
    row["fit"], result = whole_fit(likelihood, x, "newton", device)
    if floating and row["peak_bytes"] is not None:  # with fixed lineshapes, columns for batches are kept by now
        row["peak_bytes"] = max(row["peak_bytes"], torch.cuda.max_memory_allocated() - row["allocated_before"])
    say(f"whole fit {row['fit']['seconds']:.3g} s, {row['fit']['hessians']} Hessians, {result.verdict}")
    if limits["lbfgs"]:
        row["lbfgs"], _ = whole_fit(likelihood, x, "lbfgs", device)
        row["lbfgs"]["above_newton"] = row["lbfgs"]["nll"] - result.nll
    row |= measure_autograd(likelihood, data, phsp, device, hessian_events=limits["hessian_events"], budget_s=limits["budget_s"])
    say(f"gradient by autograd {row['autograd_gradient_ms']:.4g} ms")
    gc.collect()
    return row, likelihood, result


def measure_starts(likelihood: Likelihood, n_starts: int, device: str) -> dict[str, Any]:
    """Fits from many random starts together."""
    return many_starts(likelihood, n_starts, device) | {"starts": n_starts}


def draw_demo(
    likelihood: Likelihood, result: FitResult, data: Events, phsp: Events, device: str, engine: str, folder: Path
) -> list[dict[str, Any]]:
    """Projections of data, fit and contributions as a figure; returns χ² of each."""
    model = likelihood.model
    values = model_values(likelihood, result.x)
    intensity = ModelIntensity(model, couplings=values.couplings, parameters=values.parameters, engine=engine, device=device)
    variables = [parse_variable(f"mass({pair})", model.decay) for pair in PAIRS]
    axes = [ProjectionSpec(variable, BINS, variable.limits) for variable in variables]
    fractions = result.fractions[0].groups["resonances"]
    drawn = [fractions.names[k] for k in np.argsort(-fractions.values)[:DRAWN]]
    own = resonance_groups(model)
    groups = {name: own[name] for name in drawn} | {"others": [k for name, waves in own.items() if name not in drawn for k in waves]}
    some = Events(first(phsp, MOST_PROJECTED))
    found = project(intensity, data, some, axes=axes, groups={name: waves for name, waves in groups.items() if waves}, progress=False)
    (page,) = draw_projections(found.projections, model, components=drawn, title=figure_label(decay_label(model.decay)))
    save_figure(page, folder / "projections")
    return [
        {"variable": p.variable.name, "chi2": p.chi2.value, "ndf": p.chi2.ndf, "p": p.chi2.p_value, "bins": BINS} for p in found.projections
    ]


def compare_with_truth(likelihood: Likelihood, result: FitResult, n_phsp: int, n_reference: int, engine: str) -> dict[str, Any]:
    """Fitted and generated values, with errors that contain what the finite phase-space sample adds."""
    closure = Closure(likelihood.model, likelihood.n_events, n_phsp, n_reference=n_reference, seed=5, engine=engine)
    toy = closure.compare(result, float(likelihood.value(closure.truth)))
    couplings, n = set(likelihood.coupling_index.tolist()), len(closure.truth)
    entries = []
    for i, (name, true, value, error) in enumerate(zip(closure.names, closure.true_values, toy.values, toy.errors, strict=True)):
        kind = "fractions" if i >= n else "couplings" if i in couplings else "masses and widths"
        label = group_label(likelihood.model, name) if i >= n else parameter_label(likelihood.model, name, likelihood.coupling_names)
        entries.append(
            {"name": name, "kind": kind, "label": label, "generated": float(true), "fitted": float(value), "error": float(error)}
        )
    pulls = np.array([(e["fitted"] - e["generated"]) / e["error"] for e in entries])
    for entry, pull in zip(entries, pulls, strict=True):
        entry["pull"] = float(pull)
    about = {"chi2": toy.chi2, "p": toy.p_value, "ratio_p": toy.ratio_p_value, "free": n, "good": bool(result.verdict.good)}
    norm = np.diag(result.covariance) / np.diag(result.statistical_covariance)
    return about | {"entries": entries, "error_growth": [float(np.sqrt(norm.min())), float(np.sqrt(norm.max()))]}
