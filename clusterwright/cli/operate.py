"""``clusterwright operate``: the watcher, and its memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import emit, output_options, print_table, say
from clusterwright.errors import EXIT_NO

if TYPE_CHECKING:
    from clusterwright.findings import Finding
    from clusterwright.operate.watch import Action

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
    node that has left, and a node whose checks pass comes back. Each action is written down with its evidence.
    """


@command.command()
@_site
@click.option("--act", is_flag=True, help="Do it; without, it is only said.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done; so it is without --act.")
@click.option("--once", is_flag=True, help="One round, then end.")
@click.option("--standby", is_flag=True, help="When another watcher leads, wait for its end.")
@click.option("--listen", "address", metavar="HOST:PORT", help="Metrics and status over HTTP, such as 127.0.0.1:9095.")
@click.pass_context
def run(
    ctx: click.Context, site_path: Path | None, act: bool, dry_run: bool, once: bool, standby: bool, address: str | None
) -> None:
    """Watch, until Ctrl-C. One watcher leads a site; a second one ends at once with exit code 1."""
    from clusterwright.errors import WorldError
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Watcher, listen, read_policy, watch

    if act and dry_run:
        raise click.UsageError("--act and --dry-run do not go together")
    if address is not None and not act:
        raise click.UsageError("--listen needs --act: a dry run has no state to show")

    def serve(watcher: Watcher) -> None:
        if address is not None:
            listen(address, watcher.store, lambda: vars(watcher.policy))

    site = find_site(site_path)
    policy = read_policy(site.policy, site.bundle)
    try:
        closed = watch(site, policy, act=act, once=once, standby=standby, say=_line, find=_find, serve=serve)
    except WorldError as error:
        if all(one.code != "WATCH-LEADER" for one in error.findings):
            raise
        say(error.findings)
        ctx.exit(EXIT_NO)
    if not closed:
        ctx.exit(EXIT_NO)


def _line(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {_plain(text)}")


def _find(finding: Finding) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} ", err=True, nl=False)
    say([finding])


@command.command()
@_site
@click.option("--evidence", is_flag=True, help="What was seen, in place of what was done.")
@click.option(
    "--last", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many, the newest last."
)
@output_options("table", "json", "yaml", "csv")
def log(site_path: Path | None, evidence: bool, last: int, output: str) -> None:
    """List what was done, or what was seen."""
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store, leading

    store = Store(find_site(site_path).state, copy=True)
    if evidence:
        rows = [{**c.to_dict(), "open": c.open, "fate": c.fate} for c in store.conditions(only_open=False)[-last:]]
        shown = [{"node": r["node"], "what": r["kind"], "source": r["source"], "detail": r["detail"],
                  "began": _clock(r["began_s"]), "holds": r["open"], "fate": r["fate"]} for r in rows]  # fmt: skip
    else:
        rows = [one.to_dict() for one in store.actions()[-last:]]
        shown = [_row(one) for one in store.actions()[-last:]]
    document = {"schema": SCHEMA, "breaker": store.meta("breaker"), "leader": leading(store),
                "evidence" if evidence else "actions": rows}  # fmt: skip
    shown = [{key: _plain(value) for key, value in row.items()} for row in shown]
    emit(document, output, shown, lambda: print_table(shown) if shown else click.echo("nothing yet"))


def _plain(value: Any) -> Any:
    """Reasons and names are somebody's text: nothing in them moves a cursor."""
    return "".join(c if c.isprintable() else "?" for c in value) if isinstance(value, str) else value


def _clock(at_s: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.localtime(at_s))


def _row(one: Action) -> dict[str, Any]:
    return {"id": one.id, "at": _clock(one.made_s), "took_s": round(one.changed_s - one.made_s, 1), "state": one.state,
            "what": one.kind, "where": one.target, "cause": one.cause, "by": one.by, "note": one.note}  # fmt: skip


@command.command()
@click.argument("number", metavar="ID", type=int)
@_site
@output_options("table", "json", "yaml")
def show(number: int, site_path: Path | None, output: str) -> None:
    """Show one action with its evidence."""
    from clusterwright.errors import InputError
    from clusterwright.operate import FINDINGS, find_site
    from clusterwright.operate.watch import Store

    one = Store(find_site(site_path).state, copy=True).action(number)
    if one is None:
        raise InputError(FINDINGS["WATCH-ACTION"].at(str(number), "no action has that number", "operate log"))
    held = one.to_dict()

    def table() -> None:
        print_table([{"what": key, "is": _plain(str(held[key]))} for key in held if key not in ("evidence", "params")])
        rows = [{"source": e["source"], "kind": e["kind"], "detail": _plain(e["detail"]), "began": _clock(e["began_s"]),
                 "fingerprint": e["fingerprint"]} for e in one.evidence]  # fmt: skip
        if rows:
            click.echo()
            print_table(rows)

    emit({"schema": SCHEMA, "action": held}, output, (), table)


@command.command()
@click.argument("number", metavar="ID", type=int)
@_site
@click.pass_context
def undo(ctx: click.Context, number: int, site_path: Path | None) -> None:
    """Take an action back; what ended a job cannot be."""
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store, taken_back, whoami

    site = find_site(site_path)
    store = Store(site.state)
    _carry_out(ctx, site_path, [taken_back(store, number, whoami())])


@command.command()
@_site
def resume(site_path: Path | None) -> None:
    """Let the watcher act again after its breaker has opened."""
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store, whoami
    from clusterwright.operate.watch import resume as close

    was = close(Store(find_site(site_path).state), whoami())
    click.echo(f"closed; it was open because {was}" if was else "the breaker was not open")


@command.command()
@click.argument("role", type=click.Choice(["viewer", "operator", "admin"]))
@_site
def token(role: str, site_path: Path | None) -> None:
    """Make a token for what 'run --listen' serves; it is shown once, only its hash is kept."""
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store, new_token, whoami

    site = find_site(site_path)
    made = new_token(site.state / "tokens", role, whoami())
    Store(site.state).tell("token made", whoami(), role=role)
    click.echo(made)


def _by_hand(kind: str, told: str) -> None:
    @command.command(kind, help=told)
    @click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
    @click.option("--reason", default="", metavar="TEXT", help="Why; it is written down.")
    @_site
    @click.pass_context
    def verb(ctx: click.Context, nodes: tuple[str, ...], reason: str, site_path: Path | None) -> None:
        from clusterwright.operate.watch import asked, whoami

        _carry_out(ctx, site_path, [asked(kind, node, whoami(), reason[:100]) for node in nodes])


_by_hand("drain", "Take nodes out of service by hand; they stay out until a person gives them back.")
_by_hand("return", "Give nodes back to service.")
_by_hand("retire", "Take nodes out for good.")


def _carry_out(ctx: click.Context, site_path: Path | None, actions: list[Action]) -> None:
    from clusterwright.operate import find_site
    from clusterwright.operate.watch import Store, read_policy, wait_for

    site = find_site(site_path)
    store, policy = Store(site.state), read_policy(site.policy, site.bundle)
    good = True
    for one in actions:
        done = wait_for(site, store, policy, one, 30.0, lambda _: None)
        click.echo(_plain(f"{done.id} {done.kind} {done.target}: {done.state}{', ' + done.note if done.note else ''}"))
        good = good and done.state in ("done", "undone")
    if not good:
        ctx.exit(EXIT_NO)
