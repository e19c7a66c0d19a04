"""One file a version, in their order."""
