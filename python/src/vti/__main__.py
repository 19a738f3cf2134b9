"""The program itself, as the command ``vti`` or ``python -m vti``."""

import os
import subprocess
import sys

from . import program


def main() -> None:
    """Runs the program with the words of this process, in its place where the system can do that."""
    words = [program.find(), *sys.argv[1:]]
    if sys.platform != "win32":
        os.execv(words[0], words)
    sys.exit(subprocess.run(words).returncode)


if __name__ == "__main__":
    main()
