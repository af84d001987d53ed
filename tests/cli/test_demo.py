from __future__ import annotations

import json

import pytest

from distkern.cli.demo import Outputs, _judge
from distkern.cli.errors import Failure
from distkern.core.errors import InputError
from distkern.engine.dask import cluster


@pytest.mark.slow
def test_demo_writes_and_resumes(tmp_path, run, cluster_address):
    words = ["demo", "--out", tmp_path / "demo", "--repeats", 1, "--json"]
    done = run(*words, "--scheduler", cluster_address)
    assert done.exit_code == 0, done.stderr
    first = json.loads(done.stdout)
    assert 0.75 < first["accuracy"]["mean"] < 1
    assert first["paper_accuracy_percent"] == {"kendall": 85.78, "linear": 86.73}
    assert "compute tiles: 10 of 10" in done.stderr
    written = {path.name for path in (tmp_path / "demo").iterdir()}
    assert written == {".distkern-demo", "gram.zarr", "labels.csv", "evaluation.json", "report.html"}
    again = run(*words, "--threads", 1)
    assert json.loads(again.stdout)["accuracy"] == first["accuracy"]
    assert "compute tiles" not in again.stderr


def test_demo_starts_two_workers_where_nothing_else_is_chosen(tmp_path, run, monkeypatch):
    def started(workers, *, tls):
        raise InputError("{workers} workers, tls {tls}", workers=workers, tls=tls)

    monkeypatch.setattr(cluster, "local_client", started)
    assert "2 workers, tls False" in run("demo", "--out", tmp_path / "demo").stderr
    assert "3 workers, tls True" in run("demo", "--out", tmp_path / "demo", "--workers", 3, "--tls").stderr


def test_folder_with_other_files_is_kept(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="was not made by the demo"):
        Outputs(tmp_path).claim()
    with pytest.raises(InputError, match="was not made by the demo"):
        Outputs(tmp_path / "thesis.txt").claim()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_implausible_accuracy_is_a_failure():
    _judge(85.0, 85.78)
    for accuracy in (81.9, 90.1, float("nan")):
        with pytest.raises(Failure, match="outside 82-90 %"):
            _judge(accuracy, 85.78)
