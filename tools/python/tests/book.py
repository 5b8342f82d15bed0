"""Runs the notebook, and the Python on its page, block by block, in the root of the repository."""

import json
import pathlib

BOOK = pathlib.Path("docs/src/simulator")


def notebook():
    cells = json.loads(BOOK.joinpath("python.ipynb").read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def page():
    text = BOOK.joinpath("python.md").read_text()
    blocks = text.split("```python\n")[1:]
    return [block.split("```")[0] for block in blocks]


for blocks in (notebook(), page()):
    assert len(blocks) > 3
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, block, "exec"), names)
