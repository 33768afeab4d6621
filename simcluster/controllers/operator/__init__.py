"""The training operator (v1): reconciles training jobs into services, pods and a PodGroup, and keeps their status."""
