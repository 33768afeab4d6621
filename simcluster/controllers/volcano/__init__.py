"""Volcano's own kind of job: its status, its policies, its controller."""
