"""The command line: one file a verb, named as the verb.

Only :mod:`click` is imported until a verb is called, so that ``--help`` answers at once. :func:`main` gives every
outcome its exit code: 0 done, 1 the answer is no, 2 bad input or usage, 3 the outside world failed, 70 our bug,
130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from clusterwright.cli.verbs import STAGES, VERBS

__all__ = ["COLOR", "VERBOSITY", "main", "program"]

COLOR = "clusterwright.color"
"""Key into ``click.Context.meta``: ``auto``, ``always`` or ``never``."""
VERBOSITY = "clusterwright.verbosity"
"""Key into ``click.Context.meta``: below 0 only what was asked for and errors; 0 also warnings; above 0 also times."""


def _set_color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Remember ``--color`` and tell click; ``auto`` follows ``NO_COLOR`` and the terminal."""
    if value is None:
        return
    ctx.meta[COLOR] = value
    for context in (ctx, ctx.find_root()):
        context.color = {"always": True, "never": False}.get(value)


def _set_verbosity(ctx: click.Context, _: click.Parameter, value: int) -> None:
    if value:
        ctx.meta[VERBOSITY] = ctx.meta.get(VERBOSITY, 0) + value


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    _set_verbosity(ctx, param, -1 if value else 0)


def common_options() -> list[click.Option]:
    """The options that every verb takes, after the verb or before it."""
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_set_quiet,
            help="Say only what was asked for, and errors.",
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_set_verbosity,
            help="Say also how long it took.",
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_set_color,
            help="Colours: auto follows the terminal and NO_COLOR.",
        ),
    ]


def add_common_options(command: click.Command) -> click.Command:
    """Give a command, and the commands below it, the options of :func:`common_options` that it lacks."""
    taken = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    command.params.extend(option for option in common_options() if not taken.intersection(option.opts))
    for below in getattr(command, "commands", {}).values():
        add_common_options(below)
    return command


class Program(click.Group):
    """The verbs, each loaded from its module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the module of a verb."""
        if cmd_name not in VERBS:
            return None
        loaded = importlib.import_module(VERBS[cmd_name].module).command
        if not isinstance(loaded, click.Command):
            raise TypeError(f"{VERBS[cmd_name].module}.command is no click.Command")
        return add_common_options(loaded)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which ones are close."""
        name = args[0]
        if name not in VERBS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(name, VERBS, n=2, cutoff=0.5)
            said = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
            raise click.UsageError(f"No such verb {name!r}.{said}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a reader of our output that has left is no error, and ``-v`` says what it cost."""
        started = time.perf_counter()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence_stdout()
            return 0
        finally:
            if ctx.meta.get(VERBOSITY, 0) > 0:
                click.echo(f"{ctx.invoked_subcommand}: {time.perf_counter() - started:.2f} s", err=True)
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs under the headings of their stages."""
        width = max(map(len, VERBS))
        for stage, heading in STAGES.items():
            with formatter.section(heading):
                formatter.write_dl([(v.name.ljust(width), v.summary) for v in VERBS.values() if v.stage == stage])


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from clusterwright import __version__

        click.echo(f"clusterwright {__version__}")
        ctx.exit()


program = Program(
    name="clusterwright",
    help="One model of an AI cluster: a spec goes in, a complete, costed and explained design comes out.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 3 the outside world failed, 70 our bug, "
    "130 interrupted. 'clusterwright explain CODE' explains any finding.",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        *common_options(),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Say the version and leave.",
        ),
    ],
)
"""The whole command line as one click group."""


_OBJECTS = 200_000
"""New objects between two searches for unused cycles. A command makes few and ends soon: searching seldom saves a
tenth of its time."""


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; a bad input never ends in a traceback.

    Args:
        args: the words after ``clusterwright``; those of this process by default.
    """
    words = list(sys.argv[1:] if args is None else args)
    gc.set_threshold(_OBJECTS)
    _open_closed_streams()
    try:
        code = _outcome(words)
    except KeyboardInterrupt:
        code = 130
    if code == 130 and args is None:
        _leave(code)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        return code
    _silence_stdout()
    return code


def _outcome(words: list[str]) -> int:
    """Run the words; every outcome but an interruption of the answer itself becomes an exit code."""
    try:
        _need_text(words)
        result = program.main(words, prog_name="clusterwright", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except MemoryError:
        click.echo("CLI-WORLD not enough memory\n  hint: give the process more, or ask for a smaller cluster", err=True)
        return 3
    except Exception as error:
        from clusterwright.cli.failures import answer

        return answer(error, words)
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _need_text(words: Sequence[str]) -> None:
    """Refuse words that are not text: they could be put neither into a file nor into an answer."""
    for word in words:
        if any("\ud800" <= c <= "\udfff" for c in word):
            shown = word.encode(errors="surrogateescape").decode(errors="replace")
            raise click.UsageError(f"'{shown}' is not UTF-8 text")


def _open_closed_streams() -> None:
    """Where the caller closed stdout or stderr, Python has none; what is written there is then lost, and no bug."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _leave(code: int) -> None:
    """End the process at once.

    Python ends by the signal itself, not by the exit code, when an interruption once passed through an ``exec``, as
    the standard library uses while it makes data classes.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
