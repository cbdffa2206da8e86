"""Trees of AmpTools and of GlueX: particles with numbers, the recoil among them, the beam, polarisation in the beam."""

import awkward as ak
import numpy as np
import pytest
import torch
import uproot

import ctpwa
from ctpwa.base.errors import DataError

GENERATE = {"energy": [8.2, 8.8], "mass": [0.8, 1.8], "degree": 0.4, "angle": [0.1, 0.9]}
M_P = 0.93827208943


def model_of(polarisation="amptools"):
    production = {"kind": "photoproduction", "polarisation": polarisation, "waves": ["0+", "2+"], "generate": GENERATE}
    particles = {"p": {"JP": "1/2+", "mass": M_P, "charge": 1}}
    return ctpwa.load_model({"decay": "X -> eta pi0", "production": production, "particles": particles})


@pytest.fixture(scope="module")
def made():
    """Events with the polarisation in the beam, and their recoil."""
    events = ctpwa.generate_phase_space(model_of(), 20, seed=1)
    beam = events.columns["beam"].clone()
    beam[:, 1:3] = 0
    return events, beam + torch.tensor([M_P, 0, 0, 0]) - events["eta"] - events["pi0"]


def write_amptools(path, particles, beam=None, weight=None, jagged=True):
    """A tree as AmpTools writes it; ``particles`` are momenta [event, 4]."""
    columns = {"NumFinalState": np.full(len(particles[0]), len(particles), dtype=np.int32)}
    for i, part in enumerate(("E", "Px", "Py", "Pz")):
        lists = np.stack([p4[:, i].numpy() for p4 in particles], axis=1)
        columns[f"{part}_FinalState"] = ak.from_regular(ak.Array(lists)) if jagged else lists
        if beam is not None:
            columns[f"{part}_Beam"] = beam[:, i].numpy()
    if weight is not None:
        columns["Weight"] = weight
    types = {name: values.dtype if isinstance(values, np.ndarray) else "var * float64" for name, values in columns.items()}
    types |= {
        name: np.dtype((values.dtype, values.shape[1:]))
        for name, values in columns.items()
        if getattr(values, "ndim", 1) == 2 and not jagged
    }
    with uproot.recreate(path) as file:
        file.mktree("kin", types)
        file["kin"].extend(columns)


@pytest.mark.parametrize("jagged", [True, False], ids=["lists", "arrays"])
@pytest.mark.parametrize("with_recoil", [True, False])
def test_tree_of_amptools(tmp_path, made, jagged, with_recoil):
    events, recoil = made
    particles = [*([recoil] if with_recoil else []), events["eta"], events["pi0"]]
    write_amptools(tmp_path / "tree.root", particles, events.columns["beam"], np.linspace(0.5, 1.5, 20), jagged)
    found = ctpwa.read_events(model_of(), tmp_path / "tree.root")
    torch.testing.assert_close(found["eta"], events["eta"], rtol=0, atol=0)
    torch.testing.assert_close(found["pi0"], events["pi0"], rtol=0, atol=0)
    torch.testing.assert_close(found.columns["beam"], events.columns["beam"], rtol=0, atol=0)
    np.testing.assert_array_equal(found.weights, np.linspace(0.5, 1.5, 20))
    a, b = (np.asarray(ctpwa.ModelIntensity(model_of(), engine="reference")(own)) for own in (events, found))
    np.testing.assert_array_equal(a, b)


def test_particles_in_another_order(tmp_path, made):
    events, recoil = made
    write_amptools(tmp_path / "tree.root", [events["pi0"], events["eta"], recoil], events.columns["beam"])
    with pytest.raises(DataError, match="mass"):
        ctpwa.read_events(model_of(), tmp_path / "tree.root")
    found = ctpwa.read_events(model_of(), tmp_path / "tree.root", momenta={"eta": "FinalState[1]", "pi0": "FinalState[0]"})
    torch.testing.assert_close(found["eta"], events["eta"], rtol=0, atol=0)


