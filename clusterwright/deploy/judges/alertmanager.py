"""amtool: whether Alertmanager takes its configuration, and where alerts go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["AMTOOL", "PROGRAMS", "config_judge", "route"]

AMTOOL = Program("amtool", "sudo apt install prometheus-alertmanager")
PROGRAMS = (AMTOOL,)


def config_judge(folder: Folder, routes: Sequence[tuple[Mapping[str, str], str]]) -> Iterator[Check]:
    """Configurations of every site.

    Args:
        folder: the bundle.
        routes: labels of an alert -> receiver that it must reach.
    """
    if AMTOOL.path is None:
        return
    for path in folder.glob("monitoring/*/alertmanager/*.yml"):
        file = str((folder.root / path).resolve())
        done = run([AMTOOL.path, "check-config", file])
        said = "configuration" if done.code == 0 else done.text.replace(file, "")[:400].replace("\n", " ")
        yield Check(path, "amtool", AMTOOL.version, "tool", done.code == 0, said)
        if done.code == 0:
            wrong = [text for labels, receiver in routes if (text := route(file, labels, receiver))]
            said = "; ".join(wrong) or f"{len(routes)} alerts reach who they must"
            yield Check(path, "amtool", AMTOOL.version, "tool", not wrong, said)


def route(file: str, labels: Mapping[str, str], receiver: str) -> str:
    """What is wrong with where an alert goes; empty when it reaches the receiver."""
    words = [f"{name}={value}" for name, value in labels.items()]
    done = run(
        [
            AMTOOL.path or "",
            "config",
            "routes",
            "test",
            f"--config.file={file}",
            f"--verify.receivers={receiver}",
            *words,
        ]
    )
    return "" if done.code == 0 else f"an alert of {', '.join(words)} reaches {done.text.split()[:1]}, not {receiver}"
