"""Answers from data frames are those of the command line, and their tables are frames."""

import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import vti
from vti import program


def command(*words):
    done = subprocess.run([program.find(), *map(str, words), "--json", "--no-report"], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


def test_varsel_is_the_command(diabetes, testdata, tmp_path):
    ours = vti.varsel(diabetes, target="y", seed=3)
    theirs = command("varsel", testdata / "diabetes.csv", "--target=y", "--seed=3", f"--out={tmp_path / 'run'}")
    assert ours.verdict == theirs["certificate"]["verdict"] == "trusted"
    assert ours.reasons == []
    assert ours.json["inclusion"] == theirs["inclusion"]
    assert ours.json["coefficients"] == theirs["coefficients"]
    assert list(ours.inclusion["name"]) == list(diabetes.columns.drop("y"))
    assert ours.log_evidence == theirs["log_evidence"]
    assert len(ours.models) == len(theirs["models"])
    assert "bmi, ltg and map matter for y" in repr(ours)
    assert len(ours.draws) > 1000 and "beta[bmi]" in ours.draws


def test_the_run_lives_as_long_as_its_result(diabetes, tmp_path):
    found = vti.exact(diabetes, target="y")
    directory = found.directory
    assert found.verdict == "trusted"
    kept = found.save(tmp_path / "kept")
    del found
    assert not directory.exists()
    assert kept.inclusion.equals(vti.Result(tmp_path / "kept").inclusion)
    with pytest.raises(FileNotFoundError, match="no finished run"):
        vti.Result(tmp_path)


def test_predict_effects_check_compare(diabetes, tmp_path):
    first = vti.varsel(diabetes, target="y", out=tmp_path / "first")
    assert (tmp_path / "first.parquet").exists()
    predicted = first.predict(diabetes.head(5), level=0.8)
    assert len(predicted.predictions) == 5 and predicted.level == 0.8
    assert len(first.predict().predictions) == len(diabetes)
    assert not first.effects(of="bmi=20,30").means.empty
    assert first.check().loo["elpd"] < 0
    second = vti.exact(diabetes, target="y")
    compared = first.compare(second)
    assert compared.disagreements in (None, []) and len(compared.inclusion) == 10
    assert first.report().read_text().startswith("<!doctype html>")
    assert 'src="data:image/svg+xml;base64,' in first._repr_html_()


def test_kinds_of_columns():
    rng = np.random.default_rng(1)
    n = 80
    frame = pd.DataFrame({
        "y": rng.normal(size=n),
        "flag": rng.random(n) < 0.5,
        "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n), categories=["red", "green", "blue", "never"]),
        "count": rng.integers(0, 9, n).astype("int8"),
        "text, with a comma": rng.choice(["one", "two"], n),
        "maybe": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
    })
    frame["y"] += 3 * (frame["colour"] == "blue") + 2 * frame["flag"]
    found = vti.varsel(frame, target="y", na="drop", always=["text, with a comma"])
    assert found.json["data"]["rows"] == int(frame["maybe"].notna().sum())
    probability = found.inclusion.set_index("name")["certified"]
    assert probability["colour"] > 0.99 and probability["flag"] > 0.99
    assert "text, with a comma" not in probability.index
    import polars

    complete = frame.dropna()
    assert vti.varsel(polars.from_pandas(complete), target="y").json["inclusion"] == vti.varsel(complete, target="y").json["inclusion"]
    with pytest.raises(TypeError, match="column 'lists'.*want numbers"):
        vti.varsel(pd.DataFrame({"y": [1.0, 2.0], "lists": [[1], [2]]}), target="y")
    with pytest.raises(TypeError, match="must be text; got 0"):
        vti.varsel(pd.DataFrame(rng.normal(size=(9, 3))), target="y")


def test_graphs(testdata):
    found = vti.dag(testdata / "hald.csv", continuous=["x1", "x3"], tiers=[["x1", "x2", "x3", "x4"], ["y"]], forbid=["x1->x2", "x2->x1"])
    edges = found.edges.set_index(["from", "to"])
    assert edges.loc[("x1", "y"), "prob"] > 0.9
    graph = found.to_networkx(least=0.5)
    assert set(graph.nodes) == {"x1", "x2", "x3", "x4", "y"}
    assert graph.edges["x1", "y"]["probability"] == edges.loc[("x1", "y"), "prob"]
    assert not graph.has_edge("y", "x1") and not graph.has_edge("x1", "x2")
    with pytest.raises(TypeError, match="no edges"):
        vti.exact(testdata / "hald.csv", target="y").to_networkx()


def test_hierarchies(testdata):
    found = vti.hbm(testdata / "sleepstudy.csv", formula="Reaction ~ Days + (1 + Days | Subject)", select=True)
    assert found.verdict == "trusted"
    assert set(found.terms["state"]) and list(found["effects"]["name"])


def test_arviz(diabetes):
    found = vti.varsel(diabetes, target="y")
    data = found.to_arviz()
    assert {"beta", "gamma", "sigma"} <= set(data["posterior"].data_vars)
    means = data["posterior"]["gamma"].mean(("chain", "draw"))
    assert abs(float(means.sel({means.dims[0]: "bmi"})) - 1) < 0.01


def test_refusals_name_the_mistake(diabetes):
    with pytest.raises(vti.VtiError, match='no column "z"'):
        vti.varsel(diabetes, target="z")
    with pytest.raises(TypeError, match="unexpected keyword argument 'prior'"):
        vti.varsel(diabetes, target="y", prior=3)
    with pytest.raises(ValueError, match="on_failed"):
        vti.varsel(diabetes, target="y", on_failed="never")
    with pytest.raises(AttributeError, match="has no 'edges'; it has"):
        vti.exact(diabetes, target="y").edges


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Makes a program that prints an answer with a verdict, as one that failed cannot be had in a second."""

    def make(verdict, status):
        printed = {"command": "varsel", "certificate": {"verdict": verdict, "reasons": ["too few draws"]}}
        script = tmp_path / f"{verdict}.py"
        script.write_text(f"#!{sys.executable}\nprint({json.dumps(printed)!r})\nraise SystemExit({status})\n")
        script.chmod(0o755)
        monkeypatch.setenv("VTI_PROGRAM", str(script))

    return make


@pytest.mark.skipif(sys.platform == "win32", reason="scripts as programs")
def test_verdicts_that_are_not_trusted(answers):
    frame = pd.DataFrame({"y": [1.0, 2.0], "x": [2.0, 1.0]})
    answers("failed", 3)
    with pytest.raises(vti.FailedVerdict, match="not to be used: too few draws") as caught:
        vti.varsel(frame, target="y")
    assert caught.value.result.reasons == ["too few draws"]
    with pytest.warns(vti.DoubtfulWarning, match="not to be used") as warned:
        assert vti.varsel(frame, target="y", on_failed="warn").verdict == "failed"
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vti.varsel(frame, target="y", on_failed="ignore").verdict == "failed"
    answers("doubtful", 0)
    with pytest.warns(vti.DoubtfulWarning, match="does not show it: too few draws") as warned:
        assert vti.varsel(frame, target="y").verdict == "doubtful"
    assert warned[0].filename == __file__
    answers("trusted", 1)
    with pytest.raises(vti.VtiError, match="status 1"):
        vti.varsel(frame, target="y")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_keeps_the_run(testdata, tmp_path):
    script = f"""
import threading, time, os, signal, vti
out = {str(tmp_path / 'run')!r}
def stop():
    while not os.path.exists(out + "/posterior.vti"):
        time.sleep(.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop, daemon=True).start()
try:
    vti.varsel({str(testdata / 'robust_vs' / 'mid_1000.csv')!r}, target="y", likelihood="robust", no_intercept=True, no_standardize=True, always="x0", effort="fixed", steps=60, batch=64, out=out, on_failed="ignore")
    print("ended")
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "stopped", done.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vti.DoubtfulWarning)
        assert vti.resume(tmp_path / "run", on_failed="ignore").verdict


def test_functions_are_those_of_the_program():
    generator = pathlib.Path(__file__).resolve().parents[1] / "generate.py"
    subprocess.run([sys.executable, str(generator), "--check"], check=True)


def test_no_intervention_is_empty_text_or_none(diabetes):
    frame = diabetes[["age", "bmi", "map"]].copy()
    frame["set"] = ["bmi" if row % 4 == 0 else None for row in range(len(frame))]
    found = [vti.dag(table, intervened="set").json["edges"] for table in (frame, frame.fillna({"set": ""}))]
    assert found[0] == found[1]
