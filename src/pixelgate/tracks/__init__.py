"""Tracks: one YAML each; samples, references, data set and revision; fetching and checking."""
