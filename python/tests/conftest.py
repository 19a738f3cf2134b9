"""The program is the one of the installed wheel or of VTI_PROGRAM, else it is built from the sources."""

import os
import pathlib
import subprocess

import pandas
import pytest

import vti
from vti import program

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def built(tmp_path_factory):
    if not (pathlib.Path(vti.__file__).parent / "program").is_dir() and "VTI_PROGRAM" not in os.environ:
        built = tmp_path_factory.mktemp("program") / "vti"
        subprocess.run(["go", "build", "-o", str(built), "./cmd/vti"], cwd=REPOSITORY, check=True)
        os.environ["VTI_PROGRAM"] = str(built)
    os.environ.setdefault("VTI_PROGRAM", program.find())  # for processes that the tests start


@pytest.fixture
def testdata():
    return REPOSITORY / "testdata"


@pytest.fixture
def diabetes(testdata):
    return pandas.read_csv(testdata / "diabetes.csv")
