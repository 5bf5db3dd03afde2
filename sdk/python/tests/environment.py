"""A virtual environment with the packages that the SDK and its tests need, in the user's cache.

`python3 environment.py` prints the path of its Python. It ends with code 3, and a sentence, where the
packages can't be had. The environment is made once for each list of packages.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = (
    "paho-mqtt>=2.1,<3",
    "PySocks>=1.7",
    "build",
    "hatchling>=1.26",
    "psycopg[binary]>=3.1",
    "aiokafka>=0.12",
)
NO_PACKAGES = 3
INSTALL_SECONDS = 300


def find_python() -> Path:
    """The Python of the environment. Raises `RuntimeError` with a sentence."""
    mark = hashlib.sha256(repr((PACKAGES, sys.version_info[:2])).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fieldgate"
    folder = cache / f"python-sdk-{mark}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--retries=1",
            *PACKAGES,
        ]
        subprocess.run(install, check=True, timeout=INSTALL_SECONDS, capture_output=True)
    except subprocess.SubprocessError as error:
        raise RuntimeError(f"the packages of the Python SDK can't be installed from PyPI: {error}") from error
    (folder / "complete").touch()
    return python


if __name__ == "__main__":
    try:
        print(find_python())
    except (RuntimeError, OSError) as fault:
        print(fault, file=sys.stderr)
        sys.exit(NO_PACKAGES)
