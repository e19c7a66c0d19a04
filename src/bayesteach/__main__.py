"""`python -m bayesteach`."""

from bayesteach.cli import main

main()
