"""What all tests share: tests marked ``browser`` need Chromium, which is optional here and required in CI."""

import os
import shutil

import pytest
from hypothesis import settings

# Machines are shared: a slow example is no failure, and every run tries the same examples.
settings.register_profile("shared", deadline=None, derandomize=True)
settings.load_profile("shared")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip browser tests where there is no browser, unless one was promised."""
    if item.get_closest_marker("browser") and shutil.which("chromium") is None:
        if os.environ.get("CLUSTERWRIGHT_NEEDS_BROWSER"):
            pytest.fail("Chromium is not installed: make tools")
        pytest.skip("Chromium is not installed: make tools")
