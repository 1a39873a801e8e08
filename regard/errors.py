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
