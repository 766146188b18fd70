"""Rooms are entered by their doors, and only some may touch the world. Import layers: pyproject.toml, import-linter."""

from tests.contract.tree import ROOT, imports, modules, room

WORLD = {"aiohttp", "asyncio", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "socketserver", "ssl"} | {
    "multiprocessing",
    "pty",
    "subprocess",
    "urllib.request",
    "webbrowser",
}
"""Modules that open sockets or start programs."""
MAY_TOUCH_THE_WORLD = (
    "clusterwright.deploy.judges",
    "clusterwright.deploy.plan",
    "clusterwright.deploy.apply",
    "clusterwright.operate",
    "clusterwright.lab",
    "clusterwright.web",
    "clusterwright.cli.doctor",
    "clusterwright.search.sweep",
)


def within(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in rooms)


def test_only_the_named_rooms_open_sockets_or_start_programs() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in modules().items()
        if not within(module, MAY_TOUCH_THE_WORLD)
        for line, name in imports(module)
        if name in WORLD or name.split(".")[0] in WORLD
    ]
    assert found == []


def test_nobody_starts_programs_through_os() -> None:
    calls = ("os.system(", "os.popen(", "os.exec", "os.spawn", "os.fork(")
    found = [
        f"{path.relative_to(ROOT)}: {call}"
        for module, path in modules().items()
        if not within(module, MAY_TOUCH_THE_WORLD)
        for call in calls
        if call in path.read_text("utf-8")
    ]
    assert found == []


INNER_DOORS = ("clusterwright.operate.watch",)
"""Packages within a room that have a door of their own: what is behind it is large, and asked for by one verb alone."""


def test_a_room_is_entered_by_its_door() -> None:
    """What is behind a door's ``__init__.py`` is private to the room."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}, which is behind the door of {room(name)}"
        for module, path in modules().items()
        for line, name in imports(module)
        if name in modules() and name not in (room(name), *INNER_DOORS) and room(name) != room(module)
    ]
    assert found == []


def test_every_room_has_a_door_that_says_what_it_is() -> None:
    doors = [path for module, path in modules().items() if path.name == "__init__.py" and module != "clusterwright"]
    assert [str(p.relative_to(ROOT)) for p in doors if not p.read_text("utf-8").startswith('"""')] == []
