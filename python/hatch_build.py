"""Builds the program vti into the wheel of a platform.

VTI_TARGET, such as linux/arm64, builds for another platform than this one. The program is static:
it needs neither a C compiler to be built nor any library to run.
"""

import os
import pathlib
import re
import subprocess
import tempfile

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # version() alone needs nothing
    BuildHookInterface = object

HERE = pathlib.Path(__file__).resolve().parent

# The oldest systems that Go 1.26 runs on, as platform tags of wheels.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


def source() -> pathlib.Path:
    """The folder of the Go module: the repository, or its copy in a source distribution."""
    inside = HERE / "program"
    return inside if inside.is_dir() else HERE.parent


def version() -> str:
    """The version of the Go module, which is the version of this package."""
    found = re.search(r'const Version = "([^"]+)"', (source() / "doc.go").read_text())
    if not found:
        raise RuntimeError("doc.go names no version")
    return found[1]


def sources() -> list[str]:
    """The files of the repository that the program is built from."""
    listed = subprocess.check_output(["git", "ls-files"], cwd=source(), text=True).splitlines()
    aside = ("docs/", "examples/", "lab/", "python/", "testdata/", "cmd/vtilab/")
    return [f for f in listed if f.endswith((".go", ".s", ".h", ".js", ".html", ".css", "go.mod", "go.sum", "LICENSE")) and not f.endswith("_test.go") and not f.startswith(aside)]


def target() -> str:
    """The platform to build for, as Go names it."""
    asked = os.environ.get("VTI_TARGET", "")
    if not asked:
        system, processor = (subprocess.check_output(["go", "env", name], text=True).strip() for name in ("GOOS", "GOARCH"))
        asked = f"{system}/{processor}"
    if asked not in PLATFORMS:
        raise RuntimeError(f"VTI_TARGET: got {asked!r}, want one of {', '.join(PLATFORMS)}")
    return asked


class CustomBuildHook(BuildHookInterface):
    """Adds the program to a wheel, and its sources to a source distribution."""

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name == "sdist":
            build_data["force_include"].update({str(source() / file): f"program/{file}" for file in sources()})
        elif version != "editable":
            self.compile(build_data)

    def compile(self, build_data: dict) -> None:
        system, processor = target().split("/")
        name = "vti.exe" if system == "windows" else "vti"
        self.folder = tempfile.TemporaryDirectory()
        program = pathlib.Path(self.folder.name) / name
        subprocess.run(
            ["go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-buildvcs=false", "-o", str(program), "./cmd/vti"],
            cwd=source(),
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": processor},
            check=True,
        )
        build_data["force_include"][str(program)] = f"vti/program/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[f'{system}/{processor}']}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()
