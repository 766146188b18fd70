"""Monitoring: Prometheus, Alertmanager, exporters and Grafana of every site."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from clusterwright.deploy.bundle import Check, File, Folder
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.judges import Program
from clusterwright.deploy.judges import alertmanager as amtool
from clusterwright.deploy.judges import grafana as grafana_judges
from clusterwright.deploy.judges import prometheus as promtool
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.monitoring import alertmanager, dcgm, grafana, rules, ruletests, scrape
from clusterwright.deploy.targets.monitoring.check import check
from clusterwright.deploy.targets.monitoring.check_grafana import panel_queries
from clusterwright.deploy.targets.monitoring.facts import facts
from clusterwright.deploy.targets.monitoring.figures import Place, place
from clusterwright.deploy.targets.monitoring.reading import Here, data
from clusterwright.deploy.text import as_json, as_yaml, fill
from clusterwright.traces import Level, number

__all__ = ["TARGET"]

_RELOAD = "systemctl reload prometheus"
_NAMES: dict[Level, str] = {"node": "node", "cluster": "site"}


def _files(inventory: Inventory) -> Iterator[File]:
    for site in inventory.sites:
        here = place(inventory, site)
        for make in (_servers, _targets, _rules, _alerting, _exporters, _grafana):
            for file in make(here):
                yield file._replace(path=f"monitoring/{site.name}/{file.path}")


def _said(place: Place, what: str) -> str:
    return f"{what} of {place.site.name}; rendered by clusterwright, do not edit"


def _yaml(place: Place, path: str, what: str, data: Any, after: str) -> File:
    return File(path, as_yaml(data, comment=_said(place, what)), after=after)


def _servers(place: Place) -> Iterator[File]:
    hosts = {host.name: host for host in place.hosts("Prometheus")}
    for i, name in enumerate(place.servers):
        yield _yaml(place, f"prometheus/{name}.yml", f"Prometheus on {name}", scrape.prometheus(place, i), _RELOAD)
        flags = " ".join(scrape.service_flags(place, hosts[name]))
        text = fill("monitoring/flags.default.j2", what="Prometheus", host=name, flags=flags)
        yield File(f"prometheus/{name}.default", text, after="systemctl restart prometheus")


def _targets(place: Place) -> Iterator[File]:
    """Prometheus watches these files, so nothing need be told of a change."""
    for job in scrape.jobs(place):
        yield File(f"prometheus/targets/{job.name}.json", scrape.targets_text(job.targets(place)))


def _rules(place: Place) -> Iterator[File]:
    for level, name in _NAMES.items():
        records, alerts = rules.record_file(place, level), rules.alert_file(place, level)
        yield _yaml(place, f"prometheus/rules/{name}-records.yml", f"recording rules ({level})", records, _RELOAD)
        yield _yaml(place, f"prometheus/rules/{name}-alerts.yml", f"alerts ({level})", alerts, _RELOAD)
    for name, test in ruletests.tests(place).items():
        yield _yaml(place, f"prometheus/tests/{name}.test.yml", f"tests of rules ({name})", test, "")
    yield File("alerts.md", rules.handbook(place))


def _alerting(place: Place) -> Iterator[File]:
    data = alertmanager.alertmanager(place)
    yield _yaml(
        place, "alertmanager/alertmanager.yml", "Alertmanager", data, "systemctl reload prometheus-alertmanager"
    )
    for i, host in enumerate(place.hosts("Alertmanager")):
        flags = " ".join(alertmanager.flags(place, i))
        text = fill("monitoring/flags.default.j2", what="Alertmanager", host=host.name, flags=flags)
        yield File(f"alertmanager/{host.name}.default", text, after="systemctl restart prometheus-alertmanager")


def _exporters(place: Place) -> Iterator[File]:
    names = {"cluster": place.inventory.name, "site": place.site.name}
    if "nvidia" in place.traits:
        restart = "systemctl restart dcgm-exporter"
        yield File("dcgm-exporter/counters.csv", dcgm.counters(place), after=restart)
        pairs = dcgm.environment(place)
        yield File(
            "dcgm-exporter/dcgm-exporter.env", fill("monitoring/environment.j2", pairs=pairs, **names), after=restart
        )
    if "slurm" in place.traits:
        sizes = [(name, int(most)) for name, most in place.sizes.items() if most < math.inf]
        port = place.inventory.ports["slurm-exporter"]
        text = fill("monitoring/slurm_exporter.py.j2", port=port, sizes=sizes, **names)
        yield File("slurm-exporter/slurm_exporter.py", text, True, "systemctl restart slurm-exporter")
    figures = {name: number(place.figures[name]) for name in ("gpu_hour_usd", "gpu_hour_budget_usd")}
    text = fill(
        "monitoring/cost.prom.j2",
        port=place.inventory.ports["cost-exporter"],
        energy_usd_per_kwh=number(place.site.energy_usd_per_kwh),
        carbon_g_per_kwh=number(place.site.carbon_g_per_kwh),
        tenants=place.inventory.tenants,
        **figures,
        **names,
    )
    yield File("cost-exporter/cost.prom", text)


def _grafana(place: Place) -> Iterator[File]:
    restart = "systemctl restart grafana-server"
    provisioned: dict[str, Callable[[Place], Any]] = {
        "datasources": grafana.datasources,
        "dashboards": grafana.providers,
    }
    for kind, make in provisioned.items():
        yield _yaml(place, f"grafana/provisioning/{kind}/clusterwright.yml", f"Grafana {kind}", make(place), restart)
    for uid, board in grafana.dashboards(place).items():
        yield File(f"grafana/dashboards/{uid}.json", as_json(board))


def _routes(folder: Folder) -> Iterator[Check]:
    yield from amtool.config_judge(folder, alertmanager.ROUTES)


def _queries(folder: Folder) -> Iterator[Check]:
    """Queries of rules and panels, by a parser of PromQL."""
    for path in folder.glob("monitoring/*/prometheus/rules/*.yml", "monitoring/*/grafana/dashboards/*.json"):
        here = Here(folder, path.split("/")[1])
        rules_here = here.rules.get(path, [])
        queries = [str(rule.get("expr")) for rule in rules_here] or list(panel_queries(data(here, path)))
        wrong = promtool.parsed(queries)
        if wrong is not None:
            said = "; ".join(wrong[:4]) or f"{len(queries)} queries"
            yield Check(path, "promql-parser", promtool.parser_version(), "schema", not wrong, said)


def _programs() -> tuple[Program, ...]:
    from clusterwright.deploy.judges import alertmanager, prometheus

    return (*prometheus.PROGRAMS, *alertmanager.PROGRAMS)


TARGET = Target(
    files=_files,
    facts=facts,
    check=check,
    judges=(promtool.config_judge, _routes, _queries, grafana_judges.dashboard_judge),
    programs=_programs,
)
