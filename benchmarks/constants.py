"""Whether constants of vti matter: a screening that changes all constants of a group at once.

    go build ./cmd/vtilab
    python3 benchmarks/constants.py --vtilab ./vtilab                       # all groups
    python3 benchmarks/constants.py --vtilab ./vtilab --only mixture wide   # some groups

constants.txt lists groups of constants, each with the runs of lab/regress/runs.txt that use it. A build has all constants
of the groups named at half their values, and another at twice (or at what the list gives where half or twice is not
possible). "vtilab regress" compares the answers of each with those of the present build, run by run. The sources in the
folder are not touched: the builds read changed copies ("go build -overlay").

The present build counts which lines run ("go build -cover"), so that constants which no run of their group reads are
listed too: for them the screening says nothing. Counting takes time, so processor seconds compare between half and twice
only. A group whose answers differ is split with --names, until the constant that matters is found.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


class Constant:
    def __init__(self, line):
        self.file, self.name, self.value, self.half, self.twice = (part.strip() for part in line.split("|"))

    def pattern(self):
        """The place of the constant, whatever the blanks in it."""
        parts = [r"\s*".join(re.escape(word) for word in text.split()) for text in (self.name, self.value)]
        return re.compile(r"(?<![\w.])(" + parts[0] + r"\s*[=:]?\s*)" + parts[1] + r"(?![\w.])")

    def identifiers(self):
        return re.findall(r"[A-Za-z_]\w+", self.name)


def read_list(path):
    groups, group = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("["):
            name, runs = line[1:].split("]", 1)
            group = groups[name] = (runs.strip(), [])
        elif line.strip() and not line.startswith("#"):
            group[1].append(Constant(line))
    return groups


def changed(constants, which, folder):
    """Writes copies of the sources with the values named by which, and returns the overlay."""
    texts = {}
    for constant in constants:
        text = texts.get(constant.file) or (ROOT / constant.file).read_text()
        new = getattr(constant, which)
        text, count = constant.pattern().subn(lambda match: match.group(1) + new, text)
        if count != 1:
            sys.exit(f"{constant.file}: expected one place with {constant.name} = {constant.value}, found {count}")
        texts[constant.file] = text
    replace = {}
    for name, text in texts.items():
        copy = folder / which / "src" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        replace[str(ROOT / name)] = str(copy)
    overlay = folder / which / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replace}))
    return overlay


def build(binary, overlay=None):
    binary.parent.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-o", str(binary)]
    # Files of an overlay are not counted: with both, go 1.26 builds the present sources.
    command += ["-overlay", str(overlay)] if overlay else ["-cover", "-coverpkg=./..."]
    subprocess.run(command + ["./cmd/vti"], cwd=ROOT, check=True)


def record(arguments, binary, runs, out, cover):
    cover.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)  # an old record must not stand for a comparison that failed
    subprocess.run(  # its status is not zero where a verdict is worse
        [arguments.vtilab, "regress", "--binary", str(binary), "--only", runs, "--out", str(out), "--data", arguments.data],
        cwd=ROOT, env=dict(os.environ, GOCOVERDIR=str(cover)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not out.exists():
        sys.exit(f"{arguments.vtilab} regress --only '{runs}' wrote no record")


def unread(constants, cover):
    """The constants that are used on no line that ran."""
    lines = set()
    profile = cover / "profile.txt"
    subprocess.run(["go", "tool", "covdata", "textfmt", f"-i={cover}", f"-o={profile}"], cwd=ROOT, check=True)
    for line in profile.read_text().splitlines()[1:]:
        place, _, count = line.rsplit(" ", 2)
        if count != "0":
            name, _, span = place.rpartition(":")
            start, end = (int(point.split(".")[0]) for point in span.split(","))
            lines.update((name, number) for number in range(start, end + 1))
    module = (ROOT / "go.mod").read_text().split()[1]
    names = []
    for constant in constants:
        found = False
        for path in sorted((ROOT / constant.file).parent.glob("*.go")):
            name = f"{module}/{path.relative_to(ROOT)}"
            for number, text in enumerate(path.read_text().splitlines(), 1):
                code = text.split("//")[0]
                if any(re.search(rf"\b{word}\b", code) for word in constant.identifiers()) and (name, number) in lines:
                    found = True
        if not found:
            names.append(constant.name)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=pathlib.Path, default=HERE / "constants.txt")
    parser.add_argument("--vtilab", default="./vtilab", help="the program that compares")
    parser.add_argument("--data", default="../shared/data", help="the folder of shared data sets")
    parser.add_argument("--work", type=pathlib.Path, help="folder for builds and records, kept; default a temporary one")
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="groups to change together; default all")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="change only these constants of the groups")
    parser.add_argument("--which", nargs="+", default=["half", "twice"], choices=["half", "twice"])
    parser.add_argument("--keep", action="store_true", help="use the builds that the folder of --work already has")
    arguments = parser.parse_args()
    if arguments.keep and not arguments.work:
        parser.error("--keep needs --work, the folder with the builds")
    arguments.vtilab = str(pathlib.Path(arguments.vtilab).resolve())
    groups = read_list(arguments.list)
    groups = {name: groups[name] for name in arguments.only or groups}
    constants = [c for _, members in groups.values() for c in members if not arguments.names or c.name in arguments.names]
    with tempfile.TemporaryDirectory() as temporary:
        screen(arguments, groups, constants, (arguments.work or pathlib.Path(temporary)).resolve())


def screen(arguments, groups, constants, work):
    base = work / "base" / "vti"
    if not arguments.keep:
        build(base)
        for which in arguments.which:
            build(work / which / "vti", changed(constants, which, work))
    for name, (runs, members) in groups.items():
        members = [c for c in members if c in constants]
        print(f"[{name}] {len(members)} constants, runs {runs}", flush=True)
        cover = work / "cover" / name
        record(arguments, base, runs, work / f"{name}-base.json", cover)
        for which in arguments.which:
            out = work / f"{name}-{which}.json"
            record(arguments, work / which / "vti", runs, out, cover)
            compared = subprocess.run([arguments.vtilab, "regress", "--compare", str(work / f"{name}-base.json"), str(out)],
                                      cwd=ROOT, capture_output=True, text=True, check=False)
            print(f"{which}:\n{compared.stdout}{compared.stderr}", flush=True)
        print("read by no run:", ", ".join(unread(members, cover)) or "none", flush=True)


if __name__ == "__main__":
    main()
