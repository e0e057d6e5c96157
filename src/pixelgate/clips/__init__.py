"""Scoring generated clips: one evaluator per group of metrics, and the predictions that they read."""
