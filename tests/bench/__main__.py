"""``python -m tests.bench [NAME ...]``: run the benchmarks and print their figures as a Markdown table.

Each module ``bench_NAME.py`` in this folder has a function ``figures() -> Iterator[Figure]``. The exit code is 1 if
a figure misses its goal.
"""

import importlib
import sys
from pathlib import Path

from tests.bench.figures import Figure


def main() -> int:
    """Run the named benchmarks, or all."""
    names = sys.argv[1:] or sorted(path.stem[6:] for path in Path(__file__).parent.glob("bench_*.py"))
    print("| measured | figure | goal | |\n| --- | ---: | ---: | --- |")
    missed = 0
    for name in names:
        for figure in importlib.import_module(f"tests.bench.bench_{name}").figures():
            assert isinstance(figure, Figure)
            missed += not figure.met
            print(
                f"| {figure.what} | {figure.value} | {figure.goal} | {'' if figure.met else 'missed'} |",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
