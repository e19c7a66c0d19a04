"""A photo, explained: which parts of it would teach a learner the classifier's answer."""
