"""``python -m distkern`` is the command ``distkern``."""

from distkern.cli.main import main

if __name__ == "__main__":
    main()
