"""Signing in: how often somebody may try, and what the log says of it."""
