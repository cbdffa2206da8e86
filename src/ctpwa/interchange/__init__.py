"""Models of other programs: import them, export to them, and compare numbers at single points."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.interchange.amplitudes import PointFractions, WaveAmplitudes, dalitz_momenta, fractions_at, wave_amplitudes
    from ctpwa.interchange.errors import InterchangeError
    from ctpwa.interchange.helicity_output import helicity_couplings
    from ctpwa.interchange.model_file import ImportedModel
    from ctpwa.interchange.momenta import decay_momenta
    from ctpwa.interchange.serialization.checksums import CheckedSum
    from ctpwa.interchange.serialization.exporter import NotExpressible, describe
    from ctpwa.interchange.serialization.files import ImportedFile, read_serialization
    from ctpwa.interchange.tfpwa.importer import read_tfpwa
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = [
    "CheckedSum",
    "ImportedFile",
    "ImportedModel",
    "InterchangeError",
    "NotExpressible",
    "PointFractions",
    "WaveAmplitudes",
    "dalitz_momenta",
    "decay_momenta",
    "describe",
    "fractions_at",
    "helicity_couplings",
    "read_serialization",
    "read_tfpwa",
    "wave_amplitudes",
]
