"""The ``simfarm`` command, also ``python -m simfarm``: its exit codes, and what becomes of Ctrl-C.

Exit codes: 0 done, 1 a check found something, 2 a mistake that the user can mend (one line on stderr), 130 ended by
Ctrl-C or SIGTERM with everything committed kept. Any other error is a defect and keeps its traceback.
"""

import os
import signal
import sys
from types import FrameType

_interrupts: list[int] = []
_loading = True


def main() -> None:
    """Entry point of the console script."""
    global _loading
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    # imported here: it takes a second, in which Ctrl-C may come as well
    from simfarm.cli.main import app
    from simfarm.core.errors import SimfarmError

    _loading = False
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except SimfarmError as error:
        print(f"simfarm: {error}", file=sys.stderr)
        sys.exit(2)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first time end in order; a second time changes nothing, so that an impatient hand breaks nothing off; the
    third time end at once: workers end with their driver, and what is committed is safe at any moment."""
    _interrupts.append(number)
    if _loading:
        # an exception would go through the start-up code of libraries that do not expect one
        os.write(2, b"simfarm: stopped before it began\n")
        os._exit(130)
    if len(_interrupts) == 1:
        raise KeyboardInterrupt
    if len(_interrupts) == 3:
        os.write(2, b"simfarm: ended at once; what is committed stays\n")
        os._exit(130)


if __name__ == "__main__":
    main()
