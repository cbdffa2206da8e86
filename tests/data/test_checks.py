"""Momenta and weights that cannot be right are refused; the message names file, particle, event and numbers."""

import numpy as np
import pytest
import torch

import ctpwa


@pytest.fixture
def saved(events, tmp_path):
    """The path of a sample after a change."""

    def save(change=lambda momenta: None, weights=None, suffix="npz"):
        momenta = {name: p.clone() for name, p in events.items()}
        change(momenta)
        path = tmp_path / f"changed.{suffix}"
        np.savez(path, **{name: p.numpy() for name, p in momenta.items()}, **({} if weights is None else {"weight": weights}))
        return path

    return save


def on_shell(p, mass):
    p[:, 0] = (p[:, 1:].square().sum(dim=1) + mass**2).sqrt()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("event", [0, 9, 22])
def test_not_finite(saved, refused, value, event):
    def change(momenta):
        momenta["K-"][event, 2] = value

    message = refused(saved(change), chunk=7)
    assert f"changed.npz: the momentum of 'K-' in event {event} (" in message
    assert "is not finite" in message


def test_negative_mass_squared(saved, refused):
    def change(momenta):
        momenta["K+"][3, 0] *= 0.3

    message = refused(saved(change), name="data")
    assert message.startswith("data: ")
    assert "the momentum of 'K+' in event 3 (" in message
    assert "has negative mass²" in message


def test_negative_energy(saved, refused):
    def change(momenta):
        momenta["eta"][4, 0] *= -1

    assert "the momentum of 'eta' in event 4 (" in refused(saved(change))


def test_wrong_mass(saved, refused):
    def change(momenta):
        on_shell(momenta["K+"][10:11], 0.13957)

    message = refused(saved(change), chunk=7)
    assert "the mass of 'K+' in event 10 is 0.13957 GeV, but K+ has 0.493677 GeV (tolerance 0.001 GeV)" in message
    assert "mass_tolerance: {K+: …}" in message


def test_exchanged_particles_are_recognised(saved, refused):
    message = refused(saved(), momenta={"K+": "eta", "eta": "K+"})
    assert "the mass of 'K+' in event 0 is 0.547862 GeV (and 22 more nearby)" in message
    assert "this is the mass of 'eta': exchange the two in 'momenta'" in message


def test_mev_are_recognised(saved, refused):
    def change(momenta):
        for p in momenta.values():
            p *= 1000

    assert "the momenta are in MeV: say unit: MeV" in refused(saved(change))
    assert "the momenta are in GeV: leave out unit: MeV" in refused(saved(lambda momenta: None), unit="MeV")


def test_four_momentum_is_not_conserved(saved, refused):
    def change(momenta):
        momenta["eta"][7, 1:] += 0.02
        on_shell(momenta["eta"], 0.547862)

    message = refused(saved(change))
    assert "four-momentum is not conserved: the final particles of event 7 have the mass 3." in message
    assert "but J/psi(1S) has 3.0969 GeV (tolerance 0.00685 GeV)" in message
    assert "parent_tolerance: …" in message


@pytest.mark.parametrize("shift", [0.0009, -0.0009])
def test_masses_within_the_tolerance(model, saved, shift):
    def change(momenta):
        on_shell(momenta["eta"], 0.547862 + shift)

    found = ctpwa.read_events(model, saved(change))
    assert found.summary.mass.mean == pytest.approx(3.0969 + shift * 0.6, abs=0.0005)
    assert found.summary.mass.spread > 1e-6


@pytest.mark.parametrize("tolerance", [0.03, {"eta": 0.03}, float("inf")])
def test_the_mass_tolerance_can_be_given(model, saved, refused, tolerance):
    def change(momenta):
        on_shell(momenta["eta"], 0.57)

    path = saved(change)
    assert "the mass of 'eta'" in refused(path, parent_tolerance=0.1)
    assert ctpwa.read_events(model, path, mass_tolerance=tolerance, parent_tolerance=0.1).n_events == 23


