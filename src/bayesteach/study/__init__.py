"""The web experiment: who is let in, what they are shown, and that no answer is lost."""
