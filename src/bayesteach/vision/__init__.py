"""From a photo to a classifier's answer: the only rooms that know timm, PIL and inference engines."""