def test_a_tolerance_can_be_tightened(saved, refused):
    def change(momenta):
        on_shell(momenta["eta"], 0.548)

    assert "tolerance 1e-05 GeV" in refused(saved(change), mass_tolerance=1e-5)
    assert "four-momentum is not conserved" in refused(saved(change), parent_tolerance=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass_tolerance": 0.0}, "mass_tolerance is 0.0"),
        ({"mass_tolerance": {"eta": -1}}, "mass_tolerance of 'eta' is -1"),
        ({"mass_tolerance": {"etta": 1}}, "'etta' is not a final particle"),
        ({"parent_tolerance": float("nan")}, "parent_tolerance is nan"),
        ({"scale": 0.0}, "scale is 0.0"),
        ({"scale": float("inf")}, "scale is inf"),
        ({"unit": "keV"}, "unknown unit 'keV'"),
        ({"order": "E px py"}, "order is 'E px py'"),
        ({"order": "E px py py"}, "order is 'E px py py'"),
        ({"tree": "events"}, "'tree' is 'events', but"),
        ({"momenta": ["K+", "K-", "eta"]}, "momenta is a list, but"),
    ],
)
def test_options_that_make_no_sense(saved, refused, options, message):
    assert message in refused(saved(), **options)


def test_single_precision_is_good_enough(model, events, tmp_path):
    np.savez(tmp_path / "single.npz", **{name: p.numpy().astype(np.float32) for name, p in events.items()})
    assert ctpwa.read_events(model, tmp_path / "single.npz").n_events == 23


def test_a_fast_parent_in_single_precision(model, events, tmp_path):
    """At 300 GeV rounding of E and p changes a mass squared by more than the tolerance of the mass."""
    gamma = 100.0
    beta_gamma = np.sqrt(gamma**2 - 1)
    fast = {}
    for name, p in events.items():
        E, px, py, pz = p.numpy().T
        fast[name] = np.stack([gamma * E + beta_gamma * pz, px, py, gamma * pz + beta_gamma * E], axis=1).astype(np.float32)
    m2 = fast["K+"].astype(np.float64) ** 2 @ np.array([1, -1, -1, -1])
    assert np.abs(m2 - 0.493677**2).max() > 2 * 0.493677 * 1e-3
    np.savez(tmp_path / "fast.npz", **fast)
    assert ctpwa.read_events(model, tmp_path / "fast.npz").n_events == 23


