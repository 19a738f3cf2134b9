"""Runs the program with random flags on small random tables, and reports what no user should meet.

    go build -o vti ./cmd/vti && python3 benchmarks/random_flags.py ./vti --runs 300 --seed 1

Flags, their types and choices come from `vti describe`. A run is reported if it prints a stack trace or
an internal error, ends by a signal, fails without a message, prints JSON that cannot be read, or takes
much longer than its --max-time. A refused flag is no defect. Every fourth run reads an earlier run.
Run it on a quiet machine: the limit of time counts seconds. Tables and directories of reported runs are
copied to --keep.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMMANDS = ("varsel", "dag", "hbm", "order", "mixture", "changepoints", "exact", "exact dag", "rjmcmc varsel", "rjmcmc dag")
READING = ("certify", "predict", "loo", "effects", "export", "report", "show", "compare", "dag query")
# Flags that need files, hardware or other programs, or that this script sets.
LEFT_OUT = set(
    """exclude value column likelihood out resume json quiet stack help device pjrt-plugin draws edge-prior from graph
    inclusion-prior ld tiers truth shard no-report max-time time target formula open""".split()
)
NUMBERS = ("0.5", "0.05", "0.9", "0.3", "1", "2", "3", "10", "100", "0", "-1", "1e-9", "1e9")
COUNTS = ("1", "2", "3", "5", "10", "30", "100", "0")
OTHERS = ["g", "h", "t", "d", "y", "b", "k", "k3", "p", "s", "c"]  # columns that are no predictors
RESPONSES = {
    "gaussian": "y", "student": "y", "robust": "y", "logistic": "b", "poisson": "k", "negbinomial": "k",
    "zero-inflated-poisson": "k", "hurdle-poisson": "k", "gamma": "p", "lognormal": "p", "weibull": "p", "exponential": "p",
    "beta": "s", "categorical": "c", "cumulative-logit": "k3", "cumulative-probit": "k3",
}  # fmt: skip
TRACES = re.compile(r"goroutine \d|panic:|internal error|runtime error", re.I)


def write_table(path: pathlib.Path, rng: random.Random) -> list[str]:
    """Writes a table with responses of every kind, and returns the names of its predictors."""
    rows, count = rng.choice((3, 8, 15, 30, 60, 90)), rng.randint(2, 8)
    predictors = [f"x{j}" for j in range(count)]
    kind = rng.choice(("plain", "plain", "copies", "constant", "huge", "missing"))
    lines = [",".join(predictors + OTHERS)]
    for row in range(rows):
        x = [rng.gauss(0, 1) for _ in predictors]
        eta = x[0] + 0.3 * rng.gauss(0, 1)
        if kind == "copies":
            x[-1] = x[0]
        elif kind == "constant":
            x[-1] = 1.0
        elif kind == "huge":
            x = [1e8 * v for v in x]
        cells = [f"{v:.6g}" for v in x]
        if kind == "missing" and rng.random() < 0.1:
            cells[0] = ""
        rate = 2.7 ** max(min(eta, 4), -4)
        cells += [f"g{row % 5}", f"h{rng.randrange(4)}", str(row + 1), str(rng.randrange(2)), f"{eta:.6g}", str(int(eta > 0))]
        cells += [str(int(rate)), str(row % 3), f"{rate:.6g}", f"{rate / (1 + rate):.6g}", rng.choice("abc")]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return predictors


def value(flag: dict, columns: list[str], rng: random.Random) -> str | None:
    """A value for a flag, or None if this script knows none."""
    kind, name = flag["type"], flag["name"]
    if flag["choices"]:
        return rng.choice(flag["choices"])
    if kind in ("number", "float64"):
        return rng.choice(NUMBERS)
    if kind in ("count", "int", "uint64"):
        return rng.choice(COUNTS)
    if flag["value"] in ("column", "predictor", "strings"):
        return rng.choice([*columns, "none"])
    if name in ("interactions", "require", "forbid"):
        return (":" if name == "interactions" else "->").join(rng.sample(columns, 2))
    return None


def needed(command: str, predictors: list[str], rng: random.Random) -> list[str]:
    """The arguments that a command needs beside the table."""
    if "dag" in command:
        nodes = rng.sample([*predictors, "y"], min(len(predictors) + 1, 4))
        return ["--exclude", ",".join(c for c in predictors + OTHERS if c not in nodes)]
    if "varsel" in command or command == "exact":
        likelihood = rng.choice(list(RESPONSES) if command == "varsel" else ["gaussian", "logistic", "robust"])
        target = RESPONSES[likelihood]
        return ["--target", target, "--likelihood", likelihood, "--exclude", ",".join(c for c in OTHERS if c != target)]
    if command == "hbm":
        likelihood = rng.choice(("gaussian", "logistic", "poisson", "student", "negbinomial", "beta"))
        groups = rng.choice(("(1 | g)", "(x0 | g)", "(x0 || g)", "(1 | g) + (1 | h)", "(1 | g/h)"))
        return ["--formula", f"{RESPONSES[likelihood]} ~ {rng.choice(('x0', '1', 'x0 + h'))} + {groups}", "--likelihood", likelihood]
    if command == "mixture":
        return ["--column", "y"]
    return ["--value", "y"] + rng.choice(([], ["--time", "t"]))


def problems(status: int | None, output: str, errors: str, as_json: bool) -> list[str]:
    """What no user should meet in the results of a run."""
    found = []
    if TRACES.search(errors) or TRACES.search(output):
        found.append("stack trace")
    if status is None or not 0 <= status <= 10:
        found.append(f"status {status}")
    elif status != 0 and not errors.strip() and not output.strip():
        found.append("no message")
    elif as_json and status == 0:
        try:
            json.loads(output)
        except ValueError as error:
            found.append(f"JSON: {error}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression of commands")
    parser.add_argument("--verbose", action="store_true", help="print every run")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    program = options.program.resolve()
    described = json.loads(subprocess.run([program, "describe"], capture_output=True, check=True, text=True).stdout)
    flags = {command["name"]: {flag["name"]: flag for flag in command["flags"]} for command in described["commands"]}
    commands = [command for command in COMMANDS if re.search(options.only, command)]
    work = pathlib.Path(tempfile.mkdtemp())
    reported, statuses, finished = 0, {}, []
    for number in range(options.runs):
        rng = random.Random(f"{options.seed}/{number}")
        folder = work / str(number)
        folder.mkdir()
        predictors, limit = write_table(folder / "table.csv", rng), 120
        if finished and rng.random() < 0.25:
            command, arguments = rng.choice(READING), [str(rng.choice(finished))]
            if command == "compare":
                arguments.append(str(rng.choice(finished)))
            elif command == "export":
                arguments += ["--out", str(folder / "export")]
            elif command == "dag query":
                arguments.append("x0 -> x1")
        else:
            command = rng.choice(commands)
            arguments = [str(folder / "table.csv"), *needed(command, predictors, rng), "--out", str(folder / "run")]
            if "max-time" in flags[command]:
                limit = rng.choice((1, 2, 4))
                arguments += ["--max-time", f"{limit}s"]
            if rng.random() < 0.7:
                arguments.append("--no-report")
        free = [flag for name, flag in flags[command].items() if name not in LEFT_OUT]
        for flag in rng.sample(free, min(rng.choice((0, 1, 1, 2, 3)), len(free))):
            if flag["type"] == "bool":
                arguments.append(f"--{flag['name']}")
            elif (text := value(flag, [*predictors, "y", "g"], rng)) is not None:
                arguments.append(f"--{flag['name']}={text}")
        as_json = "json" in flags[command] and rng.random() < 0.5
        if as_json:
            arguments.append("--json")
        started = time.monotonic()
        try:
            done = subprocess.run([program, *command.split(), *arguments], capture_output=True, text=True, timeout=20 * limit, cwd=folder)
            status, output, errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, output, errors = None, "", ""
        seconds = time.monotonic() - started
        statuses[status] = statuses.get(status, 0) + 1
        found = problems(status, output, errors, as_json)
        if seconds > 2 * limit + 8:
            found.append(f"{seconds:.0f} s")
        if found or options.verbose:
            last = (errors.strip() or output.strip()).splitlines()[-1:]
            print(f"{number}: status {status}, {seconds:.1f} s, {found}: vti {command} {' '.join(map(repr, arguments))}\n    {last}", flush=True)
        if found:
            reported += 1
            if options.keep:
                shutil.copytree(folder, options.keep / str(number), dirs_exist_ok=True)
        if (folder / "run").exists():
            finished.append(folder / "run")
    print(f"{options.runs} runs, {reported} reported; exit statuses {statuses}")
    shutil.rmtree(work)
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main())
