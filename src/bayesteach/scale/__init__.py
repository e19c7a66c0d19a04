"""Beyond one machine: a cluster that does a study's units, and what a study will take."""
