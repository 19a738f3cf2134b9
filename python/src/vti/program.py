"""Finding and running the program ``vti``, which computes all answers."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

FAILED_VERDICT = 3  # the status of an answer that is not to be used
INTERRUPTED = 130


class VtiError(RuntimeError):
    """vti refused what it was asked, or could not compute it; the message says why."""


class ProgramNotFound(VtiError):
    """There is no program ``vti`` on this machine."""


def find() -> str:
    """Returns the path of the program.

    It is the file that the environment variable ``VTI_PROGRAM`` names, else the one that came with
    this package, else the one on ``PATH``.
    """
    if named := os.environ.get("VTI_PROGRAM"):
        return named
    own = pathlib.Path(__file__).parent / "program" / ("vti.exe" if sys.platform == "win32" else "vti")
    if own.is_file():
        return str(own)
    if (found := shutil.which("vti")) and not _script(found):
        return found
    raise ProgramNotFound(
        "the program vti is neither in this package, nor on PATH, nor named by VTI_PROGRAM: "
        "install a wheel for this platform, or build it with 'go build ./cmd/vti'"
    )


def _script(path: str) -> bool:
    """Reports whether a file is the command of this package, which would call itself."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def run(arguments: Sequence[str], progress: bool | None = None) -> tuple[dict[str, Any], int]:
    """Runs one command that prints JSON, and returns the object and the exit status.

    ``progress`` shows what the program says of its progress; by default where a person would see
    it, in a terminal or a notebook. KeyboardInterrupt stops the program after the step in progress,
    so that its checkpoint is kept.
    """
    messages: list[str] = []
    printed: list[str] = []
    with subprocess.Popen([find(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace", **_own_group()) as process:
        readers = [
            threading.Thread(target=_follow, args=(process.stderr, messages, _watched(progress)), daemon=True),
            threading.Thread(target=lambda: printed.append(process.stdout.read()), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGINT)
            process.wait()
            raise
        finally:
            if process.poll() is None:  # another exception of this process, or a second Ctrl-C
                process.kill()
            for reader in readers:
                reader.join()
    if process.returncode not in (0, FAILED_VERDICT):
        raise VtiError(_why(messages, process.returncode))
    return json.loads(printed[0]) if printed[0].strip() else {}, process.returncode


def _own_group() -> dict[str, Any]:
    """Keeps a Ctrl-C in a terminal from reaching the program twice: we pass it on."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _why(messages: list[str], status: int) -> str:
    """The error among the lines of standard error: the last ones that begin with the program's name."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].startswith("vti: "):
            return "\n".join([messages[i].removeprefix("vti: "), *messages[i + 1 :]])
    return messages[-1] if messages else f"vti ended with status {status}"


def _watched(progress: bool | None) -> bool:
    if progress is not None:
        return progress
    return sys.stderr.isatty() or "ipykernel" in sys.modules


_STEP = re.compile(r"\b(\d+)/(\d+)\b")


def _follow(lines, messages: list[str], shown: bool) -> None:
    """Keeps the lines of the program, and shows them as a bar where they count something."""
    bar = None
    for line in lines:
        line = line.rstrip("\n")
        messages.append(line)
        if not shown or not line.strip() or line.startswith("vti: "):
            continue
        if bar is None:
            bar = _bar()(desc="vti", leave=False, bar_format="{desc} {bar}{postfix} [{elapsed}]", total=1)
        if counted := _STEP.search(line):
            bar.total, bar.n = int(counted[2]), min(int(counted[1]), int(counted[2]))
        bar.set_postfix_str(line.strip())
    if bar is not None:
        bar.close()


def _bar():
    """A bar for a notebook if it can show one, else one of text."""
    import tqdm

    if importlib.util.find_spec("ipywidgets") is None:
        return tqdm.tqdm
    import tqdm.auto

    return tqdm.auto.tqdm


def plain(arguments: Sequence[str]) -> str:
    """Runs one command that prints text, and returns it."""
    done = subprocess.run([find(), *arguments], capture_output=True, text=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode not in (0, FAILED_VERDICT):
        raise VtiError(_why(done.stderr.splitlines(), done.returncode))
    return done.stdout
