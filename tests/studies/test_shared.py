"""Studies that several processes share: each takes part of the fits, and all of them have all numbers in the end."""

import shutil

import pytest

from ctpwa.base.errors import DataError
from ctpwa.studies import scan, toys
from ranks.threads import on_ranks


def numbers(study):
    return {record.key: (record.nll, record.values, record.errors) for record in study.records}


def test_toys(plain, tmp_path):
    alone = toys(plain, 5, progress=False)
    first, second = on_ranks(2, lambda ranks: toys(plain, 5, ranks=ranks, path=tmp_path / "toys.parquet", progress=False))
    assert numbers(first) == numbers(second) == numbers(alone)
    assert [file.name for file in tmp_path.iterdir()] == ["toys.parquet"]
    again = toys(plain, 5, path=tmp_path / "toys.parquet", progress=False)
    assert {record.seconds for record in again.records} == {record.seconds for record in first.records}  # nothing is done again


def test_without_a_file(plain):
    with pytest.raises(DataError, match="share a study through its file"):
        on_ranks(2, lambda ranks: toys(plain, 2, ranks=ranks, progress=False))


def test_a_scan_goes_on_from_what_all_have_found(plain, tmp_path):
    alone = scan(plain, "phi(1680).mass", points=5, sigmas=1, progress=False)
    found = on_ranks(
        2, lambda ranks: scan(plain, "phi(1680).mass", points=5, sigmas=1, ranks=ranks, path=tmp_path / "scan.parquet", progress=False)
    )
    assert numbers(found[0]) == numbers(found[1]) == numbers(alone)


def test_a_model_file_is_fitted_once(plain, tmp_path):
    for name in ("model.yml", "data.npz"):
        shutil.copy(plain.parent / name, tmp_path / name)
    found = on_ranks(2, lambda ranks: toys(tmp_path / "model.yml", 2, ranks=ranks, path=tmp_path / "toys.parquet", progress=False))
    assert (tmp_path / "model.result.json").exists()
    assert found[0].about.identity == found[1].about.identity
    assert numbers(found[0]) == numbers(found[1])