def test_too_many_particles(tmp_path, made):
    events, recoil = made
    write_amptools(tmp_path / "tree.root", [recoil, recoil, events["eta"], events["pi0"]], events.columns["beam"])
    with pytest.raises(
        DataError, match=r"4 particles for 2 final particles of X -> eta pi0 and a recoil\n fix: say which are which: momenta"
    ):
        ctpwa.read_events(model_of(), tmp_path / "tree.root")


def test_events_of_different_lengths(tmp_path, made):
    events, recoil = made
    columns = {}
    for i, part in enumerate(("E", "Px", "Py", "Pz")):
        lists = np.stack([p4[:, i].numpy() for p4 in (recoil, events["eta"], events["pi0"])], axis=1).tolist()
        lists[7] = lists[7][:2]
        columns |= {f"{part}_FinalState": ak.Array(lists), f"{part}_Beam": events.columns["beam"][:, i].numpy()}
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("kin", {name: values.dtype if isinstance(values, np.ndarray) else "var * float64" for name, values in columns.items()})
        file["kin"].extend(columns)
    with pytest.raises(DataError, match="2 particles in event 7, and 3 in the first"):
        ctpwa.read_events(model_of(), tmp_path / "tree.root")


def test_no_beam(tmp_path, made):
    events, recoil = made
    write_amptools(tmp_path / "tree.root", [recoil, events["eta"], events["pi0"]])
    with pytest.raises(DataError, match=r"no branch 'beam_1' for the event column 'beam'\n fix: .*columns: \{beam: …\}"):
        ctpwa.read_events(model_of(), tmp_path / "tree.root")


@pytest.mark.parametrize("names", ["{}_p4_kin", "{}"])
def test_vectors_of_gluex(tmp_path, made, names):
    """Four numbers in one branch for every particle and the beam."""
    events, _ = made
    columns = {
        names.format(name): p4.numpy() for name, p4 in (("eta", events["eta"]), ("pi0", events["pi0"]), ("beam", events.columns["beam"]))
    }
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("t", {name: np.dtype(("f8", (4,))) for name in columns})
        file["t"].extend(columns)
    found = ctpwa.read_events(model_of(), tmp_path / "tree.root")
    torch.testing.assert_close(found["eta"], events["eta"], rtol=0, atol=0)
    torch.testing.assert_close(found.columns["beam"], events.columns["beam"], rtol=0, atol=0)
    found = ctpwa.read_events(model_of(), tmp_path / "tree.root", columns={"beam": names.format("beam")})
    torch.testing.assert_close(found.columns["beam"], events.columns["beam"], rtol=0, atol=0)


def test_numbers_of_fsroot(tmp_path, made):
    events, _ = made
    names = {"P1": events["eta"], "P2": events["pi0"], "PB": events.columns["beam"]}
    columns = {f"{part}{name}": p4[:, i].numpy() for name, p4 in names.items() for i, part in enumerate(("En", "Px", "Py", "Pz"))}
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("t", {name: values.dtype for name, values in columns.items()})
        file["t"].extend(columns)
    found = ctpwa.read_events(model_of(), tmp_path / "tree.root", momenta={"eta": "P1", "pi0": "P2"}, columns={"beam": "PB"})
    torch.testing.assert_close(found["eta"], events["eta"], rtol=0, atol=0)
    torch.testing.assert_close(found.columns["beam"], events.columns["beam"], rtol=0, atol=0)


def test_an_event_without_a_plane_is_named(tmp_path, made):
    """With its file."""
    events, recoil = made
    along = events["pi0"].clone()
    along[3, 1:3] = -events["eta"][3, 1:3]
    along[3, 0] = np.sqrt(float((along[3, 1:] ** 2).sum()) + 0.1349768**2)
    write_amptools(tmp_path / "tree.root", [recoil, events["eta"], along], events.columns["beam"])
    model = model_of()
    data = ctpwa.read_events(model, tmp_path / "tree.root")
    with pytest.raises(DataError, match=r"data: .*tree.root: event 3 has no production plane.*\n fix: remove such events"):
        ctpwa.build_likelihood(model, data, events, engine="reference", progress=False)
