"""Strict decoding: files in, arrays and a record of what was done out."""
