"""The whole paper in one go: a drawn world, its explanations, simulated people in the real study, and a report of it all."""
