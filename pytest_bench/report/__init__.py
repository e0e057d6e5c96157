"""What a run tells: failure texts, the terminal's table, JSON, JUnit."""
