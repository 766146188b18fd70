"""What pip would install is looked at before PyTorch is, so that no test pulls gigabytes of CUDA."""

import json

import pytest

from tests.lab.install_torch import light


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        (["torch", "sympy", "filelock"], True),
        (["torch", "nvidia-cublas-cu12"], False),  # the Linux wheel of PyPI
        (["torch", "triton"], False),
        (["torch", "pytorch-triton-rocm"], False),
    ],
)
def test_only_a_build_without_cuda_is_light(names: list[str], answer: bool) -> None:
    report = json.dumps({"install": [{"metadata": {"name": name}} for name in names]})
    assert light(report) is answer
