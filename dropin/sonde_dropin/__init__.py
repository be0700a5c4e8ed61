"""Commands of other tools, answered by Sonde: each front is a table of options and what follows from
them. Python 3.8 and its standard library."""
