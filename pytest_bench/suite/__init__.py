"""The items that a run with ``--bench-outputs`` collects, as plain test functions."""
