"""Who is told of what: routes, grouping, inhibition. Credentials are files that are put there by other means."""

from __future__ import annotations

from typing import Any

from clusterwright.deploy.targets.monitoring.alert import TEAMS
from clusterwright.deploy.targets.monitoring.figures import Place

__all__ = ["ROUTES", "alertmanager", "flags"]

_SECRETS = "/etc/alertmanager/secrets"  # a folder
ROUTES: tuple[tuple[dict[str, str], str], ...] = (
    ({"severity": "critical", "team": "hardware"}, "on-call"),
    ({"severity": "critical", "team": "storage"}, "on-call"),
    ({"severity": "critical", "team": "facility"}, "on-call"),
    ({"severity": "warning", "team": "hardware"}, "team-hardware"),
    ({"severity": "warning", "team": "fabric"}, "team-fabric"),
    ({"severity": "info", "team": "finance"}, "digest"),
    ({"severity": "info", "team": "platform"}, "digest"),
    ({"severity": "warning"}, "team-platform"),
)
"""Labels of an alert -> receiver that it must reach; a check asks amtool."""


def alertmanager(place: Place) -> dict[str, Any]:
    """The configuration of both Alertmanagers of a site."""
    settings = place.inventory.settings
    return {
        "global": {
            "resolve_timeout": "5m",
            "smtp_smarthost": f"mail.{settings.domain}:587",
            "smtp_from": f"alertmanager@{place.site.domain}",
            "smtp_auth_username": "alertmanager",
            "smtp_auth_password_file": f"{_SECRETS}/smtp-password",
        },
        "route": _routes(),
        "inhibit_rules": _inhibitions(),
        "receivers": [
            {
                "name": "on-call",
                "pagerduty_configs": [{"routing_key_file": f"{_SECRETS}/pagerduty-routing-key"}],
                "email_configs": [_mail(settings.contact)],
            },
            *({"name": f"team-{team}", "email_configs": [_mail(settings.contact)]} for team in TEAMS),
            {"name": "digest", "email_configs": [_mail(settings.contact) | {"send_resolved": False}]},
        ],
    }


def _mail(contact: str) -> dict[str, Any]:
    subject = (
        "[{{ .Status }}] {{ .CommonLabels.severity }} {{ .CommonLabels.team }}: {{ .CommonLabels.alertname }} "
        "({{ .Alerts | len }}) {{ .CommonLabels.site }} {{ .CommonLabels.rack }}"
    )
    return {"to": contact, "send_resolved": True, "headers": {"Subject": subject}}


def _routes() -> dict[str, Any]:
    """A rack is a group: whatever fails in it at once is one message."""
    return {
        "receiver": "team-platform",
        "group_by": ["alertname", "site", "rack"],
        "group_wait": "30s",
        "group_interval": "5m",
        "repeat_interval": "4h",
        "routes": [
            {
                "matchers": ['severity="critical"'],
                "receiver": "on-call",
                "group_by": ["site", "rack"],
                "group_wait": "10s",
                "repeat_interval": "1h",
            },
            {
                "matchers": ['severity="info"'],
                "receiver": "digest",
                "group_by": ["team"],
                "group_wait": "10m",
                "group_interval": "6h",
                "repeat_interval": "1d",
            },
            *({"matchers": [f'team="{team}"'], "receiver": f"team-{team}"} for team in TEAMS),
        ],
    }


def _inhibitions() -> list[dict[str, Any]]:
    def silence(source: list[str], target: list[str], equal: list[str]) -> dict[str, Any]:
        return {"source_matchers": source, "target_matchers": target, "equal": equal}

    return [
        # A rack that is gone says nothing of its servers any more.
        silence(['alertname="RackDown"'], ['alertname!="RackDown"', 'node=~".+"'], ["site", "rack"]),
        # Nor does a server.
        silence(['alertname="NodeDown"'], ['alertname!="NodeDown"', 'node=~".+"'], ["site", "node"]),
        # A fatal error explains the milder ones of the same GPU.
        silence(
            ['severity="critical"', 'gpu=~".+"'], ['severity=~"warning|info"', 'gpu=~".+"'], ["site", "node", "gpu"]
        ),
        silence(['alertname="StorageFull"'], ['alertname="StorageFillingUp"'], ["site"]),
        silence(['alertname="SitePowerOverLimit"'], ['alertname="SitePowerNearLimit"'], ["site"]),
        silence(
            ['alertname="FabricLinkDown"'], ['alertname=~"FabricLink(Flapping|Errors)"'], ["site", "switch", "port"]
        ),
    ]


def flags(place: Place, number: int) -> list[str]:
    """Flags of one Alertmanager: the two are a cluster, so that each alert is sent once."""
    hosts = place.hosts("Alertmanager")
    port = place.inventory.ports["alertmanager"]
    me = hosts[number]
    peers = [f"--cluster.peer={place.inventory.address(other)}:9094" for other in hosts if other != me]
    return [
        "--config.file=/etc/prometheus/alertmanager.yml",
        f"--web.listen-address={place.inventory.address(me)}:{port}",
        f"--web.external-url=http://{me.name}.{place.site.domain}:{port}/",
        "--storage.path=/var/lib/prometheus/alertmanager/",
        f"--cluster.listen-address={place.inventory.address(me)}:9094",
        *peers,
    ]
