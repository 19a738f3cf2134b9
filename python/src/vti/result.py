"""Answers of the program: their verdicts, their tables as data frames, and what can be asked of them."""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
import shutil
import tempfile
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from . import program, tables

if TYPE_CHECKING:
    import pandas


class DoubtfulWarning(UserWarning):
    """The answer may be right, but the computation does not show it."""


class FailedVerdict(program.VtiError):
    """The computation shows that the answer is not to be used. The attribute ``result`` has it."""

    def __init__(self, message: str, result: "Result"):
        super().__init__(message)
        self.result = result


class Answer:
    """What a command answers: the JSON object that it prints, with its lists as data frames.

    A list of objects is a ``pandas.DataFrame`` with a row for each; all else is as in ``json``.
    docs/schema in the repository of vti describes every field.
    """

    def __init__(self, content: dict[str, Any]):
        self.json = content

    def __getitem__(self, name: str) -> Any:
        return _framed(self.json[name])

    def __getattr__(self, name: str) -> Any:
        content = self.__dict__.get("json", {})
        if name.startswith("_") or name not in content:
            raise AttributeError(f"this answer has no {name!r}; it has {', '.join(content)}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.json]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.json)}>"


def _framed(value: Any) -> Any:
    """Lists of objects as data frames; objects within objects become columns a.b."""
    if not (isinstance(value, list) and value and all(isinstance(row, dict) for row in value)):
        return value
    import pandas

    return pandas.json_normalize(value)


class Result(Answer):
    """The answer to a question about a table, and the run directory that has all of it.

    The fields of the answer are attributes: ``inclusion``, ``models`` and ``coefficients`` of a
    selection, ``edges`` and ``graphs`` of graphs, ``terms`` and ``sds`` of a
    hierarchy, ``log_evidence``, ``certificate``, and so on; ``dir(result)`` lists them. A field that
    has the name of a method is ``result["effects"]``, which all fields can be.
    """

    def __init__(self, directory: str | os.PathLike, content: dict[str, Any] | None = None):
        self.directory = pathlib.Path(directory)
        if content is None:
            path = self.directory / "result.json"
            if not path.is_file():
                raise FileNotFoundError(f"{self.directory} is no finished run: it has no result.json")
            content = json.loads(path.read_text(encoding="utf-8"))
        super().__init__(content)

    @property
    def verdict(self) -> str:
        """trusted, doubtful or failed. Sums over all subsets, of exact, need no certificate."""
        if self.json.get("command") == "exact":
            return "trusted"
        return (self.json.get("certificate") or {}).get("verdict", "")

    @property
    def reasons(self) -> list[str]:
        """Why the answer is not trusted; empty where it is."""
        return list((self.json.get("certificate") or {}).get("reasons") or [])

    @property
    def draws(self) -> "pandas.DataFrame":
        """Draws from the posterior over models and parameters, a row each."""
        import pandas

        path = self.directory / "draws.parquet"
        if not path.is_file():
            raise FileNotFoundError(f"a run of vti {self.json.get('command')} has no draws")
        return pandas.read_parquet(path)

    def table(self, name: str) -> "pandas.DataFrame":
        """Returns a table of the run directory, such as ``fitted`` (fitted.csv)."""
        import pandas

        path = self.directory / f"{name}.csv"
        if not path.is_file():
            have = sorted(p.stem for p in self.directory.glob("*.csv"))
            raise FileNotFoundError(f"the run has no table {name!r}; it has {', '.join(have)}")
        return pandas.read_csv(path)

    def text(self) -> str:
        """Returns the answer as the command line prints it."""
        return program.plain(["show", str(self.directory)])

    def predict(self, table: Any = None, **flags: Any) -> Answer:
        """Predicts rows; see :func:`vti.predict`. Its ``predictions`` have a row for each."""
        from . import commands

        return commands.predict(self, table, **flags)

    def effects(self, **flags: Any) -> Answer:
        """Computes marginal means, contrasts and conditional effects; see :func:`vti.effects`."""
        from . import commands

        return commands.effects(self, **flags)

    def check(self, **flags: Any) -> Answer:
        """Checks how well the run describes and predicts its table; see :func:`vti.check`."""
        from . import commands

        return commands.check(self, **flags)

    def compare(self, other: "Result | str | os.PathLike", **flags: Any) -> Answer:
        """Compares two runs on one table; see :func:`vti.compare`."""
        from . import commands

        return commands.compare(self, other, **flags)

    def query(self, query: str, **flags: Any) -> Answer:
        """Computes a conditional or interventional probability of a graph; see :func:`vti.dag_query`."""
        from . import commands

        return commands.dag_query(self, query, **flags)

    def to_arviz(self):
        """Returns ArviZ InferenceData: draws, log likelihood, predictions and the number of the model."""
        import arviz
        import xarray

        store = self.directory / "arviz.zarr"
        if not store.exists():
            program.run(["export", str(self.directory), "--format=arviz", f"--out={store}", "--json"], progress=False)
        tree = xarray.open_datatree(store, engine="zarr")
        return arviz.from_datatree(tree) if hasattr(arviz, "from_datatree") else tree

    def to_networkx(self, least: float = 0.0):
        """Returns the graph of all edges of at least a probability, as a ``networkx.DiGraph``.

        Edges have the attribute ``probability``.
        """
        import networkx

        if "edges" not in self.json:
            raise TypeError(f"a run of vti {self.json.get('command')} has no edges")
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.json["data"]["nodes"])
        for edge in self.json["edges"] or []:
            for cause, effect, probability in ((edge["from"], edge["to"], edge["prob"]), (edge["to"], edge["from"], edge["prob_reverse"])):
                if probability > 0 and probability >= least:
                    graph.add_edge(cause, effect, probability=probability)
        return graph

    def report(self) -> pathlib.Path:
        """Returns the path of a page with all of the answer and its pictures, which it makes if need be."""
        path = self.directory / "report.html"
        if not path.is_file():
            program.plain(["report", str(self.directory)])
        return path

    def save(self, directory: str | os.PathLike) -> "Result":
        """Copies the run directory, and returns the run there. Nothing is overwritten."""
        return Result(shutil.copytree(self.directory, directory))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        self.report()
        figures = self.directory / "figures"
        pictures = [file for name in MAIN_PICTURES if (file := figures / f"{name}.svg").is_file()]
        shown = "".join(f'<img style="max-width:45em" src="data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}">' for file in pictures[:2])
        return f'<pre style="font-family: monospace; white-space: pre; overflow-x: auto">{html.escape(self.text())}</pre>{shown}'


