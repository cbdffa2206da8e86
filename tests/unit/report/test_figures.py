"""All figures of a fit are written, as PDF and PNG."""

from matplotlib.figure import Figure

from ctpwa.report.figures import decay_label, write_figures
from unit.report.made_up import model, projected, projection


def names(files):
    assert all(file.stat().st_size > 5_000 for file in files)
    return [file.name for file in files]


def test_one_data_set(tmp_path):
    files = write_figures(tmp_path / "new" / "figures", model(), {"": projected()})
    assert names(files) == ["projections.png", "projections.pdf", "dalitz.png", "dalitz.pdf"]
    assert sorted(file.name for file in (tmp_path / "new" / "figures").iterdir()) == sorted(file.name for file in files)
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_bytes().startswith(b"%PDF")


def test_several_data_sets_pages_and_others(tmp_path, monkeypatch):
    monkeypatch.setattr("ctpwa.report.projections.ROWS", 1)
    many = projected(projections=(projection(bins=3, fine=1),) * 5, grids=())
    figure = Figure()
    figure.add_subplot().plot([0, 1])
    files = write_figures(tmp_path, model(), {"3.1 GeV": projected(projections=()), "b": many}, more={"argand": figure})
    stems = ["dalitz-3.1_GeV", "projections-b-1", "projections-b-2", "argand"]
    assert names(files) == [f"{stem}{suffix}" for stem in stems for suffix in (".png", ".pdf")]


def test_decay():
    assert decay_label(model().decay) == r"$J/\psi(1S) \to K^{+} K^{-} \eta$"
