"""The embedded default: a drawn world whose classifier learns shortcuts, so that everything runs with no download.

Each category has a home, a background that it is nearly always seen on. A network trained on such pictures goes by the
background as much as by the thing, so it is confidently wrong where a thing is away from home.
"""

from bayesteach.vision.shortcuts.world import LABELS, Place, Sight, look, places
from bayesteach.vision.shortcuts.writing import write_world

__all__ = ["LABELS", "Place", "Sight", "look", "places", "write_world"]
