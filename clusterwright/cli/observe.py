"""``clusterwright observe``: a cluster that runs, as a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.streams import (
    emit,
    open_catalog,
    open_spec,
    output_options,
    overlay_option,
    print_table,
    say,
    set_option,
)

if TYPE_CHECKING:
    from clusterwright.operate import Observation

__all__ = ["command"]


@click.command()
@click.option(
    "--site",
    "site_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="site.yaml of a running cluster; the only lab that is up when left out.",
)
@click.option(
    "--dump",
    "dump_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Read a folder of files that --how makes, in place of a running cluster.",
)
@click.option("--how", "show_how", is_flag=True, help="Print the commands that make a dump, and do nothing else.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the spec.")
@click.option(
    "--cluster",
    "cluster_path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the cluster object of what was observed, cluster.json.",
)
@click.option(
    "--base",
    "base_path",
    type=click.Path(path_type=Path),
    metavar="SPEC",
    help="Lay what was observed over this spec: its workloads, sites and prices stay.",
)
@click.option("--group", metavar="NAME", help="Which group of nodes the spec describes; the one with the most GPUs.")
@click.option(
    "--spare", "spare_text", metavar="RULE", help="How spares are told: feature=NAME, partition=NAME or none."
)
@output_options("table", "json", "yaml")
@set_option
@overlay_option
def command(
    site_path: Path | None,
    dump_path: Path | None,
    show_how: bool,
    out: Path | None,
    cluster_path: Path | None,
    base_path: Path | None,
    group: str | None,
    spare_text: str | None,
    output: str,
    sets: tuple[str, ...],
    overlays: tuple[Path, ...],
) -> None:
    """Turn a cluster that runs into a spec that 'check' and 'design' take.

    Asks Slurm, or reads a dump of what its commands say (22.05 to 25.11, text or JSON). Nothing is guessed: what
    Slurm does not know stays with the design, what cannot be told is asked for, what a spec cannot hold is listed.
    """
    from clusterwright.operate import (
        Slurm,
        SpareRule,
        cluster_of,
        describe,
        files_of,
        find_site,
        how,
        read_dump,
        texts_of,
    )

    if show_how:
        click.echo(how())
        return
    if dump_path is not None and site_path is not None:
        raise click.UsageError("--dump is a folder, --site a running cluster: say one of them")
    try:
        spare = SpareRule.of(spare_text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    catalog = open_catalog(overlays)
    base: dict[str, Any] = {} if base_path is None else open_spec(base_path, (), catalog).tree
    if dump_path is not None:
        texts = files_of(dump_path)
    else:
        site = find_site(site_path)
        texts = texts_of(Slurm(site.slurm_conf))
    seen = describe(read_dump(texts), catalog, group=group, spare=spare, sets=sets, base=base)
    text = _written(seen, sets, catalog)
    if cluster_path is not None:
        from clusterwright.cluster import save

        save(cluster_of(seen), cluster_path)
    emit(seen.to_dict(), output, (), lambda: _show(seen, text, out))
    say(seen.findings)
    if out is not None:
        from clusterwright.cli.files import write_text

        write_text(out, text)
        click.echo(f"\nWritten to {out}. Next: clusterwright design {out}", err=True)


def _written(seen: Observation, sets: tuple[str, ...], catalog: Any) -> str:
    """The spec as text, after the grammar took it, with what the command line lays over it."""
    from clusterwright.spec import read_spec, written_anew

    head = f"# Observed: cluster {seen.name}, Slurm {seen.release or 'of unknown release'}, by clusterwright observe.\n"
    text = written_anew(seen.spec, ())
    spec = read_spec(text, "observed spec", sets, catalog)
    seen.spec = spec.tree
    return head + spec.text


def _show(seen: Observation, text: str, out: Path | None) -> None:
    click.echo(f"{seen.name}: Slurm {seen.release or 'of unknown release'}")
    rows = [
        {
            "group": one.name,
            "nodes": len(one.nodes),
            "spares": len(one.spares),
            "GPUs": one.gpus,
            "cores": one.cores,
            "GiB": one.memory_mib >> 10,
            "in the spec": "yes" if one is seen.group else "no",
        }
        for one in seen.groups
    ]
    print_table(rows)
    click.echo()
    if seen.tenants:
        print_table(
            [
                {
                    "tenant": one.account.name,
                    "share": one.share,
                    "quota": "auto" if one.quota is None else one.quota,
                    "limit": "" if one.limit is None else one.limit,
                    "priority": one.priority,
                    "people": len(one.users),
                }
                for one in seen.tenants
            ]
        )
        click.echo()
    if out is None:
        click.echo(text, nl=False)
