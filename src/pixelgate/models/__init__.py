"""Learned networks: where their weights come from, the digest that identifies them, and loading."""
