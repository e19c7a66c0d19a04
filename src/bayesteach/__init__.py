"""Explain an image classifier by what would teach its answer."""

import lazy_loader

# The public names stand in __init__.pyi. Each is imported when it is asked for: a command that needs no torch never loads it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
