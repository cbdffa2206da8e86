"""What the section ``fit`` of a model file may say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ctpwa.config.spec_types import MAX_SEED, Finite, NamesOrValues, Number, OneOrMany, Pair, StrictSpec, names_alone
from ctpwa.model.parameters import MAX_STARTS

Tie = Annotated[list[Number], Field(min_length=2, max_length=2)]


class ErrorsSpec(StrictSpec):
    """What errors count."""

    simulation: bool = Field(True, description="whether errors count that the phase-space sample is finite")


class FitSpec(StrictSpec):
    """How to fit."""

    method: Literal["newton", "lbfgs", "minuit"] = Field("newton", description="the minimiser")
    starts: int = Field(20, ge=1, le=MAX_STARTS, description="number of start points")
    seed: int = Field(0, ge=0, le=MAX_SEED, description="seed of the random start points")
    engine: str = Field("auto", description="what computes the likelihood: auto, or a backend such as cuda, cpu or reference")
    device: str | None = Field(None, description="where, such as cpu or cuda:0; a GPU if there is one, if left out")
    precision: Literal["double", "mixed"] = Field(
        "double", description="mixed: spin amplitudes are stored in single precision, everything is computed in double"
    )
    device_memory: Finite | str | None = Field(
        None, description="bytes, or a size such as 4 GB, that prepared events may take on a GPU; most of what is free, if left out"
    )
    host_memory: Finite | str | None = Field(None, description="the same for main memory; what does not fit goes to disk")
    scratch: str | None = Field(None, description="folder for what goes to disk; that for temporary files if left out")
    representation: Literal["cartesian", "polar"] = Field("cartesian", description="couplings as re, im or as abs, phase")
    reference_wave: str | None = Field(None, description="the coupling that is fixed to 1; the first if left out")
    couplings: Literal["wave", "vertex"] = Field("wave", description="one coupling per wave, or products of one per vertex")
    constraints: dict[str, Pair] = Field(default_factory=dict, description="Gaussian constraints: parameter: [mean, standard deviation]")
    extended: bool = Field(False, description="fit yields of signal and backgrounds instead of fractions")
    subtraction: Literal["bounded", "plain"] = Field(
        "bounded", description="how events count negatively: bounded, or plain: the signed sum, which has no lower limit"
    )
    limits: dict[str, Pair] = Field(default_factory=dict, description="limits that a fit respects: parameter: [lower, upper]")
    fix: Annotated[dict[str, Finite | None], BeforeValidator(names_alone), NamesOrValues()] = Field(
        default_factory=dict, description="parameters that are fixed: names, or {parameter: value}"
    )
    relations: dict[str, str] = Field(
        default_factory=dict, description="parameters that follow from others: {parameter: formula}, such as {a.phase: b.phase}"
    )
    ties: dict[str, Tie] = Field(default_factory=dict, description="coupling: [other coupling, complex factor]")
    start: dict[str, Finite] = Field(default_factory=dict, description="start values of parameters")
    minos: OneOrMany[str] = Field(default_factory=list, description="parameters that get MINOS errors")
    errors: ErrorsSpec = Field(default_factory=lambda: ErrorsSpec(simulation=True), description="what errors count")
