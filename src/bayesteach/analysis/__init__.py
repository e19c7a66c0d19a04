"""From a table of responses to its regressions, tests, figures and report; and people simulated to plan them by."""
