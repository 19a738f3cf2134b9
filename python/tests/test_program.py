"""The command that the package installs is the program."""

import os
import subprocess
import sys

import pytest

from vti import program


def test_the_command_is_the_program():
    asked = [["version", "--json"], ["varsel"]]
    for words in asked:
        ours = subprocess.run([sys.executable, "-m", "vti", *words], capture_output=True, text=True)
        theirs = subprocess.run([program.find(), *words], capture_output=True, text=True)
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="a script there is a program")
def test_the_command_does_not_call_itself(tmp_path, monkeypatch):
    script = tmp_path / "vti"
    script.write_text("#!/bin/sh\nexec false\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("VTI_PROGRAM")
    monkeypatch.setattr(program, "__file__", str(tmp_path / "program.py"))
    with pytest.raises(program.ProgramNotFound):
        program.find()
    script.write_bytes(b"\x7fELF")
    assert program.find() == str(script)
