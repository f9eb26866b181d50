"""Errors that a user can mend, apart from everything else.

A :class:`SimfarmError` is shown as one line and ends a command with exit code 2. Any other exception is a
defect or the machine's fault and keeps its traceback. What a *bot* does wrong while it plays is never an
exception: it is a row with a :class:`~simfarm.core.model.Termination`.
"""


class SimfarmError(Exception):
    """Something the user can mend. The message is one line: what, where, what is allowed."""


class ConfigError(SimfarmError):
    """A config file, an option or an argument says something that is not allowed."""


class BotError(SimfarmError):
    """A bot cannot take part: its file is missing, does not compile or breaks its engine's interface."""


class ToolError(SimfarmError):
    """A tool that this machine needs for the job is missing; the message says what to install."""


class StoreError(SimfarmError):
    """A results folder cannot be used: unwritable, full, locked, or it belongs to something else."""


class ExecutorError(SimfarmError):
    """Shards could not be played although they were tried again; what was committed stays."""
