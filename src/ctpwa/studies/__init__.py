"""Studies around a fit: many fits, each kept as soon as it has ended, and what they say together."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.studies.bins_run import bins
    from ctpwa.studies.bins_study import Bins
    from ctpwa.studies.bootstrap_study import Bootstrap, bootstrap
    from ctpwa.studies.hypotheses_study import Hypotheses, hypotheses
    from ctpwa.studies.mass_dependence import MassDependence, MassState, fit_mass_dependence
    from ctpwa.studies.mass_scan_study import MassScan, mass_scan
    from ctpwa.studies.sample_study import Sample, sample
    from ctpwa.studies.scan_study import Scan, scan
    from ctpwa.studies.scanned import MassRange
    from ctpwa.studies.search_study import Search, search
    from ctpwa.studies.selection_study import Selection, select_model
    from ctpwa.studies.significance_study import Significance, significance
    from ctpwa.studies.study import Study, load_study
    from ctpwa.studies.systematics_study import Systematics, systematics
    from ctpwa.studies.toy_study import Toys, toys
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = [
    "Bins",
    "Bootstrap",
    "Hypotheses",
    "MassDependence",
    "MassRange",
    "MassScan",
    "MassState",
    "Sample",
    "Scan",
    "Search",
    "Selection",
    "Significance",
    "Study",
    "Systematics",
    "Toys",
    "bins",
    "bootstrap",
    "fit_mass_dependence",
    "hypotheses",
    "load_study",
    "mass_scan",
    "sample",
    "scan",
    "search",
    "select_model",
    "significance",
    "systematics",
    "toys",
]