# Pictures that a notebook shows of an answer, at most two.
MAIN_PICTURES = ("inclusion", "graph", "terms", "effects", "counts", "levels", "density", "curve")


def resume(directory: str | os.PathLike, *, progress: bool | None = None, on_failed: str = "raise") -> Result:
    """Continues a run that was stopped, from its directory."""
    directory = pathlib.Path(directory)
    asked = directory / "run.json"
    if not asked.is_file():
        raise FileNotFoundError(f"{directory} is no run: it has no run.json")
    command = json.loads(asked.read_text(encoding="utf-8"))["command"]
    content, status = program.run([*command.split(), f"--resume={directory}", "--json"], progress)
    return judged(Result(directory, content), status, on_failed, 2)


def judged(result: Result, status: int, on_failed: str, depth: int) -> Result:
    """Returns the result if it is trusted, warns if it is doubtful, and raises if it failed.

    depth is the number of calls between the user's line, to which warnings point, and this one.
    """
    because = f": {'; '.join(result.reasons)}" if result.reasons else ""
    if status == program.FAILED_VERDICT:
        if on_failed == "raise":
            raise FailedVerdict(f"the answer is not to be used{because}", result)
        if on_failed == "warn":
            warnings.warn(f"the answer is not to be used{because}", DoubtfulWarning, stacklevel=depth + 1)
    elif result.verdict == "doubtful":
        warnings.warn(f"the answer may be right, but the computation does not show it{because}", DoubtfulWarning, stacklevel=depth + 1)
    return result


def answer(command: str, table: Any, given: list[tuple[str, str, Any]], *, out: str | os.PathLike | None, progress: bool | None, on_failed: str) -> Result:
    """Runs a command on a table. given are its flags: names, kinds and values."""
    if on_failed not in ("raise", "warn", "ignore"):
        raise ValueError(f"on_failed: got {on_failed!r}, want 'raise', 'warn' or 'ignore'")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vti-"))
    directory = pathlib.Path(out) if out is not None else folder / "run"
    try:
        # A run reads its table again to predict and to check, so that a frame stays beside it.
        file = tables.to_file(table, directory.parent, directory.name + ".parquet")
        words = [*command.split(), file, f"--out={directory}", "--json", "--no-report"]
        for name, kind, value in given:
            words += tables.flag(name, kind, value, folder)
        content, status = program.run(words, progress)
        result = Result(directory, content)
    except BaseException as stopped:
        if isinstance(stopped, KeyboardInterrupt) and (directory / "run.json").is_file():
            warnings.warn(f"stopped: vti.resume({str(directory)!r}) continues the run", stacklevel=3)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return judged(result, status, on_failed, 3)


def ask(command: str, arguments: list[Any], given: list[tuple[str, str, Any]], *, progress: bool | None = None) -> Answer:
    """Runs a command that has no run directory of its own, such as predict."""
    with tempfile.TemporaryDirectory(prefix="vti-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        words = command.split()
        for i, argument in enumerate(arguments):
            if isinstance(argument, Result):
                words.append(str(argument.directory))
            elif argument is not None:
                words.append(tables.to_file(argument, folder, f"table{i}.parquet"))
        for flag, kind, value in given:
            words += tables.flag(flag, kind, value, folder)
        content, _ = program.run([*words, "--json"], progress)
    return Answer(content)
