"""Classical methods that run here, and where the published ones come from."""
