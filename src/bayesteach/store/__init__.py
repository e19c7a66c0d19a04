"""The only room that reads or writes artifacts."""
