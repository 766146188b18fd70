"""Install PyTorch for the tests that train, where that is a CPU build; say so when it is not.

Usage: python install_torch.py torch==2.13.0

On Linux the plain wheel of PyPI brings gigabytes of CUDA. So what pip would install is looked at first, then the index
of CPU builds is tried; when neither serves, nothing is installed and the tests that train are skipped, visibly.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
HEAVY = ("nvidia-", "cuda-", "triton", "pytorch-triton")
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def light(report: str) -> bool:
    """Whether nothing in pip's report of what it would install comes with CUDA or ROCm."""
    names = [str(one["metadata"]["name"]).lower() for one in json.loads(report)["install"]]
    return not any(name.startswith(HEAVY) for name in names)


def would(wanted: str, *more: str) -> bool:
    """Whether pip would install it without CUDA."""
    words = [*PIP, "--dry-run", "--report", "-", wanted, *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    return done.returncode == 0 and light(done.stdout)


def main(wanted: str) -> None:
    """Install, or say why not."""
    version = wanted.partition("==")[2]
    try:
        if importlib.metadata.version("torch").partition("+")[0] == version:
            return
    except importlib.metadata.PackageNotFoundError:
        pass
    for more in ((), ("--index-url", CPU_INDEX)):
        if would(wanted, *more):
            subprocess.run([*PIP, wanted, *more], check=True)
            return
    print(f"SKIPPED: no CPU build of {wanted} can be had here; tests that train are skipped", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
