"""The command line: parse, call, print; a subcommand a file."""
