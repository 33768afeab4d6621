"""Experiments: a catalogue of jobs that show how restart policies behave, launched, observed and judged."""
