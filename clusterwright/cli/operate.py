"""``clusterwright operate``: the watcher, and its memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, print_table
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.operate import Site
    from clusterwright.operate.watch import Action, Hands, Store

__all__ = ["command"]

SCHEMA = "clusterwright/operate/1"
_site = click.option(
    "--site", "site_path", type=click.Path(path_type=Path), metavar="FILE",
    help="site.yaml: how the cluster is reached; that of the only lab that is up when left out.",
)  # fmt: skip


@click.group()
def command() -> None:
    """Watch a cluster, and repair what can be repaired.

    'operate run' looks at Slurm, Prometheus and the nodes' checks and says what it would do; with --act it does it:
    nodes that fail are drained or given up, their jobs go on from their last checkpoint, a spare takes the place of a
    node that has left, and a node whose check passes comes back. Each action is written down with its evidence.
    """


@command.command()
@_site
@click.option("--act", is_flag=True, help="Do it; without, it is only said.")
@click.option("--once", is_flag=True, help="One round, then end.")
def run(site_path: Path | None, act: bool, once: bool) -> None:
    """Watch, until Ctrl-C. One watcher leads a site; a second one ends at once."""
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import read_policy, severities, watch

    site = find_site(site_path)
    watch(site, read_policy(site.policy), severities(), act=act, once=once, said=_line)


def _line(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {text}")


@command.command()
@_site
@click.option("--evidence", is_flag=True, help="What was seen, in place of what was done.")
@click.option("--last", type=click.IntRange(1, 100_000), default=50, help="How many, the newest first.")
@output_options("table", "json", "yaml", "csv")
def log(site_path: Path | None, evidence: bool, last: int, output: str) -> None:
    """List what was done, with the evidence for it."""
    store = _store(site_path)[1]
    rows = store.evidence(last) if evidence else [_row(one) for one in store.actions(most=last)]
    document = {"schema": SCHEMA, "breaker": store.meta("breaker"), "evidence" if evidence else "actions": rows}
    emit(document, output, rows, lambda: _show(rows))


@command.command()
@click.argument("action", metavar="ID", type=int)
@_site
@click.pass_context
def undo(ctx: click.Context, action: int, site_path: Path | None) -> None:
    """Take an action back; refused when somebody else has decided since."""
    from clusterwright.operate import Slurm
    from clusterwright.operate.watch import look

    site, store = _store(site_path)
    if _hands(site, store).undo(action, look(site, Slurm(site.slurm_conf))) is None:
        ctx.exit(EXIT_NO)


@command.command()
@_site
def reset(site_path: Path | None) -> None:
    """Let the watcher act again after its breaker stopped it."""
    store = _store(site_path)[1]
    was = store.meta("breaker")
    store.set_meta("breaker", "")
    click.echo(f"was: {was}" if was else "the breaker was not set")


@command.command()
@click.argument("kind", metavar="drain|return|retire", type=click.Choice(["drain", "return", "retire"]))
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option("--reason", default="by hand", metavar="TEXT", help="Why.")
@_site
@click.pass_context
def node(ctx: click.Context, kind: str, nodes: tuple[str, ...], reason: str, site_path: Path | None) -> None:
    """Drain, return or retire nodes by hand, written down like everything else."""
    from clusterwright.operate import Slurm
    from clusterwright.operate.watch import by_hand, look

    site, store = _store(site_path)
    seen = look(site, Slurm(site.slurm_conf))
    if not by_hand(_hands(site, store), seen, kind, nodes, reason):
        ctx.exit(EXIT_NO)


def _store(path: Path | None) -> tuple[Site, Store]:
    import getpass

    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store

    site = find_site(path)
    return site, Store.open(site.state, getpass.getuser())


def _hands(site: Site, store: Store) -> Hands:
    from clusterwright.operate import Slurm
    from clusterwright.operate.watch import Hands

    return Hands(Slurm(site.slurm_conf), store, False, click.echo)


def _row(one: Action) -> dict[str, Any]:
    return {"id": one.id, "at_s": one.at_s, "kind": one.kind, "target": one.target, "state": one.state, "who": one.who,
            "said": one.said, "why": one.detail.get("why", ""), "evidence": list(one.evidence)}  # fmt: skip


def _show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        click.echo("nothing")
        return
    shown = []
    for row in rows:
        at = time.strftime("%m-%d %H:%M:%S", time.localtime(row.get("at_s") or row.get("seen_s")))
        if "evidence" in row:
            shown.append({"id": row["id"], "at": at, "what": f"{row['kind']} {row['target']}", "state": row["state"],
                          "who": row["who"], "why": row["said"] or row["why"]})  # fmt: skip
        else:
            shown.append({"at": at, "node": row["node"], "what": row["kind"], "seen": row["text"]})
    print_table(shown)
