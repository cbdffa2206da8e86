"""Partial wave analysis of hadron decays: covariant L-S amplitudes, fitted at the speed of the hardware."""

from ctpwa.analysis import Analysis as Analysis
from ctpwa.analysis import load_analysis as load_analysis
from ctpwa.config.read import load_model as load_model
from ctpwa.data.events import Events as Events
from ctpwa.data.files import read_events as read_events
from ctpwa.data.summary import SampleSummary as SampleSummary
from ctpwa.data.write import write_events as write_events
from ctpwa.engine.intensity import ModelIntensity as ModelIntensity
from ctpwa.engine.likelihood import Likelihood as Likelihood
from ctpwa.engine.values import ModelValues as ModelValues
from ctpwa.engine.values import free_parameters as free_parameters
from ctpwa.engine.values import model_values as model_values
from ctpwa.errors import ConfigError as ConfigError
from ctpwa.errors import CtpwaError as CtpwaError
from ctpwa.errors import DataError as DataError
from ctpwa.errors import GenerationError as GenerationError
from ctpwa.errors import PhysicsError as PhysicsError
from ctpwa.generate.fractions import couplings_for_fractions as couplings_for_fractions
from ctpwa.generate.phase_space import generate_phase_space as generate_phase_space
from ctpwa.generate.toys import ToyGenerator as ToyGenerator
from ctpwa.generate.toys import generate_toy as generate_toy
from ctpwa.model.lineshapes.registry import register_lineshape as register_lineshape
from ctpwa.model.model import Model as Model
from ctpwa.model.model import Wave as Wave
from ctpwa.observe.variable import ProjectionSpec as ProjectionSpec
from ctpwa.observe.variable import Variable as Variable
from ctpwa.observe.variable import default_variables as default_variables
from ctpwa.observe.variable import parse_variable as parse_variable
from ctpwa.results.fit import fit as fit
from ctpwa.results.poles import Pole as Pole
from ctpwa.results.poles import poles as poles
from ctpwa.results.result import FitResult as FitResult
from ctpwa.spin.amplitudes import SpinAmplitudes as SpinAmplitudes
from ctpwa.version import VERSION as __version__  # noqa: F401
