"""Statistics over samples: bootstrap intervals."""
