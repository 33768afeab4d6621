"""What the pages of the experiments show, and how their forms are read."""
