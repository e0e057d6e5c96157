"""Pixelgate as a pytest plugin: options, discovery, items, golden numbers, reports."""
