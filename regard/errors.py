"""What a user can do wrong, as exceptions that say what, where and what to do."""


class RegardError(Exception):
    """A mistake that the user can mend: the message says what is wrong, where, and what to do.

    The command line prints the message without a traceback and leaves with exit code 2.
    """


class ConfigError(RegardError):
    """A recipe or an override that cannot be used: the message names the key."""


class CorpusError(RegardError):
    """Text that cannot be read or aligned: the message names the file and the line."""


class ModelFolderError(RegardError):
    """A model folder that is missing, incomplete or damaged: the message names the file."""


class InputError(RegardError):
    """A request that a model cannot serve, such as a language that it lacks."""


class LostProcessError(RegardError):
    """One of several processes that train together has died: the message says how to go on."""


def how_to_install(extra: str) -> str:
    """What to do where a package of an extra (plot, track, serve, export) is missing: the end of a message.

    There is no release to name: regard is installed from its clone, where `make setup` brings every extra.
    """
    return f"`make setup` brings it; in an environment of your own, `pip install -e '.[{extra}]'` in regard's clone"
