"""One file a stage, one pure function each: stage(settings, context, *artifacts) -> artifact."""