def test_electrons_in_single_precision(tmp_path):
    """Their mass is lost in the rounding of E and p."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> e+ e-"})
    sample = ctpwa.generate_phase_space(model, 50, seed=1)
    rounded = {}
    for name, p in sample.items():
        single = p.numpy().astype(np.float32).astype(np.float64)
        single[:, 0] = np.maximum(single[:, 0], np.sqrt((single[:, 1:] ** 2).sum(axis=1)) * (1 + 1e-12))
        rounded[name] = single
    np.savez(tmp_path / "e.npz", **rounded)
    assert ctpwa.read_events(model, tmp_path / "e.npz").n_events == 50


@pytest.fixture(scope="module")
def photons():
    return ctpwa.load_model({"decay": "J/psi(1S) -> gamma K+ K-", "resonances": {"f(0)(1500)": {"in": "K+ K-"}}})


def test_photons_are_put_on_shell(photons, tmp_path):
    sample = ctpwa.generate_phase_space(photons, 9, seed=2)
    measured = {name: p.clone() for name, p in sample.items()}
    measured["gamma"][4, 0] *= 1 + 1e-5
    np.savez(tmp_path / "a.npz", **measured)
    found = ctpwa.read_events(photons, tmp_path / "a.npz")
    p = found["gamma"]
    torch.testing.assert_close(p[:, 0], p[:, 1:].norm(dim=1), rtol=4e-16, atol=0)
    assert torch.equal(p[:, 1:], measured["gamma"][:, 1:])
    untouched = [i for i in range(9) if i != 4]
    assert torch.equal(p[untouched], sample["gamma"][untouched])
    shift = float(measured["gamma"][4, 0] - sample["gamma"][4, 0])
    assert f"; gamma put on shell (E = |p|, changed by up to {shift:.2g} GeV)" in str(found.summary)


def test_photons_that_are_on_shell_already(photons, tmp_path):
    sample = ctpwa.generate_phase_space(photons, 500, seed=3)
    ctpwa.write_events(tmp_path / "a.root", sample)
    found = ctpwa.read_events(photons, tmp_path / "a.root")
    assert torch.equal(found["gamma"], sample["gamma"])
    assert "on shell" not in str(found.summary)


def test_photons_far_from_the_light_cone(photons, refused, tmp_path):
    sample = ctpwa.generate_phase_space(photons, 9, seed=2)
    sample["gamma"][5, 0] *= 1.01
    np.savez(tmp_path / "a.npz", **sample)
    message = refused(tmp_path / "a.npz", model=photons)
    assert "the momentum of 'gamma' in event 5 (" in message
    assert "is not massless" in message


def test_unstable_final_particles_have_a_spread_of_masses(tmp_path, refused):
    """A phi that is reconstructed from K+ K- is within 20 widths, a misidentified one is not."""
    model = ctpwa.load_model(
        {"decay": "J/psi(1S) -> phi(1020) pi+ pi-", "resonances": {"f(0)(980)": {"in": "pi+ pi-", "mass": 0.99, "width": 0.06}}}
    )
    masses = {"J/psi": 3.0969, "phi(1020)": 1.06, "pi+": 0.13957039, "pi-": 0.13957039}
    ctpwa.write_events(tmp_path / "tail.npz", ctpwa.generate_phase_space(masses, 9, seed=1))
    assert ctpwa.read_events(model, tmp_path / "tail.npz").n_events == 9
    ctpwa.write_events(tmp_path / "wrong.npz", ctpwa.generate_phase_space(masses | {"phi(1020)": 0.8}, 9, seed=1))
    assert "the mass of 'phi(1020)' in event 0 is 0.8 GeV" in refused(tmp_path / "wrong.npz", model=model)


def test_mean_and_spread_over_chunks_are_those_of_all_events(model, saved, rng):
    sizes = rng.normal(0, 3e-4, 23)

    def change(momenta):
        for event, shift in enumerate(sizes):
            on_shell(momenta["eta"][event : event + 1], 0.547862 + shift)

    found = ctpwa.read_events(model, saved(change), chunk=7)
    total = sum(found.values()).numpy()
    m = np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))
    assert found.summary.mass.mean == pytest.approx(m.mean(), rel=1e-14)
    assert found.summary.mass.spread == pytest.approx(m.std(), rel=1e-9)


# weights


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(saved, refused, tmp_path, value):
    weights = np.ones(23)
    weights[11] = value
    assert f"changed.npz: the weight of event 11 is {value}" in refused(saved(weights=weights), chunk=7)
    np.save(tmp_path / "w.npy", weights)
    assert f"w.npy: the weight of event 11 is {value}" in refused(saved(), weight_file=tmp_path / "w.npy", chunk=7)


def test_weights_that_are_all_zero(saved, refused):
    assert "all weights are zero" in refused(saved(weights=np.zeros(23)))


@pytest.mark.parametrize("n", [0, 22, 24])
def test_wrong_number_of_weights(saved, refused, tmp_path, n):
    np.savetxt(tmp_path / "w.txt", np.ones(n))
    assert f"w.txt: {n} weights for 23 events" in refused(saved(), weight_file=tmp_path / "w.txt")


def test_wrong_number_of_weights_in_the_file(saved, refused):
    assert "changed.npz: 22 weights in 'weight' for 23 events" in refused(saved(weights=np.ones(22)))


def test_weights_from_two_places(saved, refused, tmp_path):
    np.save(tmp_path / "w.npy", np.ones(23))
    message = refused(saved(weights=np.ones(23)), weight="weight", weight_file=tmp_path / "w.npy")
    assert "give 'weight' or 'weight_file', not both" in message


def test_weights_in_some_files_only(saved, refused, tmp_path):
    saved(weights=np.ones(23)).rename(tmp_path / "a.npz")
    message = refused([tmp_path / "a.npz", saved()])
    assert "a.npz has weights, " in message
    assert "changed.npz has none" in message


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("w.csv", lambda path: path.write_text("1"), "unknown suffix '.csv'"),
        ("w.npy", lambda path: np.save(path, np.ones((23, 2))), "weights of type float64, 23×2"),
        ("w.npy", lambda path: np.save(path, np.array(["a"] * 23)), "weights of type <U1"),
        ("w.npy", lambda path: np.save(path, np.array([None] * 23), allow_pickle=True), "weights of type object"),
        ("w.npz", lambda path: np.savez(path, a=np.ones(23), b=np.ones(23)), "which array holds the weights?"),
        ("w.txt", lambda path: path.write_text("1\n2\n\nx\n"), "w.txt:4: 'x' is not a number"),
        ("w.txt", lambda path: path.write_text("1 2\n"), "w.txt:1: 2 numbers instead of 1"),
    ],
    ids=["suffix", "shape", "text", "objects", "two-arrays", "word", "two-columns"],
)  # fmt: skip
def test_weight_files_that_cannot_be_used(saved, refused, tmp_path, name, make, message):
    make(tmp_path / name)
    assert message in refused(saved(), weight_file=tmp_path / name)


def test_missing_weight_file(saved, refused, tmp_path):
    assert "there is no file" in refused(saved(), weight_file=tmp_path / "w.txt")


def test_event_columns_in_files_of_their_own(saved, model, tmp_path):
    """Text, npy and npz, one or several files, read at once and in pieces: the numbers are those that were written."""
    numbers = np.linspace(-1, 2, 23)
    np.savetxt(tmp_path / "a.dat", numbers[:9], fmt="%.17g")
    np.save(tmp_path / "b.npy", numbers[9:])
    np.savez(tmp_path / "c.npz", t=numbers, other=2 * numbers)
    for files in ([tmp_path / "a.dat", tmp_path / "b.npy"], tmp_path / "c.npz"):
        events = ctpwa.read_events(model, saved(), column_files={"t": files}, chunk=7)
        np.testing.assert_array_equal(events.columns["t"].numpy(), numbers)
        assert len(events.summary.weight_files) == (2 if isinstance(files, list) else 1)
        pieces = [piece.columns["t"] for piece in ctpwa.open_events(model, saved(), column_files={"t": files}, chunk=5).pieces()]
        np.testing.assert_array_equal(torch.cat(pieces).numpy(), numbers)


def test_column_files_that_cannot_be_used(saved, refused, tmp_path):
    np.savetxt(tmp_path / "few.dat", np.ones(22))
    np.savetxt(tmp_path / "nan.dat", [*np.ones(11), np.nan, *np.ones(11)])
    np.savez(tmp_path / "two.npz", a=np.ones(23), b=np.ones(23))
    assert "few.dat: 22 numbers for 23 events" in refused(saved(), column_files={"t": tmp_path / "few.dat"})
    assert "nan.dat: 't' of event 11 is nan" in refused(saved(), column_files={"t": tmp_path / "nan.dat"}, chunk=7)
    assert "which array holds the numbers?" in refused(saved(), column_files={"t": tmp_path / "two.npz"})
    assert "cannot read numbers from" in refused(saved(), column_files={"t": tmp_path / "t.root"})
    assert "both give 't'" in refused(saved(), column_files={"t": tmp_path / "few.dat"}, columns={"t": 1.0})
