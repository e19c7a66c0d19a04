"""The checker behind the import hook in conftest.py."""

from beartype import BeartypeConf, beartype

# An int is welcome where a float is asked for, as everywhere in Python.
check = beartype(conf=BeartypeConf(is_pep484_tower=True))
