"""`python -m demo`: the whole dashboard on one machine, against a simulated cluster."""
