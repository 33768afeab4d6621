"""The vocabulary and the rules: what a restart is, what caused it, how far it is known. Standard library only."""
