from __future__ import annotations
def check(folder):
    return iter(())
