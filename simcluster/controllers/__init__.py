"""The controllers of the simulated cluster: training operator, gang scheduler, kubelet, Event recorder."""
