"""Writes src/vti/commands.py from what the program says of its commands.

    go build -o vti ./cmd/vti && VTI_PROGRAM=./vti python python/generate.py [--check]

--check writes nothing, and fails if the file is not what would be written.
"""

import json
import keyword
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "src"))

from vti import program  # noqa: E402

OUT = HERE / "src" / "vti" / "commands.py"
WIDTH = 100

# Commands that this package has in another form, or that are for a shell.
LEFT_OUT = ("report", "runs", "serve", "show", "study", "certify", "completion", "devices", "version")
# Flags that the functions set themselves.
SET = {"out", "json", "quiet", "no-report", "resume", "stack"}

HEADER = '''"""A function for each command of the program; keyword arguments are its flags.

Made by generate.py from ``vti describe``: do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .result import Answer, Result, answer, ask

__all__ = {names}
'''


def python_name(flag: str) -> str:
    name = flag.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def annotation(flag: dict) -> str:
    """The type of the argument for a flag."""
    kind, value = flag["type"], flag["value"]
    if kind == "bool":
        return "bool"
    if flag["choices"] and kind != "stringSlice":
        return f"Literal[{', '.join(map(repr, flag['choices']))}] | str"
    if kind in ("count", "int", "uint64"):
        return "int"
    if kind in ("number", "float64"):
        return "float | str"
    if kind == "duration":
        return "float | str"
    if value == "file":
        return "Any"
    if kind in ("stringSlice", "stringArray"):
        repeated = "str | Sequence[str]" + (" | Mapping[str, str | Sequence[str]]" if "=" in value else "")
        return repeated + (" | bool" if flag["optional"] else "")
    if "column" in value or value in ("pairwise", "predictor"):
        return "str | Sequence[str]"
    return "float | str" if value in ("scale", "probability") else "str"


def described(text: str) -> str:
    """Flags in a text as they are called in Python."""
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda m: f"``{python_name(m[1])}``", text).replace("\\", "\\\\")


def paragraphs(text: str, indent: str) -> list[str]:
    lines = []
    for block in text.split("\n\n"):
        if block.startswith(" "):  # a list or an example stays as it is
            lines += [indent + line if line else "" for line in block.split("\n")]
        else:
            lines += textwrap.wrap(" ".join(block.split()), WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines.append("")
    return lines[:-1]


def function(command: dict) -> tuple[str, str]:
    """The name and the source of the function for a command."""
    name = command["name"].replace(" ", "_")
    flags = [f for f in command["flags"] if f["name"] not in SET]
    makes_run = command["arguments"] == ["TABLE"] and any(f["name"] == "out" for f in command["flags"]) and any(f["name"] == "no-report" for f in command["flags"])
    outside = [f for f in command["flags"] if f["name"] == "out"] if not makes_run else []
    flags += outside
    positional, passed = [], []
    for word in command["arguments"]:
        plain = word.strip("[].").lower()
        kind = "Any" if plain in ("table", "model") else "Result | str | os.PathLike" if plain.startswith("run") else "str"
        if word.endswith("..."):
            positional.append(f"*{plain}s: {kind}")
            passed.append(f"*{plain}s")
        else:
            positional.append(f"{plain}: {kind}" + (" | None = None" if word.startswith("[") and kind != "Any" else " = None" if word.startswith("[") else ""))
            passed.append(plain)
    arguments = list(positional)
    if not any(a.startswith("*") for a in arguments):
        arguments.append("*")
    for flag in flags:
        default = "False" if flag["type"] == "bool" else "None"
        of = annotation(flag)
        arguments.append(f"{python_name(flag['name'])}: {of}{'' if default == 'False' or of == 'Any' else ' | None'} = {default}")
    if makes_run:
        arguments += ["out: str | os.PathLike | None = None", 'on_failed: Literal["raise", "warn", "ignore"] = "raise"']
    arguments.append("progress: bool | None = None")
    lines = [f"def {name}(", *[f"    {a}," for a in arguments], f") -> {'Result' if makes_run else 'Answer'}:"]
    lines.append(f'    """{described(command["short"]).rstrip(".")}.')
    lines += ["", *paragraphs(described(command["long"]), "    "), "", "    Parameters", "    ----------"]
    if makes_run:
        lines += ["    table", *paragraphs("A pandas or Polars data frame, a pyarrow Table, a mapping of columns, or the path of a CSV or Parquet file.", "        ")]
    for flag in flags:
        lines.append(f"    {python_name(flag['name'])}")
        usage = described(flag["usage"])
        if flag["default"] not in ("", "[]", "false", "0", "0s") and "(default" not in usage:
            usage += f" (default {flag['default']})"
        lines += paragraphs(usage[:1].upper() + usage[1:] + ".", "        ")
    if makes_run:
        lines += ["    out", *paragraphs("Directory to keep the run in, which must not exist; a data frame is kept beside it. By default a temporary one, which lives as long as the result.", "        ")]
        lines += ["    on_failed", *paragraphs('What an answer with the verdict failed does: "raise" FailedVerdict, "warn" or "ignore". A doubtful answer warns.', "        ")]
    lines += ["    progress", *paragraphs("Whether to show a progress bar; by default in terminals and notebooks.", "        "), '    """']
    given = [f'        ("{f["name"]}", "{"file" if f["value"] == "file" and f["type"] == "string" and f not in outside else f["type"]}", {python_name(f["name"])}),' for f in flags]
    lines += ["    given = [", *given, "    ]"]
    if makes_run:
        lines.append(f'    return answer("{command["name"]}", table, given, out=out, progress=progress, on_failed=on_failed)')
    else:
        lines.append(f'    return ask("{command["name"]}", [{", ".join(passed)}], given, progress=progress)')
    return name, "\n".join(lines)


def source() -> str:
    description = json.loads(subprocess.check_output([program.find(), "describe"], text=True))
    functions = [function(c) for c in description["commands"] if c["name"].split()[0] not in LEFT_OUT]
    names = "[\n" + "".join(f'    "{name}",\n' for name, _ in functions) + "]"
    return HEADER.format(names=names) + "".join(f"\n\n{text}\n" for _, text in functions)


if __name__ == "__main__":
    text = source()
    if "--check" not in sys.argv[1:]:
        OUT.write_text(text, encoding="utf-8")
    elif OUT.read_text(encoding="utf-8") != text:
        sys.exit(f"{OUT.name} is not what generate.py writes: run it, and commit the file")
