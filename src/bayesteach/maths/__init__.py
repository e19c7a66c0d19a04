"""Tensors in, tensors out: no files, no settings, no images, no models."""
